//! `kab audit`: does the arithmetic of a posted result hold?

use crate::exit::{Exit, Failure};
use crate::input;
use clap::Args;
use kab_audit::Grade;
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Check the arithmetic and the claims of a posted result: a mail, an mbox or text
#[derive(Args, Debug)]
#[command(
    after_help = "Finds fio output, tables, lists of runs and claims with numbers, and computes them again. An\n\
                  error is a contradiction between numbers; a warning is a number that does not carry what\n\
                  is said; a remark is worth knowing.\n\n\
                  Examples:\n  kab audit reply.eml\n  kab audit t.mbox.gz --json\n  \
                  git format-patch -1 --stdout | kab audit -    a draft, before it is sent\n\n\
                  Exit codes: 0 no errors; 1 errors were found; 2 usage or file."
)]
pub(crate) struct Audit {
    /// The text; `-` is standard input. gzip is unpacked.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Findings for programs.
    #[arg(long)]
    json: bool,
}

/// The JSON form.
#[derive(Serialize)]
struct Told<'a> {
    /// Raised when a key changes its meaning.
    format: u32,
    file: &'a str,
    errors: usize,
    warnings: usize,
    remarks: usize,
    #[serde(flatten)]
    audit: &'a kab_audit::Audit,
}

pub(crate) fn audit(command: &Audit) -> Result<Exit, Failure> {
    let stdin = command.file == Path::new("-");
    let name = if stdin { "<stdin>".to_owned() } else { command.file.display().to_string() };
    let bytes = if stdin { from_stdin() } else { input::read_whole(&command.file, kab_audit::LARGEST) };
    let bytes = bytes.map_err(|error| Failure::new(Exit::Usage, format!("cannot read {name}: {error}")))?;
    let audit = kab_audit::audit(&bytes)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {name}: {error}")))?;
    let text = if command.json { json(&audit, &name)? } else { kab_audit::render(&audit, &name) };
    crate::print_out(&text)?;
    Ok(if audit.count(Grade::Error) > 0 { Exit::Found } else { Exit::Done })
}

fn from_stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(kab_audit::LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn json(audit: &kab_audit::Audit, file: &str) -> Result<String, Failure> {
    let [errors, warnings, remarks] =
        [Grade::Error, Grade::Warning, Grade::Remark].map(|grade| audit.count(grade));
    let told = Told { format: 1, file, errors, warnings, remarks, audit };
    let text = serde_json::to_string_pretty(&told)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot write JSON: {error}")))?;
    Ok(text + "\n")
}
