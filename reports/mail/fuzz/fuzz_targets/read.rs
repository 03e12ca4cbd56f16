//! Any bytes: no panic, whatever is asked of the mails.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(posted) = kab_mail::read(bytes) {
        for mail in &posted.mails {
            let _ = (mail.without_signature(), mail.base_commit(), mail.has_diff(), mail.for_git_am());
        }
        for series in kab_mail::series(&posted.mails) {
            let _ = (series.problems(), series.title(), series.base_commit());
        }
    }
});
