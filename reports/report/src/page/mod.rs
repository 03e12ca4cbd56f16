//! The report as one page: everything of the text report, and a card with plots for every cell and metric.

mod cards;

use crate::findings::Findings;
use crate::plot;
use crate::quantity::cut;
use crate::render::{Options, RenderError, render_page};
use crate::sections::{self, Setting};
use crate::view::View;
use kab_stats::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Characters of a variant's name that have room below a plot.
const NAME: usize = 54;

/// Merged latency bins of the counted trials, by names of board, cell and variant. They lie in fio's own output, which the log only
/// names, so whoever has the store reads them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies(BTreeMap<(String, String, String), Histogram>);

impl Latencies {
    /// Adds the bins of one trial, pairs of nanoseconds and counts.
    pub fn add(&mut self, board: &str, cell: &str, variant: &str, bins: &[(u64, u64)]) {
        let key = (board.to_owned(), cell.to_owned(), variant.to_owned());
        self.0.entry(key).or_default().add(bins.iter().copied());
    }

    fn of_cell(&self, findings: &Findings, board: usize, cell: usize) -> Vec<Option<&Histogram>> {
        let board = &findings.boards[board];
        let of = |variant: &str| {
            self.0.get(&(board.name.clone(), board.cells[cell].id.clone(), variant.to_owned()))
        };
        findings.variants.iter().map(|variant| of(&variant.name)).collect()
    }
}

/// What the page's template sees.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    #[serde(flatten)]
    view: View,
    /// Rules of the drawings.
    plot_style: String,
    /// One part a board and metric.
    parts: Vec<cards::Part>,
    /// What may be chosen.
    choices: Choices,
    /// What the run does not have, so that its absence is no riddle.
    absent: Vec<String>,
}

/// What may be chosen in the page; a group with one entry is not shown.
#[derive(Debug, Serialize)]
struct Choices {
    boards: Vec<Choice>,
    metrics: Vec<Choice>,
    verdicts: Vec<Choice>,
}

/// One entry of a group.
#[derive(Debug, PartialEq, Serialize)]
struct Choice {
    value: String,
    text: String,
}

/// The report as one HTML file that needs nothing else: no network, no other file; the plots are drawn in it.
///
/// # Errors
/// When the template is broken.
pub fn html(findings: &Findings, latencies: &Latencies, options: Options) -> Result<String, RenderError> {
    // A page says its own character set, so names keep their letters.
    let options = Options { unicode: true, ..options };
    let setting = sections::setting(findings, options, None);
    let parts = cards::parts(&setting, latencies);
    let mut absent = vec!["I/Os a second within a trial: this run has no logs of them.".to_owned()];
    if latencies.0.is_empty() {
        absent.insert(0, "Latency by percentile: this run has no histograms.".to_owned());
    }
    render_page(&Page {
        view: sections::view(findings, Options { full: true, ..options }, None),
        plot_style: plot::style(),
        choices: choices(&setting, &parts),
        parts,
        absent,
    })
}

fn choices(setting: &Setting, parts: &[cards::Part]) -> Choices {
    let mut choices = Choices { boards: Vec::new(), metrics: Vec::new(), verdicts: Vec::new() };
    let put = |list: &mut Vec<Choice>, value: &str, text: &str| {
        let choice = Choice { value: value.to_owned(), text: text.to_owned() };
        if !list.contains(&choice) {
            list.push(choice);
        }
    };
    for part in parts {
        put(
            &mut choices.boards,
            &part.board,
            &setting.plain(&setting.findings.boards[part.board_index].name),
        );
        put(&mut choices.metrics, &part.metric, &part.metric_title);
    }
    for verdict in crate::Verdict::ALL {
        let word = cards::slug(verdict);
        if parts
            .iter()
            .flat_map(|part| &part.cards)
            .any(|card| card.verdicts.split(' ').any(|one| one == word))
        {
            put(&mut choices.verdicts, &word, verdict.word());
        }
    }
    choices
}

/// Which plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotKind {
    /// Every boot as a point.
    #[default]
    Boots,
    /// The boots in the order of time.
    Sequence,
    /// Latency by percentile.
    Latency,
}

/// Which plot of which cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlotChoice {
    /// `CELL` or `BOARD:CELL`; a cell by its id or its label.
    pub cell: String,
    /// Which plot.
    pub kind: PlotKind,
}

/// Why there is no such plot.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PlotError {
    /// No cell is called so.
    #[error("there is no cell {wanted:?}; there are {}", known.join(", "))]
    Unknown {
        /// As typed.
        wanted: String,
        /// All that may be typed.
        known: Vec<String>,
    },
    /// Several boards have it.
    #[error("{wanted:?} is on several boards; say which: {}", known.join(", "))]
    Ambiguous {
        /// As typed.
        wanted: String,
        /// The choices.
        known: Vec<String>,
    },
    /// Nothing to draw.
    #[error("{cell} has nothing to draw: {why}")]
    Empty {
        /// The cell.
        cell: String,
        /// What is missing.
        why: &'static str,
    },
}

/// One plot of the primary metric as an SVG file of its own, for light and for dark.
///
/// # Errors
/// When there is no such cell, or nothing to draw in it.
pub fn svg(findings: &Findings, latencies: &Latencies, choice: &PlotChoice) -> Result<String, PlotError> {
    let setting = sections::setting(findings, Options { full: false, unicode: true }, None);
    let (board, cell) = find(findings, &choice.cell)?;
    let (found, place) = (&findings.boards[board], setting.place(board, cell));
    let metric = &found.cells[cell].metrics[0];
    let unit = cards::unit(&setting, found, 0);
    let (drawing, why) = match choice.kind {
        PlotKind::Boots => (
            plot::boots(&setting, &place, metric, unit, "every boot; mean with 95 % interval"),
            "no boot gave a number",
        ),
        PlotKind::Sequence => {
            (plot::sequence(&setting, &place, metric, unit, &found.lost), "no boot gave a number")
        }
        PlotKind::Latency => {
            (plot::latency(&setting, &place, &latencies.of_cell(findings, board, cell)), "no histograms")
        }
    };
    let variants: Vec<(&str, String)> = (0..findings.variants.len())
        .map(|variant| (setting.letter(variant), cut(&setting.plain(&findings.variants[variant].name), NAME)))
        .collect();
    let title = format!("{}: {}", setting.plain(&found.name), setting.plain(&found.cells[cell].label));
    drawing.map(|drawing| drawing.document(&title, &variants)).ok_or(PlotError::Empty { cell: place, why })
}

fn find(findings: &Findings, wanted: &str) -> Result<(usize, usize), PlotError> {
    let mut all = Vec::new();
    for (at, board) in findings.boards.iter().enumerate() {
        for (cell, found) in board.cells.iter().enumerate() {
            all.push(((at, cell), format!("{}:{}", board.name, found.id), found));
        }
    }
    let fits = |full: &str, cell: &crate::Cell| {
        let on_board = wanted.split_once(':').is_some_and(|(board, label)| {
            full.split_once(':').is_some_and(|(name, _)| name == board) && cell.label == label
        });
        full == wanted || cell.id == wanted || cell.label == wanted || on_board
    };
    let fitting: Vec<_> = all.iter().filter(|(_, full, cell)| fits(full, cell)).collect();
    let names = |list: Vec<&String>| list.into_iter().cloned().collect();
    match fitting.as_slice() {
        [(place, ..)] => Ok(*place),
        [] => Err(PlotError::Unknown {
            wanted: wanted.to_owned(),
            known: names(all.iter().map(|(_, full, _)| full).collect()),
        }),
        _ => Err(PlotError::Ambiguous {
            wanted: wanted.to_owned(),
            known: names(fitting.iter().map(|(_, full, _)| full).collect()),
        }),
    }
}
