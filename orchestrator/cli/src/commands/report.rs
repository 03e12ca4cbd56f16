//! `kab report`: the comparison of a run.

use crate::args::Format;
use crate::exit::{Exit, Failure, lab, usage};
use crate::places::Places;
use clap::Args;
use kab_report::{HostFact, Meta, Options};
use kab_store::{RunReader, Store};

/// Print the comparison of a run, ready to be pasted into a reply
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab report last\n  kab report 7f3a9c --full\n  kab report last --format markdown > comment.md"
)]
pub(crate) struct ReportCommand {
    /// First digits of the run's id, or `last`.
    run: String,
    /// For the list (text) or for a web page (markdown).
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Add a block of numbers for every cell: min, max and mean over visits, CPU, bandwidth, latency.
    #[arg(long)]
    full: bool,
    /// Keep letters beyond ASCII in names and subjects.
    #[arg(long)]
    unicode: bool,
}

pub(crate) fn report(command: &ReportCommand, places: &Places) -> Result<Exit, Failure> {
    let reader = Store::new(&places.runs).find(&command.run).map_err(usage)?;
    let options = Options { full: command.full, unicode: command.unicode };
    crate::print_out(&render(&reader, command.format, options)?)?;
    Ok(Exit::Done)
}

/// The report of a run as text.
pub(crate) fn render(reader: &RunReader, format: Format, options: Options) -> Result<String, Failure> {
    let run = reader.run().map_err(lab)?;
    let meta = Meta {
        run_id: reader.header().id.0.clone(),
        data_digest: format!("blake3:{}", reader.data_digest().map_err(lab)?),
        kab_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Vec::<HostFact>::new(),
    };
    let findings = kab_report::findings(&run, &meta);
    match format {
        Format::Text => kab_report::text(&findings, options),
        Format::Markdown => kab_report::markdown(&findings, options),
    }
    .map_err(lab)
}
