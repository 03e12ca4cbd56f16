//! What may be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Does this patch make the machine faster or slower, on my boards, and how sure are we?
#[derive(Parser, Debug)]
#[command(
    name = "kab",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  kab check ufs.yaml lab.yaml\n  kab run ufs.yaml --lab lab.yaml\n  kab report last --full\n\n\
                  Exit codes: 0 done; 1 `runs verify` or `audit` found an error; 2 usage or file; 3 the lab\n\
                   kept the plan from being finished; 4 a build failed; 130 interrupted."
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Folder of the runs [default: $KAB_STORE, or $XDG_DATA_HOME/kab/runs].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Check(crate::commands::check::Check),
    Schema(crate::commands::schema::Schema),
    Plan(crate::commands::plan::PlanCommand),
    Build(crate::commands::build::Build),
    Run(crate::commands::run::RunCommand),
    Report(crate::commands::report::ReportCommand),
    Compare(crate::commands::compare::CompareCommand),
    Runs(crate::commands::runs::Runs),
    Aa(crate::commands::aa::Aa),
    Lab(crate::commands::lab::Lab),
    Audit(crate::commands::audit::Audit),
}

/// The two files that make a run.
#[derive(Args, Debug, Clone)]
pub(crate) struct Files {
    /// The experiment.
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,

    /// The lab [default: lab.yaml beside the experiment].
    #[arg(long, value_name = "LAB")]
    pub(crate) lab: Option<PathBuf>,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For the mailing list: at most 72 columns, ASCII.
    Text,
    /// For GitHub and GitLab.
    Markdown,
    /// For a browser: one file with plots and filters, which needs no network.
    Html,
    /// One plot; see `--plot`.
    Svg,
    /// For a commit message: at most 12 lines.
    Changelog,
    /// A draft of a reply to a posted mail; see `--reply-to`. kab never sends it.
    Mail,
    /// For programs: all numbers; `kab schema report-json` describes it.
    Json,
    /// For spreadsheets and R: one table; the first column says what a row is.
    Csv,
}
