//! Self-check on real data: one variant against itself (A21).
//!
//! Half of a variant's visits are relabelled as a second variant, many times over. Where the method's assumptions hold, about 5 %
//! of the splits give p <= .05; clearly more means that the noise of this board is not what the tests assume.

use crate::cell::{CellTest, MIN_VISITS};
use crate::change::Pcg;
use crate::types::{CellInput, Pair, Row};
use crate::units::Units;
use crate::verdict::ALPHA;

/// Share of significant splits from which a report should warn.
pub const WARN_SHARE: f64 = 0.08;

/// The outcome of a self-check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelfCheck {
    /// Splits that could be tested.
    pub splits: u32,
    /// Of these, with p <= .05 although nothing differs.
    pub significant: u32,
}

impl SelfCheck {
    /// Significant splits as a share of all.
    pub fn share(&self) -> f64 {
        f64::from(self.significant) / f64::from(self.splits.max(1))
    }
}

/// Splits the visits of `variant` at random in two halves, `splits` times, and tests the halves against each other without rounds
/// or places (which the relabelling makes meaningless). `None` when a half would be too small for a verdict.
pub fn self_check(cell: &CellInput, variant: usize, splits: u32, seed: u64) -> Option<SelfCheck> {
    let values = Units::of_cell(cell).values(variant);
    if values.len() < 2 * MIN_VISITS {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    let mut random = Pcg::new(seed);
    let mut check = SelfCheck { splits: 0, significant: 0 };
    for _ in 0..splits {
        random.shuffle(&mut order);
        let Some(p) = split_p(cell, &values, &order) else { continue };
        check.splits += 1;
        check.significant += u32::from(p <= ALPHA);
    }
    Some(check)
}

/// p of the first half of `order` against the second.
fn split_p(cell: &CellInput, values: &[f64], order: &[usize]) -> Option<f64> {
    let half = order.len() / 2;
    let rows = (0_u32..).zip(order).map(|(visit, &index)| Row {
        variant: usize::from(visit as usize >= half),
        round: None,
        visit,
        seq: None,
        value: cell.rule.scale().untransform(values[index]),
        void: false,
    });
    let split = CellInput { rule: cell.rule, rows: rows.collect() };
    let test = CellTest::new(&split.rule, &Units::of_cell(&split), Pair { candidate: 1, reference: 0 });
    test.outcome.ok()?.p.map(|p| p.get())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::types::{Better, CellRule, Scale};

    fn cell(visits: u32, value: impl Fn(u32) -> f64) -> CellInput {
        let rule = CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).unwrap();
        let rows = (0..visits)
            .map(|visit| Row {
                variant: 3,
                round: Some(visit),
                visit,
                seq: Some(visit),
                value: value(visit),
                void: false,
            })
            .collect();
        CellInput { rule, rows }
    }

    #[test]
    fn plain_noise_is_significant_as_often_as_it_should_be() {
        let plain = cell(16, |i| 1000.0 + f64::from(i * 7 % 16));
        let check = self_check(&plain, 3, 400, 1).unwrap();
        assert_eq!(check.splits, 400);
        assert!((0.02..WARN_SHARE).contains(&check.share()), "{check:?}");
    }

    #[test]
    fn too_few_visits_cannot_be_split() {
        assert_eq!(self_check(&cell(5, f64::from), 3, 10, 1), None);
        assert_eq!(self_check(&cell(9, |i| 1.0 + f64::from(i)), 0, 10, 1), None);
    }
}
