//! Whatever a board sends, reading it ends with a report or an error.

#![allow(clippy::unwrap_used)]

use kab_fio::{JobSpec, TargetKind, Totals, argv, lint, parse, parse_size, parse_time};
use proptest::prelude::*;

const REAL: &[u8] = include_bytes!("versions/3.33-jsonplus-multi.txt");

/// Pieces of which a document can nearly be made.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u12",
        "\n",
        " ",
        "nan",
        "-inf",
        "1e999",
        "-1",
        "99999999999999999999999999999999999999999",
        "{\n\"fio version\"",
        "\"jobs\"",
        "\"read\"",
        "\"clat_ns\"",
        "\"bins\"",
        "\"percentile\"",
        "\"total_ios\"",
        "\"runtime\"",
        "ü",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn nearly_documents_never_panic(text in pieces()) {
        let output = format!("{{\"fio version\":\"fio-3.1\",\"jobs\":[{text}");
        if let Ok(report) = parse(output.as_bytes()) {
            let totals = Totals::of(&report);
            prop_assert!(totals.iops.is_finite() && totals.bw.is_finite());
        }
        let _ = parse(text.as_bytes());
    }

    #[test]
    fn a_real_document_with_damage_never_panics(at in 0..REAL.len(), with in any::<u8>(), cut in 0..REAL.len()) {
        let mut bytes = REAL.to_vec();
        bytes[at] = with;
        if let Ok(report) = parse(&bytes) {
            let totals = Totals::of(&report);
            prop_assert!(totals.iops.is_finite() && totals.usr.is_finite());
            let _ = totals.clat_percentile(99.0);
        }
        bytes.truncate(cut);
        let _ = parse(&bytes);
    }

    #[test]
    fn options_of_any_text_never_panic(options in prop::collection::vec((".{0,12}", ".{0,12}"), 0..6)) {
        let _ = lint(&options, Some(1 << 30));
        let spec = JobSpec { name: "a", options: &options, target: "/dev/x", kind: TargetKind::Device, output: "/o" };
        if let Ok(argv) = argv(&spec) {
            prop_assert_eq!(argv.len(), 6 + options.len());
        }
    }

    #[test]
    fn times_and_sizes_of_any_text_never_panic(text in "[0-9]{0,22}[a-zA-Z%ü ]{0,5}", whole in any::<Option<u64>>()) {
        let _ = (parse_time(&text), parse_size(&text, whole));
    }
}
