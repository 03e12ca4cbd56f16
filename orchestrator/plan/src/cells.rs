//! Workloads x matrices -> cells, in the one order in which every visit runs them.

use kab_model::{Cell, CellId, Experiment, FioOption, TargetName, Workload};

/// All cells of an experiment: workloads in the order of the file, maps in order, the last axis fastest.
///
/// Cells of workloads without any target are left out; [`crate::make_plan`] refuses those first.
pub fn expand(experiment: &Experiment) -> Vec<Cell> {
    let prefixed = experiment.workloads.len() > 1;
    let mut cells = Vec::new();
    for workload in &experiment.workloads {
        let Some(target) = workload.target.as_ref().or(experiment.target.as_ref()) else { continue };
        for axes in points(workload) {
            let cell = cell(workload, axes, target, prefixed);
            if !cells.iter().any(|other: &Cell| other.id == cell.id) {
                cells.push(cell);
            }
        }
    }
    cells
}

/// All points of a workload's maps that no `exclude` map names.
fn points(workload: &Workload) -> Vec<Vec<FioOption>> {
    if workload.matrix.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for map in &workload.matrix {
        let mut points: Vec<Vec<FioOption>> = vec![Vec::new()];
        for (name, values) in &map.axes {
            points = points
                .iter()
                .flat_map(|point| {
                    values.iter().map(|value| {
                        let mut longer = point.clone();
                        longer.push(FioOption { name: name.clone(), value: value.clone() });
                        longer
                    })
                })
                .collect();
        }
        all.extend(points);
    }
    all.retain(|point| !excluded(workload, point));
    all
}

fn excluded(workload: &Workload, point: &[FioOption]) -> bool {
    workload.exclude.iter().any(|map| map.iter().all(|pair| point.contains(pair)))
}

fn cell(workload: &Workload, axes: Vec<FioOption>, target: &TargetName, prefixed: bool) -> Cell {
    let values: Vec<&str> = axes.iter().map(|axis| axis.value.as_str()).collect();
    let mut id = workload.name.clone();
    for value in &values {
        id = format!("{id}/{value}");
    }
    let label = match (values.is_empty(), prefixed) {
        (true, _) => workload.name.clone(),
        (false, true) => format!("{} {}", workload.name, values.join("/")),
        (false, false) => values.join("/"),
    };
    let mut fio = workload.fio.clone();
    fio.extend(axes.iter().cloned());
    let writes = fio.iter().any(writes);
    let planned_ms = planned_ms(&fio);
    Cell {
        id: CellId(id),
        workload: workload.name.clone(),
        label,
        axes,
        fio,
        target: target.clone(),
        writes,
        planned_ms,
    }
}

/// Whether an option makes fio write to its file: any `rw` value that names writes or trims.
fn writes(option: &FioOption) -> bool {
    let value = option.value.split(':').next().unwrap_or_default();
    matches!(option.name.as_str(), "rw" | "readwrite")
        && (value.contains("write") || value.contains("trim") || matches!(value, "rw" | "randrw"))
}

fn planned_ms(fio: &[FioOption]) -> Option<u64> {
    let pairs: Vec<(&str, &str)> =
        fio.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect();
    let time = kab_fio::planned_runtime(&pairs)?;
    u64::try_from(time.as_millis()).ok()
}
