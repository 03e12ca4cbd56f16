//! How long reports of a run with over 100,000 trials take: `cargo run --release -p kab-report --example report_speed`.

#![allow(clippy::unwrap_used)]

#[path = "../tests/support/mod.rs"]
mod support;

use kab_model::{BlobId, CellId, Event, Logged};
use kab_report::{Latencies, Options, changelog, csv, findings, html, json, markdown, text};
use kab_store::{FORMAT, Store};
use std::time::Instant;
use support::{Lab, meta};

/// Two boards, four variants, 25 rounds, 32 cells, 16 trials of each.
fn lab() -> Lab {
    let mut lab = Lab::new(&["sm8650-qrd", "sm8650-hdk"], &["v6.14", "v6.15", "v6.16", "v6.17"], 25);
    let base = lab.plan.cells.clone();
    let copies = (0..8).flat_map(|copy| {
        base.iter().cloned().map(move |mut cell| {
            cell.id = CellId(format!("{}/{copy}", cell.id));
            cell.label = format!("{}/{copy}", cell.label);
            cell
        })
    });
    lab.plan.cells = copies.collect();
    lab.plan.trials = 16;
    lab.plan.warmup = 0;
    lab
}

/// As long as the lines of real runs are.
fn lengthen(event: &mut Event) {
    if let Event::TrialEnded { record, .. } = event {
        record.argv = (0..16).map(|option| format!("--some_option_{option}=value")).collect();
        record.proc_stat =
            Some(("cpu  1 2 3 4 5 6 7 8 9 10".repeat(2), "cpu  1 2 3 4 5 6 7 8 9 10".repeat(2)));
        for blob in [&mut record.output, &mut record.stdout, &mut record.stderr, &mut record.kernel_log] {
            *blob = BlobId("0123456789abcdef".repeat(4));
        }
    }
}

fn main() {
    let mut events = lab().events();
    events.iter_mut().for_each(lengthen);
    let folder = tempfile::tempdir().unwrap();
    let log = Store::new(folder.path()).create(lab().plan, "lab", "0.1.0", &[]).unwrap();
    let reader = log.reader().clone();
    drop(log);
    let path = reader.folder().join("events.jsonl");
    let mut lines = std::fs::read(&path).unwrap();
    for (event, seq) in events.into_iter().skip(1).zip(1..) {
        serde_json::to_writer(&mut lines, &Logged { v: FORMAT, seq, at_ms: 0, event }).unwrap();
        lines.push(b'\n');
    }
    std::fs::write(&path, &lines).unwrap();
    let start = Instant::now();
    let run = reader.run().unwrap();
    let trials = run.visits().flat_map(|visit| &visit.trials).count();
    println!("{trials} trials; log of {} MB read and folded in {:.2?}", lines.len() >> 20, start.elapsed());
    let start = Instant::now();
    let found = findings(&run, &meta());
    println!("findings {:.2?}", start.elapsed());
    let full = Options { full: true, unicode: false };
    let time = |name: &str, make: &dyn Fn() -> String| {
        let start = Instant::now();
        let bytes = make().len();
        println!("{name} {:.2?}, {} kB", start.elapsed(), bytes >> 10);
    };
    time("text", &|| text(&found, full).unwrap());
    time("markdown", &|| markdown(&found, full).unwrap());
    time("changelog", &|| changelog(&found, full));
    time("json", &|| json(&found).unwrap());
    time("csv", &|| csv(&found).unwrap());
    time("html", &|| html(&found, &Latencies::default(), full).unwrap());
}
