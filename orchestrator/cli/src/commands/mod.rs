//! One file a command: its arguments, whose doc comment is the help, then its story in one function.

pub(crate) mod aa;
pub(crate) mod audit;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod lab;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;

use crate::args::{Arguments, Command};
use crate::exit::{Exit, Failure};
use crate::places::Places;

/// Carries one command out.
pub(crate) fn dispatch(arguments: Arguments) -> Result<Exit, Failure> {
    let places = Places::find(arguments.store.as_deref())?;
    match arguments.command {
        Command::Aa(command) => aa::aa(&command, &places),
        Command::Lab(command) => lab::lab_command(&command, &places),
        Command::Audit(command) => audit::audit(&command),
        Command::Check(command) => check::check(&command, &places),
        Command::Schema(command) => schema::schema(&command),
        Command::Plan(command) => plan::plan(&command, &places),
        Command::Build(command) => build::build(&command, &places),
        Command::Run(command) => run::run(&command, &places),
        Command::Compare(command) => compare::compare(&command),
        Command::Report(command) => report::report(&command, &places),
        Command::Runs(command) => runs::runs(&command, &places),
    }
}
