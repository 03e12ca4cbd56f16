//! Units of replication: the trials of one visit collapsed to one number (S2, S3).

use crate::counts::Count;
use crate::sample::{mean, median, variance};
use crate::types::{CellInput, Pair, Row};
use std::collections::BTreeMap;

/// One visit of one variant, as one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Round (block) of the visit.
    pub round: Option<u32>,
    /// The visit.
    pub visit: u32,
    /// Position in the session, when known.
    pub seq: Option<u32>,
    /// Median of the transformed values of its usable trials, the mean below three.
    pub value: f64,
    /// How many usable trials it is made of.
    pub trials: usize,
}

/// A value that has no place on the scale of analysis. It is never dropped: the pairs that need it get no verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BadValue {
    /// The variant it was measured on.
    pub variant: usize,
    /// The visit it was measured in.
    pub visit: u32,
    /// The value.
    pub value: f64,
}

/// Everything the tests need from one cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Units {
    variants: BTreeMap<usize, VariantUnits>,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct VariantUnits {
    units: Vec<Unit>,
    void: Count,
    bad: Option<BadValue>,
}

impl Units {
    /// Collapses the rows of a cell. Two visits of a variant in one round never both count: the last one that has a usable trial
    /// does, because a repeated visit replaces the earlier one whole.
    pub fn of_cell(cell: &CellInput) -> Self {
        Self::of_rows(cell, cell.rows.iter().collect())
    }

    /// The same for two variants only.
    pub fn of_pair(cell: &CellInput, pair: Pair) -> Self {
        let wanted = |r: &&Row| r.variant == pair.candidate || r.variant == pair.reference;
        Self::of_rows(cell, cell.rows.iter().filter(wanted).collect())
    }

    fn of_rows(cell: &CellInput, mut rows: Vec<&Row>) -> Self {
        rows.sort_by_key(|r| (r.variant, r.round, r.visit));
        let mut variants: BTreeMap<usize, VariantUnits> = BTreeMap::new();
        for visit in rows.chunk_by(|a, b| (a.variant, a.round, a.visit) == (b.variant, b.round, b.visit)) {
            let entry = variants.entry(visit[0].variant).or_default();
            entry.void.of += visit.len() as u64;
            entry.void.hits += visit.iter().filter(|r| r.void).count() as u64;
            match collapse(visit, cell) {
                Ok(Some(unit)) => entry.push(unit),
                Ok(None) => {}
                Err(bad) => entry.bad = entry.bad.or(Some(bad)),
            }
        }
        Self { variants }
    }

    /// The units of a variant, by round and visit.
    pub fn of(&self, variant: usize) -> &[Unit] {
        self.variants.get(&variant).map_or(&[], |v| &v.units)
    }

    /// The values of a variant's units.
    pub fn values(&self, variant: usize) -> Vec<f64> {
        self.of(variant).iter().map(|u| u.value).collect()
    }

    /// Void trials of a variant, of all it has.
    pub fn void(&self, variant: usize) -> Count {
        self.variants.get(&variant).map_or_else(Count::default, |v| v.void)
    }

    /// The first value of a variant that cannot be analysed.
    pub fn bad(&self, variant: usize) -> Option<BadValue> {
        self.variants.get(&variant).and_then(|v| v.bad)
    }

    /// The variants that have rows, in order.
    pub fn variants(&self) -> impl Iterator<Item = usize> + '_ {
        self.variants.keys().copied()
    }

    /// Standard deviation between the visits of a variant, on the scale of analysis (on the log scale about the coefficient of
    /// variation). `None` below two visits.
    pub fn spread(&self, variant: usize) -> Option<f64> {
        variance(&self.values(variant)).map(f64::sqrt)
    }

    /// Differences candidate minus reference of the rounds that have both, with their round, in round order.
    pub fn differences(&self, candidate: usize, reference: usize) -> Vec<(u32, f64)> {
        let base: BTreeMap<u32, f64> =
            self.of(reference).iter().filter_map(|u| Some((u.round?, u.value))).collect();
        self.of(candidate)
            .iter()
            .filter_map(|u| {
                let round = u.round?;
                Some((round, u.value - base.get(&round)?))
            })
            .collect()
    }
}

impl VariantUnits {
    /// Visits arrive in order of round and visit, so a repeat meets the one it replaces at the end.
    fn push(&mut self, unit: Unit) {
        match self.units.last_mut() {
            Some(last) if unit.round.is_some() && last.round == unit.round => *last = unit,
            _ => self.units.push(unit),
        }
    }
}

/// One visit as a unit; `None` when all its trials are void.
fn collapse(visit: &[&Row], cell: &CellInput) -> Result<Option<Unit>, BadValue> {
    let mut values = Vec::with_capacity(visit.len());
    for row in visit.iter().filter(|r| !r.void) {
        let bad = BadValue { variant: row.variant, visit: row.visit, value: row.value };
        values.push(cell.rule.scale().transform(row.value).ok_or(bad)?);
    }
    let value = if values.len() >= 3 { median(&values) } else { mean(&values) };
    let seq = visit.iter().filter_map(|r| r.seq).min();
    Ok(value.map(|value| Unit {
        round: visit[0].round,
        visit: visit[0].visit,
        seq,
        value,
        trials: values.len(),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::types::{Better, CellRule, Scale};

    fn cell(rows: &[(u32, u32, f64, bool)]) -> CellInput {
        let rule = CellRule::new(Scale::Linear, Better::Higher, 1.0, 0.0).unwrap();
        let rows = rows
            .iter()
            .map(|&(round, visit, value, void)| Row {
                variant: 0,
                round: Some(round),
                visit,
                seq: Some(visit),
                value,
                void,
            })
            .collect();
        CellInput { rule, rows }
    }

    #[test]
    fn three_trials_give_their_median_and_two_their_mean() {
        let units = Units::of_cell(&cell(&[
            (0, 0, 1.0, false),
            (0, 0, 2.0, false),
            (0, 0, 90.0, false),
            (1, 1, 1.0, false),
            (1, 1, 2.0, false),
            (1, 1, 90.0, true),
        ]));
        assert_eq!(units.values(0), [2.0, 1.5]);
        assert_eq!(units.void(0), Count { hits: 1, of: 6 });
    }

    #[test]
    fn a_repeated_visit_replaces_the_earlier_one_whole() {
        let units = Units::of_cell(&cell(&[
            (0, 0, 1.0, false),
            (0, 0, 1.0, true),
            (0, 3, 5.0, false),
            (1, 1, 2.0, false),
            (1, 4, 7.0, true),
        ]));
        assert_eq!(units.values(0), [5.0, 2.0], "an all-void repeat replaces nothing");
    }

    #[test]
    fn a_value_off_the_scale_is_reported_not_dropped() {
        let units = Units::of_cell(&cell(&[(0, 0, f64::NAN, false), (1, 1, 2.0, false)]));
        assert!(units.bad(0).is_some_and(|b| b.visit == 0 && b.value.is_nan()));
        assert_eq!(units.bad(9), None);
    }
}
