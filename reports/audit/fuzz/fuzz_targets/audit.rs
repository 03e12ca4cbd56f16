//! Any bytes: no panic, and every finding quotes a line.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(audit) = kab_audit::audit(bytes) {
        assert!(audit.findings.iter().all(|finding| !finding.lines.is_empty()));
        let _ = kab_audit::render(&audit, "x");
    }
});
