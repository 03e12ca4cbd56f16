//! Reports for programs and by users' templates; every format is the same bytes each time it is made.

#![allow(clippy::unwrap_used)]

mod support;

use kab_model::{Metric, Outcome, Run};
use kab_report::{Options, changelog, csv, custom, findings, json, markdown, text};
use serde_json::Value;
use support::{Fate, Lab, meta, reason, three_kernels, two_kernels};

fn found(lab: &Lab) -> kab_report::Findings {
    findings(&lab.run(), &meta())
}

/// A run with one of everything that can go wrong.
fn eventful() -> Lab {
    let mut lab = two_kernels(8, [0.9, 1.0, 1.1, 1.0]);
    let noted = Outcome::Noted { reasons: vec![reason("rcu-stall", "stall, \"quoted\"\nand more")] };
    lab.fates.insert((0, 1, 1), Fate::Crash);
    lab.fates.insert((0, 1, 2), Fate::NoBoot);
    lab.fates.insert((0, 0, 3), Fate::Void);
    lab.fates.insert((0, 0, 4), Fate::Trial { cell: 0, trial: 1, outcome: noted });
    lab
}

#[test]
fn json_of_three_kernels() {
    let mut lab = three_kernels();
    lab.plan.cells.truncate(1);
    lab.plan.boards.truncate(1);
    lab.plan.boards[0].rounds.truncate(3);
    lab.plan.report.metrics = vec![Metric::Iops];
    insta::assert_snapshot!(json(&found(&lab)).unwrap());
}

#[test]
fn csv_of_three_kernels() {
    let mut lab = three_kernels();
    lab.plan.cells.truncate(1);
    lab.plan.boards.truncate(1);
    lab.plan.boards[0].rounds.truncate(3);
    lab.plan.report.metrics = vec![Metric::Iops, Metric::ClatP99];
    insta::assert_snapshot!(csv(&found(&lab)).unwrap());
}

#[test]
fn json_says_what_the_text_says() {
    let value: Value = serde_json::from_str(&json(&found(&three_kernels())).unwrap()).unwrap();
    let changes = &value["boards"][1]["cells"][1]["metrics"][0]["changes"];
    assert_eq!(changes[0]["verdict"], "better");
    assert_eq!(changes[0]["candidate"], "v6.16 + this commit");
    assert_eq!(changes[1]["verdict"], "same");
    let means: Vec<f64> = value["boards"][1]["cells"][1]["metrics"][0]["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["mean"].as_f64().unwrap())
        .collect();
    let change = 100.0 * (means[2] / means[1] - 1.0);
    assert!((change - changes[0]["change_pct"].as_f64().unwrap()).abs() < 1e-9, "{change}");
}

#[test]
fn a_mean_is_that_of_its_visits_and_a_visit_the_median_of_its_trials() {
    let value: Value = serde_json::from_str(&json(&found(&eventful())).unwrap()).unwrap();
    let variant = &value["boards"][0]["cells"][0]["metrics"][0]["variants"][0];
    let visits = variant["visits"].as_array().unwrap();
    assert_eq!(visits.len(), 8, "the void visit is not there, its repetition is");
    let logs: f64 = visits.iter().map(|visit| visit["value"].as_f64().unwrap().ln()).sum();
    assert!(((logs / 8.0).exp() / variant["mean"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    for visit in visits {
        let mut trials: Vec<f64> =
            visit["trials"].as_array().unwrap().iter().map(|trial| trial.as_f64().unwrap()).collect();
        trials.sort_by(f64::total_cmp);
        assert!((visit["value"].as_f64().unwrap() / trials[1] - 1.0).abs() < 1e-12);
    }
    let noted: u64 = visits.iter().map(|visit| visit["noted_trials"].as_u64().unwrap()).sum();
    assert_eq!(noted, 1);
    assert_eq!(value["boards"][0]["endings"][1]["failed_boots"], 1);
    assert_eq!(value["boards"][0]["endings"][1]["crashes"], 1);
    assert_eq!(value["boards"][0]["endings"][0]["void_visits"], 1);
}

#[test]
fn csv_has_the_head_for_every_row() {
    let text = csv(&found(&eventful())).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|column| column == name).unwrap();
    let (mut visits, mut changes) = (0, 0);
    for record in reader.records() {
        let record = record.unwrap();
        match &record[at("row")] {
            "visit" => visits += 1,
            "change" => changes += usize::from(!record[at("verdict")].is_empty()),
            row => assert_eq!(row, "variant"),
        }
    }
    // Four metrics of four cells; B crashed in the first cell of one boot, whose trials still stand, and never came up in another.
    let data: Value = serde_json::from_str(&json(&found(&eventful())).unwrap()).unwrap();
    let cells = data["boards"][0]["cells"].as_array().unwrap();
    let metrics = cells.iter().flat_map(|cell| cell["metrics"].as_array().unwrap());
    let variants = metrics.flat_map(|metric| metric["variants"].as_array().unwrap());
    let expected: usize = variants.map(|variant| variant["visits"].as_array().unwrap().len()).sum();
    assert_eq!((visits, changes), (expected, 16));
}

#[test]
fn every_format_is_the_same_bytes_each_time() {
    let lab = eventful();
    let all = || {
        let found = found(&lab);
        let full = Options { full: true, unicode: true };
        [
            text(&found, full).unwrap(),
            markdown(&found, full).unwrap(),
            json(&found).unwrap(),
            csv(&found).unwrap(),
            changelog(&found, full),
            custom(&found, full, ("t.j2", "{{ data }}{{ boards }}"), true).unwrap(),
        ]
    };
    assert_eq!(all(), all());
}

#[test]
fn a_template_sees_the_view_and_the_data() {
    let template = "{% for line in answer %}{{ line | wrap(2) }}\n{% endfor %}{{ data.run.id }} {{ data.pairs[0].candidate }}\n";
    let report = custom(&found(&three_kernels()), Options::default(), ("mine.j2", template), false).unwrap();
    insta::assert_snapshot!(report);
}

#[test]
fn a_template_for_the_web_escapes() {
    let mut lab = two_kernels(5, [1.0; 4]);
    lab.plan.title = Some("<script>alert(1)</script>".to_owned());
    let report = custom(&found(&lab), Options::default(), ("mine.html", "{{ title }}"), true).unwrap();
    assert_eq!(report, "&lt;script&gt;alert(1)&lt;&#x2f;script&gt;");
}

#[test]
fn mistakes_in_templates_have_a_place() {
    let found = found(&two_kernels(5, [1.0; 4]));
    let mut told = String::new();
    for template in [
        "one\n{{ answr }}\n",
        "{% for board in boards %}\n  {{ board.heading }} {{ board.name | upper }}\n{% endfor %}\n",
        "{% for x in y %}\nno end\n",
        "{{ title | nonsense }}",
        "a\nb {{ title + 1 }}",
    ] {
        let error = custom(&found, Options::default(), ("mine.j2", template), false).unwrap_err();
        told.push_str(&format!("{error}\n\n"));
    }
    insta::assert_snapshot!(told);
}

#[test]
fn the_form_for_a_commit_message_is_short() {
    let many: Vec<String> =
        (0..6).map(|variant| format!("v6.{variant} with a long name of its own")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let labs = [
        three_kernels(),
        two_kernels(8, [0.85, 1.0, 1.12, 1.0]),
        eventful(),
        Lab::new(&["a", "b", "c"], &many, 5),
    ];
    let mut all = String::new();
    for lab in labs {
        let form = changelog(&found(&lab), Options::default());
        assert!(form.lines().count() <= 12, "{form}");
        assert!(form.lines().all(|line| line.chars().count() <= 72 && line.is_ascii()), "{form}");
        assert!(form.contains("run 7f3a9c1b2d3e"), "{form}");
        all.push_str(&form);
        all.push('\n');
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_run_without_a_plan_has_data_too() {
    let empty = findings(&Run::default(), &meta());
    let value: Value = serde_json::from_str(&json(&empty).unwrap()).unwrap();
    assert_eq!(value["run"]["finished"], false);
    assert_eq!(csv(&empty).unwrap().lines().count(), 1);
    assert!(changelog(&empty, Options::default()).contains("INCOMPLETE"));
}
