//! `kab report`: the comparison of a run.

use crate::args::Format;
use crate::draft::{self, MailOptions};
use crate::exit::{Exit, Failure, lab, usage};
use crate::places::Places;
use clap::{Args, ValueEnum};
use kab_model::Run;
use kab_report::{Findings, HostFact, Latencies, Meta, Options, PlotChoice, PlotKind};
use kab_store::{RunReader, Store};
use std::path::{Path, PathBuf};

/// Print the comparison of a run, ready to be pasted into a reply
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kab report last\n  kab report 7f3a9c --full\n  \
                        kab report last --format markdown > comment.md\n  \
                        kab report last --format html -o report.html\n  \
                        kab report last --format svg --plot randread/1 -o plot.svg\n  \
                        kab report last --format mail --reply-to series.mbox -o reply.eml && git send-email reply.eml\n  \
                        kab report last --changelog >> commit-message\n  \
                        kab report last --format csv -o result.csv\n  \
                        kab report last --template mine.j2     (`kab schema report` lists what it may name)")]
pub(crate) struct ReportCommand {
    /// First digits of the run's id, or `last`.
    run: String,
    /// Who reads it.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The short form for a commit message, at most 12 lines; the same as `--format changelog`.
    #[arg(long, conflicts_with_all = ["format", "template"])]
    changelog: bool,
    /// A minijinja (Jinja2) template of your own. Tables in its view fit 72 columns; with `--format markdown` they are not wrapped.
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Add a block of numbers for every cell: min, max and mean over visits, CPU, bandwidth, latency.
    #[arg(long)]
    full: bool,
    /// Keep letters beyond ASCII in names and subjects.
    #[arg(long)]
    unicode: bool,
    /// The cell of `--format svg`: its label or id, or `BOARD:CELL`.
    #[arg(long, value_name = "CELL", required_if_eq("format", "svg"))]
    plot: Option<String>,
    /// What that plot shows.
    #[arg(long, value_enum, default_value = "boots", requires = "plot")]
    kind: Kind,
    #[command(flatten)]
    mail: MailOptions,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Kinds of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Every boot as a point.
    Boots,
    /// The boots in the order of time.
    Sequence,
    /// Completion latency by percentile.
    Latency,
}

pub(crate) fn report(command: &ReportCommand, places: &Places) -> Result<Exit, Failure> {
    let reader = Store::new(&places.runs).find(&command.run).map_err(usage)?;
    let options = Options { full: command.full, unicode: command.unicode };
    let format = if command.changelog { Format::Changelog } else { command.format };
    let text = match &command.template {
        Some(template) => by_template(&reader, template, format, options)?,
        None if format == Format::Svg => plot(&reader, command)?,
        None if format == Format::Mail => {
            let findings = findings(&reader)?;
            let text = kab_report::text(&findings, options).map_err(lab)?;
            draft::draft(&reader, &findings, &text, &command.mail)?
        }
        None => render(&reader, format, options)?,
    };
    deliver(&text, command.output.as_deref())?;
    Ok(Exit::Done)
}

/// To the file that was asked for, as it is, or to standard output.
fn deliver(text: &str, output: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = output else { return crate::print_out(text) };
    std::fs::write(path, text)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot write {}: {error}", path.display())))
}

fn by_template(reader: &RunReader, path: &Path, format: Format, options: Options) -> Result<String, Failure> {
    let source = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display())))?;
    let name = path.display().to_string();
    let wide = format != Format::Text;
    kab_report::custom(&findings(reader)?, options, (&name, &source), wide).map_err(usage)
}

fn findings(reader: &RunReader) -> Result<Findings, Failure> {
    findings_of(&reader.run().map_err(lab)?, reader)
}

fn findings_of(run: &Run, reader: &RunReader) -> Result<Findings, Failure> {
    let meta = Meta {
        run_id: reader.header().id.0.clone(),
        data_digest: format!("blake3:{}", reader.data_digest().map_err(lab)?),
        kab_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Vec::<HostFact>::new(),
    };
    Ok(kab_report::findings(run, &meta))
}

/// The report of a run.
pub(crate) fn render(reader: &RunReader, format: Format, options: Options) -> Result<String, Failure> {
    let run = reader.run().map_err(lab)?;
    let findings = findings_of(&run, reader)?;
    match format {
        Format::Text => kab_report::text(&findings, options),
        Format::Markdown => kab_report::markdown(&findings, options),
        Format::Html => kab_report::html(&findings, &latencies(&run, reader)?, options),
        // Needs more than the format; `report` makes it.
        Format::Svg | Format::Mail => Ok(String::new()),
        Format::Changelog => Ok(kab_report::changelog(&findings, options)),
        Format::Json => kab_report::json(&findings),
        Format::Csv => kab_report::csv(&findings),
    }
    .map_err(lab)
}

fn plot(reader: &RunReader, command: &ReportCommand) -> Result<String, Failure> {
    let run = reader.run().map_err(lab)?;
    let (kind, latencies) = match command.kind {
        Kind::Boots => (PlotKind::Boots, Latencies::default()),
        Kind::Sequence => (PlotKind::Sequence, Latencies::default()),
        Kind::Latency => (PlotKind::Latency, latencies(&run, reader)?),
    };
    let choice = PlotChoice { cell: command.plot.clone().unwrap_or_default(), kind };
    kab_report::svg(&findings_of(&run, reader)?, &latencies, &choice).map_err(usage)
}

/// The latency bins of all trials that count, from what fio wrote.
fn latencies(run: &Run, reader: &RunReader) -> Result<Latencies, Failure> {
    let mut latencies = Latencies::default();
    for (trial, _) in run.visits().flat_map(kab_model::Visit::counted) {
        let Some(record) = &trial.record else { continue };
        let output = reader.blob(&record.output).map_err(lab)?;
        // What counts was parsed when it was judged; a file that cannot be read now is for `kab runs verify`.
        let Ok(report) = kab_fio::parse(&output) else { continue };
        let (visit, bins) = (&trial.key.visit, kab_fio::Totals::of(&report).clat_bins);
        if !bins.is_empty() {
            latencies.add(&visit.board.0, &trial.key.cell.0, &visit.variant.0, &bins);
        }
    }
    Ok(latencies)
}
