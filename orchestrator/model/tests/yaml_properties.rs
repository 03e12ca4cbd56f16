//! What holds for every text: no panic, places within the file, bounded work.
#![allow(clippy::unwrap_used)]

use kab_model::yaml::{Context, Diagnostics, Source, Style, parse_experiment, parse_lab};
use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, Instant};

const SEED: &str = include_str!("good/experiment/seed.yaml");
const ANCHORS: &str = include_str!("good/experiment/anchors.yaml");
const LAB: &str = include_str!("good/lab/lab.yaml");

/// Parses a text as both kinds of file and renders whatever is wrong in every form.
fn exercise(text: &str) {
    let source = Source::new("f.yaml", text);
    let context = Context {
        folder: Path::new("/f"),
        home: None,
        exists: &|_| true,
        reserved: &|_| Some("it is reserved"),
    };
    if let Err(problems) = parse_experiment(&source, &context) {
        check(text, &problems);
    }
    if let Err(problems) = parse_lab(&source) {
        check(text, &problems);
    }
}

fn check(text: &str, problems: &Diagnostics) {
    assert!(problems.has_errors());
    assert!(!problems.render(Style::Plain).contains("fault of kab"), "{problems}");
    assert!(!problems.render(Style::Coloured).is_empty());
    assert_eq!(problems.to_json_lines().lines().count(), problems.0.len());
    for problem in &problems.0 {
        let marked = text.get(problem.span.start..problem.span.end).unwrap();
        assert!(!marked.contains('\n'));
        assert_eq!(text[..problem.span.start].matches('\n').count() + 1, problem.line);
        assert!(problem.column >= 1);
    }
}

/// Pieces from which faulty YAML is likely to come about.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "name",
        "kernel",
        "variants",
        "boards",
        "workloads",
        "fio",
        "matrix",
        "schedule",
        "visits",
        "report",
        "arch",
        "boot",
        "qemu",
        "disks",
        "ufs",
        ": ",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        "\t",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "\"",
        "'",
        "&a ",
        "*a",
        "<<",
        "!x ",
        "!!str ",
        "| ",
        "> ",
        "? ",
        "# ",
        "---\n",
        "...\n",
        "%",
        "ü",
        "\u{feff}",
        "\r\n",
        "\0",
        "\u{1b}[31m",
        "\u{2028}",
        "1",
        "~",
        "null",
        "true",
    ];
    prop_oneof![
        8 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        exercise(&text);
    }

    #[test]
    fn likely_text(pieces in prop::collection::vec(piece(), 0..60)) {
        exercise(&pieces.concat());
    }

    #[test]
    fn good_files_with_a_change(
        file in prop::sample::select(vec![SEED, ANCHORS, LAB]),
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        new in prop::collection::vec(piece(), 0..3),
    ) {
        let start = file.floor_char_boundary(at.index(file.len()));
        let end = file.ceil_char_boundary((start + length).min(file.len()));
        exercise(&[&file[..start], &new.concat(), &file[end..]].concat());
    }
}

/// Files that would take hours or gigabytes if something were not bounded.
#[test]
fn hostile_files_are_refused_quickly() {
    let wide = |times: usize| {
        let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let aliases = vec![format!("*a{}", level - 1); times].join(", ");
            text += &format!("k{level}: &a{level} [{aliases}]\n");
        }
        text
    };
    let quadratic = format!("a: &a [{}]\nb: [{}]\n", vec!["x"; 5000].join(","), vec!["*a"; 5000].join(","));
    let nested_anchors = (0..60).map(|at| format!("&n{at} [")).collect::<String>() + &"x, ".repeat(40_000);
    let merges = format!("a: &a {{{}}}\nb: {{<<: [{}]}}\n", "k: 1, ".repeat(2000), "*a, ".repeat(2000));
    let texts = [
        wide(10),
        quadratic,
        nested_anchors,
        merges,
        "[".repeat(100_000),
        "a: ".repeat(100_000),
        "- ".repeat(100_000),
        "x".repeat(2 << 20),
        "a: b\n".repeat(40_000),
        "\"".repeat(100_000),
        format!("{}: 1\n", "k".repeat(500_000)),
    ];
    for text in texts {
        let start = Instant::now();
        let problems = parse_experiment(
            &Source::new("f.yaml", text.as_str()),
            &Context { folder: Path::new("/f"), home: None, exists: &|_| true, reserved: &|_| None },
        )
        .unwrap_err();
        assert!(problems.has_errors());
        let head: String = text.chars().take(30).collect();
        // Generous: what is not bounded takes hours. Rendering one problem must be cheap as well.
        problems.0[0].render(Style::Plain);
        assert!(start.elapsed() < Duration::from_secs(20), "{head}: {:?}", start.elapsed());
    }
}
