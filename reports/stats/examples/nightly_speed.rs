//! Scans 10,000 nightly series of 60 points on one core, one in ten with a step, and prints how long it took.
//!
//! `cargo run --release -p kab-stats --example nightly_speed`

use kab_stats::change::{Pcg, ScanRule, changes};
use std::time::Instant;

fn main() {
    let mut random = Pcg::new(1);
    let series: Vec<Vec<f64>> = (0..10_000).map(|i| series(&mut random, i % 10 == 0)).collect();
    let start = Instant::now();
    let found =
        (0_u64..).zip(&series).map(|(seed, s)| changes(s, &ScanRule::default(), seed).len()).sum::<usize>();
    println!("{found} changes in {} series: {:.2} s", series.len(), start.elapsed().as_secs_f64());
}

/// Sixty nights of noise of 2 % (sums of uniforms), with a step of 5 % after the fortieth if `stepped`.
fn series(random: &mut Pcg, stepped: bool) -> Vec<f64> {
    let night = |night: usize| {
        let noise: f64 = (0..12).map(|_| f64::from(random.below(1000)) / 1000.0 - 0.5).sum();
        0.02 * noise - if stepped && night >= 40 { 0.05 } else { 0.0 }
    };
    (0..60).map(night).collect()
}
