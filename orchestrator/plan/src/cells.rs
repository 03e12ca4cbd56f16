//! Workloads x matrices -> cells, in the one order in which every visit runs them.

use kab_model::{Cell, CellId, Experiment, FioOption, PlannedVariant, TargetName, Workload};

/// All cells of an experiment: workloads in the order of the file, maps in order, the last axis fastest.
///
/// Cells of workloads without any target are left out; [`crate::make_plan`] refuses those first.
pub fn expand(experiment: &Experiment) -> Vec<Cell> {
    let prefixed = experiment.workloads.len() > 1;
    let mut cells: Vec<Cell> = Vec::new();
    for workload in &experiment.workloads {
        let Some(target) = workload.target.as_ref().or(experiment.target.as_ref()) else { continue };
        let points = points(workload);
        for (point, text) in points.iter().zip(texts(&points)) {
            cells.push(cell(workload, point.clone(), &text, target, prefixed));
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
    without_repeats(all)
}

/// The first of all points that set the same options to the same values, in whatever order.
fn without_repeats(points: Vec<Vec<FioOption>>) -> Vec<Vec<FioOption>> {
    let mut kept: Vec<Vec<FioOption>> = Vec::new();
    for point in points {
        let same = |other: &Vec<FioOption>| {
            other.len() == point.len() && other.iter().all(|pair| point.contains(pair))
        };
        if !kept.iter().any(same) {
            kept.push(point);
        }
    }
    kept
}

/// What tells each point from the others of its workload: its values, `read/8`; with names, `rw=read/iodepth=8`, where
/// another point has the same values for other options.
fn texts(points: &[Vec<FioOption>]) -> Vec<String> {
    let plain: Vec<String> =
        points.iter().map(|point| join(point.iter().map(|axis| axis.value.clone()))).collect();
    let mut texts: Vec<String> = Vec::new();
    for (point, plain_text) in points.iter().zip(&plain) {
        let alone = plain.iter().filter(|other| *other == plain_text).count() == 1;
        let named = || join(point.iter().map(|axis| format!("{}={}", axis.name, axis.value)));
        let mut text = if alone { plain_text.clone() } else { named() };
        // Values may hold slashes and equal signs: results of two cells must never run together.
        while texts.contains(&text) {
            text.push('+');
        }
        texts.push(text);
    }
    texts
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("/")
}

fn excluded(workload: &Workload, point: &[FioOption]) -> bool {
    workload.exclude.iter().any(|map| !map.is_empty() && map.iter().all(|pair| point.contains(pair)))
}

fn cell(workload: &Workload, axes: Vec<FioOption>, text: &str, target: &TargetName, prefixed: bool) -> Cell {
    let name = &workload.name;
    let (id, label) = match (text.is_empty(), prefixed) {
        (true, _) => (name.clone(), name.clone()),
        (false, true) => (format!("{name}/{text}"), format!("{name} {text}")),
        (false, false) => (format!("{name}/{text}"), text.to_owned()),
    };
    let mut fio = workload.fio.clone();
    fio.extend(axes.iter().cloned());
    let cell = Cell {
        id: CellId(id),
        workload: workload.name.clone(),
        label,
        axes,
        fio: Vec::new(),
        target: target.clone(),
        writes: false,
        planned_ms: None,
    };
    with_options(cell, fio)
}

fn with_options(cell: Cell, fio: Vec<FioOption>) -> Cell {
    let (writes, planned_ms) = (fio.iter().any(writes), planned_ms(&fio));
    Cell { fio, writes, planned_ms, ..cell }
}

/// The cell as a variant runs it: its own fio options replace or add to the cell's. Id and label stay, for it is the same
/// test of another variant.
pub fn cell_of(variant: &PlannedVariant, cell: &Cell) -> Cell {
    if variant.fio.is_empty() {
        return cell.clone();
    }
    let mut fio = cell.fio.clone();
    for own in &variant.fio {
        match fio.iter_mut().rfind(|option| option.name == own.name) {
            Some(option) => option.clone_from(own),
            None => fio.push(own.clone()),
        }
    }
    with_options(cell.clone(), fio)
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
