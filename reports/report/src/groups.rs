//! The cells of a plan by workload, because a mean over unlike workloads, or over a patched driver and its control, says nothing.

use crate::findings::{Change, Group};
use crate::verdicts::Judged;
use kab_model::{Cell, Plan};

/// The cells of one workload on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    /// Name of the workload, with the target where the workload has several.
    pub(crate) name: String,
    /// Indices in the plan.
    pub(crate) cells: Vec<usize>,
}

/// All cells of `plan`, each in one group, in the order of the plan.
pub(crate) fn cells(plan: &Plan) -> Vec<Cells> {
    let mut groups: Vec<(&Cell, Vec<usize>)> = Vec::new();
    for (at, cell) in plan.cells.iter().enumerate() {
        let alike = |first: &Cell| first.workload == cell.workload && first.target == cell.target;
        match groups.iter_mut().find(|(first, _)| alike(first)) {
            Some((_, cells)) => cells.push(at),
            None => groups.push((cell, vec![at])),
        }
    }
    let several =
        |cell: &Cell| groups.iter().filter(|(other, _)| other.workload == cell.workload).count() > 1;
    let name = |cell: &Cell| match several(cell) {
        true => format!("{} {}", cell.workload, cell.target),
        false => cell.workload.clone(),
    };
    groups.iter().map(|(first, cells)| Cells { name: name(first), cells: cells.clone() }).collect()
}

/// The summaries of the groups on one board. `cpu_changes` are those of the groups on this board.
pub(crate) fn summaries(
    groups: &[Cells],
    board: usize,
    pairs: &[(usize, usize)],
    count: usize,
    primary: &Judged,
    (cpu, cpu_changes): (&Judged, &[Vec<Change>]),
) -> Vec<Group> {
    let measured = primary.measured(board, count);
    groups
        .iter()
        .enumerate()
        .map(|(at, group)| {
            let cells = primary.common(board, &group.cells, &measured);
            let cpu_cells = cpu.common(board, &group.cells, &measured);
            let mut cpu_per_io = cpu.over_cells(board, count, &cpu_cells);
            if let Some(cpu) = &mut cpu_per_io {
                cpu.changes = cpu_changes.get(at).cloned().unwrap_or_default();
            }
            Group {
                name: group.name.clone(),
                geomean: pairs.iter().map(|pair| primary.geomean(board, *pair, &cells)).collect(),
                cpu_per_io: cpu_per_io.filter(|_| !measured.is_empty()),
            }
        })
        .collect()
}
