//! Prints how long a large report takes: 32 cells, 4 variants, 25 rounds of 3 trials, every variant against the first.
//! Run with `cargo run --release -p kab-stats --example report_speed`; the target is 5 ms.

use kab_stats::change::Pcg;
use kab_stats::{Better, CellInput, CellRule, Pair, Row, RuleError, Scale, geomean, judge};
use std::time::Instant;

fn main() -> Result<(), RuleError> {
    for (name, in_rounds) in [("in rounds", true), ("not in rounds", false)] {
        let cells = report(in_rounds)?;
        let pairs: Vec<Pair> = (1..4).map(|v| (v, 0).into()).collect();
        let mut times: Vec<u128> = (0..21)
            .map(|_| {
                let start = Instant::now();
                let verdicts = judge(&cells, &pairs);
                let summaries = pairs.iter().filter_map(|p| geomean(&cells, *p)).count();
                assert_eq!((verdicts.len(), summaries), (96, if in_rounds { 3 } else { 0 }));
                start.elapsed().as_micros()
            })
            .collect();
        times.sort_unstable();
        println!("{name}: median {} us, worst {} us", times[10], times[20]);
    }
    Ok(())
}

fn report(in_rounds: bool) -> Result<Vec<CellInput>, RuleError> {
    let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0)?;
    let mut random = Pcg::new(1);
    let cells = (0..32)
        .map(|_| {
            let mut rows = Vec::new();
            for round in 0..25 {
                let mut order = [0, 1, 2, 3];
                random.shuffle(&mut order);
                for (place, variant) in (0_u32..).zip(order) {
                    for _ in 0..3 {
                        let value = 100_000.0 + f64::from(random.below(2000));
                        let seq = Some(4 * round + place);
                        let label = in_rounds.then_some(round);
                        rows.push(Row { variant, round: label, visit: round, seq, value, void: false });
                    }
                }
            }
            CellInput { rule, rows }
        })
        .collect();
    Ok(cells)
}
