//! Results of several boots, as files of JSON and as text in a mail, are compared as a user would.

#![allow(clippy::unwrap_used)]

use kab_compare::{Comparison, Gathering, Metric, Reading, csv, html, json, markdown, text};
use kab_report::Verdict;

/// One run of two jobs of one group, which share the work.
fn result(ios: u64) -> String {
    let job = |ios: u64| {
        format!(
            "{{\"jobname\":\"a\",\"groupid\":0,\"error\":0,\"job options\":{{\"iodepth\":\"32\"}},\"read\":{{\"io_bytes\":{},\
             \"io_kbytes\":{},\"runtime\":1000,\"total_ios\":{ios},\"clat_ns\":{{\"min\":1000,\"max\":90000,\"mean\":20000.0,\
             \"stddev\":1.0,\"N\":{ios},\"percentile\":{{\"99.000000\":50000}},\"bins\":{{\"20000\":{ios}}}}}}}}}",
            ios * 4096,
            ios * 4
        )
    };
    let jobs = [job(ios / 2), job(ios - ios / 2)].join(",");
    format!(
        "{{\"fio version\":\"fio-3.36\",\"global options\":{{\"rw\":\"randread\",\"bs\":\"4k\"}},\"jobs\":[{jobs}]}}\n"
    )
}

fn gathered(told: bool, patched: [u64; 5]) -> Gathering {
    let mut gathering = Gathering::new(told);
    for (name, runs) in [("base", [10_000, 10_050, 9_980, 10_020, 9_960]), ("patched", patched)] {
        let variant = gathering.variant(name);
        for (i, ios) in runs.iter().enumerate() {
            let boot = if told { format!("boot{i}") } else { String::new() };
            let reading = Reading::of(&format!("{name}/{i}.json"), result(*ios).as_bytes(), 99.0);
            assert_eq!(reading.count(), 1);
            gathering.add(variant, &boot, reading);
        }
    }
    gathering
}

const FASTER: [u64; 5] = [11_000, 11_040, 10_980, 11_010, 10_990];

#[test]
fn boots_carry_a_verdict() {
    let comparison = Comparison::of(&gathered(true, FASTER), Metric::Iops, 0.02);
    let [cell] = &comparison.cells[..] else { panic!("{:?}", comparison.cells) };
    assert_eq!(cell.label, "randread 4k qd32");
    assert!((cell.values[0].unwrap() / 10_002.0 - 1.0).abs() < 1e-3, "jobs of one group are added up");
    let change = &cell.changes[0];
    assert_eq!(change.verdict, Verdict::Better);
    assert!((change.percent.unwrap() - 10.0).abs() < 0.5 && change.interval.unwrap().0 > 9.0, "{change:?}");
    assert!(!comparison.any_worse() && comparison.hint.is_none());
    let slower = Comparison::of(&gathered(true, [9_000, 9_040, 8_990, 9_010, 9_020]), Metric::Iops, 0.02);
    assert!(slower.any_worse());
    let latency = Comparison::of(&gathered(true, FASTER), Metric::Percentile(99.0), 0.05);
    let near = |value: &Option<f64>| value.is_some_and(|value| (value - 20_000.0).abs() < 1e-6);
    assert!(latency.cells[0].values.iter().all(near), "the histograms of both jobs are merged");
}

#[test]
fn without_boots_there_is_no_verdict_and_a_remedy() {
    let comparison = Comparison::of(&gathered(false, FASTER), Metric::Iops, 0.02);
    assert_eq!(comparison.cells[0].changes[0].verdict, Verdict::NoVerdict);
    let told = text(&comparison);
    assert!(told.contains("no verdict: one boot per variant") && told.contains("--boot-from"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 72), "{told}");
}

#[test]
fn a_mail_with_two_results_is_compared_by_the_lines_above_them() {
    let mail = "> Before:\n>   read: IOPS=12.5k, BW=48.8MiB/s (51.2MB/s)(488MiB/10001msec)\n> \n> After:\n>   read: IOPS=13.5k, \
                BW=52.7MiB/s (55.3MB/s)(527MiB/10001msec)\n";
    let mut gathering = Gathering::new(false);
    gathering.add_by_heading(Reading::of("mail", mail.as_bytes(), 99.0));
    let comparison = Comparison::of(&gathering, Metric::Iops, 0.02);
    let names: Vec<&str> = comparison.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["Before", "After"]);
    assert!((comparison.cells[0].changes[0].percent.unwrap() - 8.0).abs() < 0.1);
}

#[test]
fn what_failed_is_left_out_and_told() {
    let mut gathering = gathered(true, FASTER);
    let broken = result(5).replace("\"error\":0", "\"error\":5");
    for (input, bytes) in [("base/9.json", broken.as_bytes()), ("base/notes.txt", b"nothing here\n")] {
        let reading = Reading::of(input, bytes, 99.0);
        assert_eq!(reading.count(), 0);
        gathering.add(0, "boot9", reading);
    }
    let comparison = Comparison::of(&gathering, Metric::Bw, 0.02);
    assert_eq!(comparison.variants[0].boots, 5);
    assert!(comparison.remarks.iter().any(|remark| remark.text.starts_with("left out: ")));
    assert!(comparison.remarks.iter().any(|remark| remark.text == "no output of fio in it"));
}

#[test]
fn every_format_has_the_numbers() {
    let comparison = Comparison::of(&gathered(true, FASTER), Metric::Iops, 0.02);
    for told in [text(&comparison), markdown(&comparison), html(&comparison)] {
        assert!(
            told.contains("randread 4k qd32") && told.contains("better") && told.contains("+10.0%"),
            "{told}"
        );
    }
    assert_eq!(csv(&comparison).lines().count(), 3);
    let value: serde_json::Value = serde_json::from_str(&json(&comparison)).unwrap();
    assert_eq!(value["cells"][0]["changes"][0]["verdict"], "better");
}

/// In base64, as some mailers send text: lines are told where they stand in the file.
#[test]
fn a_mail_in_base64_is_decoded() {
    let mail = "From: zoe@lab.example\nSubject: numbers\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
                Content-Transfer-Encoding: base64\n\n\
                QmVmb3JlOgogIHJlYWQ6IElPUFM9MTIuNWssIEJXPTQ4LjhNaUIvcyAoNTEuMk1CL3MpKDQ4OE1p\n\
                Qi8xMDAwMW1zZWMpCgpBZnRlcjoKICByZWFkOiBJT1BTPTEzLjVrLCBCVz01Mi43TWlCL3MgKDU1\n\
                LjNNQi9zKSg1MjdNaUIvMTAwMDFtc2VjKQo=\n";
    let reading = Reading::of("mail", mail.as_bytes(), 99.0);
    assert_eq!(reading.count(), 2, "{reading:?}");
    let mut gathering = Gathering::new(false);
    gathering.add_by_heading(reading);
    let names: Vec<String> = Comparison::of(&gathering, Metric::Iops, 0.02)
        .variants
        .into_iter()
        .map(|variant| variant.name)
        .collect();
    assert_eq!(names, ["Before", "After"]);
}

#[test]
fn results_without_a_heading_are_named_by_their_input() {
    let mut gathering = Gathering::new(false);
    for input in ["old.json", "new.json"] {
        gathering.add_by_heading(Reading::of(input, result(1000).as_bytes(), 99.0));
    }
    let two = [result(1000), result(1100)].concat();
    gathering.add_by_heading(Reading::of("both.json", two.as_bytes(), 99.0));
    let comparison = Comparison::of(&gathering, Metric::Iops, 0.02);
    let names: Vec<&str> = comparison.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["old.json", "new.json", "both.json, result 1", "both.json, result 2"]);
}

#[test]
fn many_variants_and_long_labels_stay_within_72_columns() {
    for count in 2..9 {
        let mut gathering = Gathering::new(true);
        for variant in 0..count {
            let variant = gathering.variant(&format!("kernel {variant}"));
            for boot in 0..3_u64 {
                let long = result(1_000_000 + boot * 999)
                    .replace("randread", "randrw")
                    .replace("\"4k\"", "\"4k,64k\"");
                gathering.add(variant, &format!("boot {boot}"), Reading::of("f", long.as_bytes(), 99.0));
            }
        }
        let told = text(&Comparison::of(&gathering, Metric::Iops, 0.02));
        assert!(told.lines().all(|line| line.chars().count() <= 72), "{told}");
        assert_eq!(told.matches(" vs A").count(), count - 1, "{told}");
    }
}
