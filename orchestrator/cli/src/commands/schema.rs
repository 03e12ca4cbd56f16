//! `kab schema`: JSON Schema of the files, for editors.

use crate::exit::{Exit, Failure};
use clap::{Args, ValueEnum};

/// Print the JSON Schema (draft-07) of a file, from which editors complete and check, or of a report
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  kab schema experiment > experiment.schema.json\n\n\
                        and as the first line of an experiment:\n  # yaml-language-server: $schema=experiment.schema.json")]
pub(crate) struct Schema {
    /// Which file or report.
    #[arg(value_enum)]
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// experiment.yaml
    Experiment,
    /// lab.yaml
    Lab,
    /// Posted figures for `kab runs import --table`
    Table,
    /// What a template of `kab report --template` may name
    Report,
    /// `kab report --format json`
    ReportJson,
}

pub(crate) fn schema(command: &Schema) -> Result<Exit, Failure> {
    let schema = match command.of {
        Of::Experiment => kab_model::yaml::schema_experiment(),
        Of::Lab => kab_model::yaml::schema_lab(),
        Of::Table => kab_model::yaml::schema_table(),
        Of::Report => kab_report::schema_view(),
        Of::ReportJson => kab_report::schema_data(),
    };
    crate::print_out(&format!("{schema:#}\n"))?;
    Ok(Exit::Done)
}
