//! The detailed blocks of a full report: one cell after the other, the variants as columns.

use crate::findings::{Board, Detail};
use crate::layout::{self, Kind, Strip};
use crate::quantity::grouped;
use crate::sections::Setting;
use crate::view::Block;

/// A line of a block: its label, the value, how it is printed.
type Line = (&'static str, fn(&Detail) -> Option<String>);

/// Lines in the order in which people post them.
const LINES: [Line; 12] = [
    ("boots/trials", |d| (d.visits > 0).then(|| format!("{}/{}", d.visits, d.trials))),
    ("min IOPS", |d| d.min_iops.map(grouped)),
    ("max IOPS", |d| d.max_iops.map(grouped)),
    ("mean IOPS", |d| d.mean_iops.map(grouped)),
    ("spread of boots", |d| d.spread_pct.map(|value| format!("{value:.1}%"))),
    ("slow+fast boots", |d| d.modes.map(|(slow, fast)| format!("{slow}+{fast}"))),
    ("cpu % usr (fio)", |d| d.usr_pct.map(|value| format!("{value:.2}"))),
    ("cpu % sys (fio)", |d| d.sys_pct.map(|value| format!("{value:.2}"))),
    ("CPU us/IO, board", |d| d.cpu_per_io.map(|value| format!("{:.2}", value / 1e3))),
    ("bw MB/s", |d| d.bw.map(|value| format!("{:.2}", value / 1e6))),
    ("clat mean us", |d| d.clat_mean.map(|value| grouped(value / 1e3))),
    ("clat p99 us", |d| d.clat_p99.map(|value| grouped(value / 1e3))),
];

/// All blocks, board by board.
pub(crate) fn blocks(setting: &Setting) -> Vec<Block> {
    setting.findings.boards.iter().flat_map(|board| of_board(setting, board)).collect()
}

fn of_board(setting: &Setting, board: &Board) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (at, cell) in board.cells.iter().enumerate() {
        blocks.push(Block {
            board: (at == 0).then(|| setting.plain(&board.name)),
            heading: setting.plain(&cell.label),
            tables: block_tables(setting, &cell.details),
        });
    }
    blocks
}

/// Lines that no variant has are left out.
fn block_tables(setting: &Setting, details: &[Detail]) -> Vec<crate::view::Table> {
    let lines: Vec<&Line> =
        LINES.iter().filter(|(_, value)| details.iter().any(|d| value(d).is_some())).collect();
    let cells = lines.iter().map(|(label, _)| (*label).to_owned()).collect();
    let label = Strip { head: String::new(), cells, kind: Kind::Label };
    let columns: Vec<Strip> = details
        .iter()
        .enumerate()
        .map(|(variant, detail)| Strip {
            head: setting.letter(variant).to_owned(),
            cells: lines.iter().map(|(_, value)| value(detail).unwrap_or_else(|| "-".to_owned())).collect(),
            kind: Kind::Value(variant),
        })
        .collect();
    layout::tables(label, &columns, &[], setting.findings.baseline, setting.width)
}
