//! A short calibration: the acceptance simulations with a fraction of the repetitions and wider bounds. `make calibrate` runs all.

mod suite;

use suite::{Effort, Line};

#[test]
fn the_acceptance_simulations_meet_their_targets() {
    let lines = suite::run(Effort(0.02), |_| ());
    let known = |l: &Line| l.known.map_or_else(String::new, |k| format!(", known: {}", k.why));
    let tell =
        |l: &Line| format!("{} {}: {} of {:?} in {}{}", l.id, l.what, l.measured, l.bounds, l.reps, known(l));
    let missed: Vec<String> =
        lines.iter().filter(|line| !line.passes() && !line.is_explained()).map(tell).collect();
    assert!(lines.len() > 150 && missed.is_empty(), "{missed:#?}");
}
