//! Prints the calibration table: every acceptance simulation with its target and what it measured.
//!
//! `cargo run --release -p kab-stats --example calibrate [PART]`; PART is the part of the repetitions, 1 unless given. Targets that
//! the specified procedure cannot meet are told with the reason. Exit code 1 when another one is missed, or one of these by more.

#[path = "../tests/calibration/suite/mod.rs"]
mod suite;

use std::process::ExitCode;
use suite::{Effort, Line};

fn main() -> ExitCode {
    let part = match std::env::args().nth(1).map(|text| text.parse::<f64>()) {
        None => 1.0,
        Some(Ok(part)) if part > 0.0 => part,
        Some(_) => {
            eprintln!("PART must be a number above 0, as in: calibrate 0.1");
            return ExitCode::from(2);
        }
    };
    println!("| # | simulation | repetitions | target | measured | |\n|---|---|---|---|---|---|");
    let lines = suite::run(Effort(part), |line| println!("{}", row(line)));
    let missed: Vec<&Line> = lines.iter().filter(|line| !line.passes()).collect();
    println!("\n{} lines, {} missed.", lines.len(), missed.len());
    for line in &missed {
        let why = line.known.filter(|_| line.is_explained()).map_or("not explained", |known| known.why);
        println!("\n* {}, {}: {why}", line.id, line.what);
    }
    ExitCode::from(u8::from(missed.iter().any(|line| !line.is_explained())))
}

fn row(line: &Line) -> String {
    let (low, high) = line.bounds;
    // Numbers of rounds are no shares.
    let number = |x: f64| if high > 2.0 { format!("{x:.1}") } else { format!("{:.2} %", 100.0 * x) };
    let target = match (low <= 0.0, (1.0..2.0).contains(&high)) {
        (true, _) => format!("<= {}", number(high)),
        (false, true) => format!(">= {}", number(low)),
        (false, false) => format!("{} to {}", number(low), number(high)),
    };
    let verdict = if line.passes() { "pass" } else { "MISSED" };
    format!(
        "| {} | {} | {} | {target} | {} | {verdict} |",
        line.id,
        line.what,
        line.reps,
        number(line.measured)
    )
}
