//! Whatever was set can be put back, and journals come back from their text.
#![allow(clippy::unwrap_used)]

mod support;

use kab_tune::{Entry, Form, Profile, Setting, View, Wanted, parse_journal, plan, restore_order};
use proptest::prelude::*;
use support::{BOARDS, board, profile, write};

/// Settings that boards of the tests have, with values that their kernels take.
fn settings() -> impl Strategy<Value = Vec<Setting>> {
    let one = prop_oneof![
        (prop::sample::select(vec!["min", "max", "700000", "1000000"]))
            .prop_map(|v| Setting::new("cpufreq.min", v)),
        (prop::sample::select(vec!["min", "max", "900000", "1200000"]))
            .prop_map(|v| Setting::new("cpufreq.max", v)),
        (prop::sample::select(vec!["none", "mq-deadline", "kyber"]))
            .prop_map(|v| Setting::new("queue.scheduler", v)),
        (1_u32..200).prop_map(|v| Setting::new("queue.nr_requests", &v.to_string())),
        (0_u32..3).prop_map(|v| Setting::new("queue.nomerges", &v.to_string())),
        (0_u32..2).prop_map(|v| Setting::new("cpuidle.disable", &v.to_string())),
        (prop::sample::select(vec!["auto", "fastest", "spread", "0-1"]))
            .prop_map(|v| Setting::new("irq.affinity", v)),
        (prop::sample::select(vec!["min", "max"])).prop_map(|v| Setting::new("devfreq.min", v)),
    ];
    prop::collection::vec(one, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn apply_then_restore_gives_the_original(
        index in 0..BOARDS.len(),
        base in prop::sample::select(vec!["none", "performance", "powersave", "server"]),
        own in settings(),
    ) {
        let (before, disk) = board(BOARDS[index].0);
        let mut wanted: Profile = profile(base);
        wanted.extend(own);
        let plan = plan(&Wanted { profile: wanted, fastest_cpu: None }, &before, Some(disk));
        let journal = Entry::of_plan(&plan.changes, "boot", 1);
        let text: String = journal.iter().map(Entry::line).collect();
        let read = parse_journal(&text).unwrap();
        prop_assert_eq!(&read, &journal);

        let mut board = before.clone();
        for change in &plan.changes {
            if let Some(to) = &change.to {
                write(&mut board, &change.path, to);
            }
        }
        for entry in restore_order(&read) {
            write(&mut board, &entry.path, &entry.form.normal(&entry.original));
        }
        for (path, content) in &before.files {
            prop_assert!(Form::Words.same(content, &board.read(path).unwrap()), "{}: {} -> {}", path, content, board.read(path).unwrap());
        }
    }

    #[test]
    fn the_normal_form_is_normal(text in "[ 0-9a-z\\[\\],\n\t-]{0,24}") {
        for form in [Form::Words, Form::Cpus] {
            let once = form.normal(&text);
            prop_assert_eq!(form.normal(&once), once);
        }
    }

    #[test]
    fn journals_of_any_bytes_are_read_or_refused(text in ".{0,200}") {
        let _ = parse_journal(&text);
    }
}

#[test]
fn a_torn_last_line_was_never_written() {
    let (tree, disk) = board("mcq-soc");
    let plan = plan(&Wanted { profile: profile("performance"), fastest_cpu: None }, &tree, Some(disk));
    let entries = Entry::of_plan(&plan.changes, "boot", 1);
    let text: String = entries.iter().map(Entry::line).collect();
    assert_eq!(parse_journal(&text[..text.len() - 3]).unwrap().len(), entries.len() - 1);
    assert!(parse_journal("{}\n").is_err());
    assert!(parse_journal(&text.replace("\"v\":1", "\"v\":2")).is_err());
}
