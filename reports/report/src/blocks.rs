//! The detailed blocks of a full report: one cell after the other, the variants as columns.

use crate::findings::{Board, Cell, Detail};
use crate::layout::{self, Kind, Strip};
use crate::posted::PostedLine;
use crate::quantity::grouped;
use crate::sections::Setting;
use crate::view::{Block, Table};
use kab_model::Metric;

/// A line of a block: its label, and one text a variant.
type Line = (String, Vec<Option<String>>);

/// All lines in the order in which people post them, metrics in the units of the tables.
fn lines(setting: &Setting, board: &Board, details: &[Detail]) -> Vec<Line> {
    let with = |label: &str, text: &dyn Fn(&Detail) -> Option<String>| -> Line {
        (label.to_owned(), details.iter().map(text).collect())
    };
    let metric = |label: &str, metric: Metric, pick: fn(&Detail) -> Option<f64>| -> Line {
        let of_board: Vec<f64> = board.cells.iter().flat_map(|cell| &cell.details).filter_map(pick).collect();
        let unit = setting.unit(metric, &of_board);
        let text = |value: f64| if metric == Metric::Bw { format!("{value:.2}") } else { grouped(value) };
        let texts = details.iter().map(|d| pick(d).map(|value| text(value * unit.factor))).collect();
        (label.replace('*', unit.name), texts)
    };
    let percent = |value: Option<f64>, digits: usize| value.map(|value| format!("{value:.digits$}"));
    vec![
        with("boots/trials", &|d| (d.visits > 0).then(|| format!("{}/{}", d.visits, d.trials))),
        with("mean IOPS", &|d| d.mean_iops.map(grouped)),
        with("slowest boot", &|d| d.min_iops.map(grouped)),
        with("fastest boot", &|d| d.max_iops.map(grouped)),
        with("spread of boots", &|d| d.spread_pct.map(|value| format!("{value:.1}%"))),
        with("slow+fast boots", &|d| d.modes.map(|(slow, fast)| format!("{slow}+{fast}"))),
        with("cpu % usr (fio)", &|d| percent(d.usr_pct, 2)),
        with("cpu % sys (fio)", &|d| percent(d.sys_pct, 2)),
        metric("CPU */IO, board", Metric::CpuPerIo, |d| d.cpu_per_io),
        metric("bw *", Metric::Bw, |d| d.bw),
        metric("clat mean *", Metric::ClatMean, |d| d.clat_mean),
        metric("clat p50 *", Metric::ClatP50, |d| d.clat_p50),
        metric("clat p99 *", Metric::ClatP99, |d| d.clat_p99),
        metric("clat p99.9 *", Metric::ClatP999, |d| d.clat_p999),
    ]
}

/// Rows of somebody else's table, every figure as it was written.
fn posted(setting: &Setting, rows: &[PostedLine]) -> Vec<Line> {
    let text = |text: &String| (!text.is_empty()).then(|| setting.plain(text));
    rows.iter().map(|row| (setting.plain(&row.name), row.texts.iter().map(text).collect())).collect()
}

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
            tables: block_tables(setting, board, cell),
        });
    }
    blocks
}

/// Lines that no variant has are left out.
fn block_tables(setting: &Setting, board: &Board, cell: &Cell) -> Vec<Table> {
    let mut lines = if cell.posted.is_empty() {
        lines(setting, board, &cell.details)
    } else {
        posted(setting, &cell.posted)
    };
    lines.retain(|(_, texts)| texts.iter().any(Option::is_some));
    let cells = lines.iter().map(|(label, _)| label.clone()).collect();
    let label = Strip { head: String::new(), cells, kind: Kind::Label };
    let text = |line: &Line, variant: usize| line.1[variant].clone().unwrap_or_else(|| "-".to_owned());
    let columns: Vec<Strip> = (0..cell.details.len())
        .map(|variant| Strip {
            head: setting.letter(variant).to_owned(),
            cells: lines.iter().map(|line| text(line, variant)).collect(),
            kind: Kind::Value(variant),
        })
        .collect();
    layout::tables(label, &columns, &[], setting.findings.baseline, setting.width)
}
