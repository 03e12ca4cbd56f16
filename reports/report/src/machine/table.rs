//! Data as one table: a row for each boot, each mean and each comparison.

use super::data::{CellMetricData, ChangeData, Data, ValueData, VisitData};
use serde::Serialize;

/// One row. What a row is not about stays empty.
#[derive(Default, Serialize)]
struct Row<'a> {
    row: &'static str,
    board: &'a str,
    cell: &'a str,
    metric: &'a str,
    variant: &'a str,
    reference: &'a str,
    visit: Option<u32>,
    round: Option<u32>,
    state: &'a str,
    value: Option<f64>,
    ci95_low: Option<f64>,
    ci95_high: Option<f64>,
    visits: Option<usize>,
    reference_visits: Option<usize>,
    trials: Option<usize>,
    noted_trials: Option<usize>,
    change_pct: Option<f64>,
    ci95_low_pct: Option<f64>,
    ci95_high_pct: Option<f64>,
    verdict: &'a str,
    p: Option<f64>,
    p_holm: Option<f64>,
    q_benjamini_hochberg: Option<f64>,
    why: &'a str,
}

/// The table with its head, also where there are no rows.
pub(super) fn csv(data: &Data) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(HEAD)?;
    for board in &data.boards {
        for cell in &board.cells {
            for metric in &cell.metrics {
                let place =
                    Row { board: &board.name, cell: &cell.id, metric: &metric.metric, ..Row::default() };
                rows(&mut writer, &place, metric)?;
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The names of [`Row`], which a table without rows has, too.
const HEAD: [&str; 24] = [
    "row",
    "board",
    "cell",
    "metric",
    "variant",
    "reference",
    "visit",
    "round",
    "state",
    "value",
    "ci95_low",
    "ci95_high",
    "visits",
    "reference_visits",
    "trials",
    "noted_trials",
    "change_pct",
    "ci95_low_pct",
    "ci95_high_pct",
    "verdict",
    "p",
    "p_holm",
    "q_benjamini_hochberg",
    "why",
];

fn rows<'a>(
    writer: &mut csv::Writer<Vec<u8>>,
    place: &Row<'a>,
    metric: &'a CellMetricData,
) -> Result<(), csv::Error> {
    for value in &metric.variants {
        for visit in &value.visits {
            writer.serialize(of_visit(place, value, visit))?;
        }
        writer.serialize(of_variant(place, value))?;
    }
    for change in &metric.changes {
        writer.serialize(of_change(place, change))?;
    }
    Ok(())
}

fn of_visit<'a>(place: &Row<'a>, value: &'a ValueData, visit: &VisitData) -> Row<'a> {
    Row {
        row: "visit",
        variant: &value.variant,
        visit: Some(visit.visit),
        round: Some(visit.round),
        value: Some(visit.value),
        trials: Some(visit.trials.len()),
        noted_trials: Some(visit.noted_trials),
        ..at(place)
    }
}

fn of_variant<'a>(place: &Row<'a>, value: &'a ValueData) -> Row<'a> {
    Row {
        row: "variant",
        variant: &value.variant,
        state: &value.state,
        value: value.mean,
        ci95_low: value.ci95_low,
        ci95_high: value.ci95_high,
        visits: Some(value.visits.len()),
        trials: Some(value.visits.iter().map(|visit| visit.trials.len()).sum()),
        noted_trials: Some(value.visits.iter().map(|visit| visit.noted_trials).sum()),
        ..at(place)
    }
}

fn of_change<'a>(place: &Row<'a>, change: &'a ChangeData) -> Row<'a> {
    Row {
        row: "change",
        variant: &change.candidate,
        reference: &change.reference,
        visits: Some(change.candidate_visits),
        reference_visits: Some(change.reference_visits),
        change_pct: change.change_pct,
        ci95_low_pct: change.ci95_low_pct,
        ci95_high_pct: change.ci95_high_pct,
        verdict: &change.verdict,
        p: change.p,
        p_holm: change.p_holm,
        q_benjamini_hochberg: change.q_benjamini_hochberg,
        why: change.why.as_deref().unwrap_or_default(),
        ..at(place)
    }
}

fn at<'a>(place: &Row<'a>) -> Row<'a> {
    Row { board: place.board, cell: place.cell, metric: place.metric, ..Row::default() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_head_names_the_members_of_a_row() {
        let value = serde_json::to_value(Row::default()).unwrap();
        let names: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(names, HEAD);
    }
}
