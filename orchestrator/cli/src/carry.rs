//! Runs as files: out of the store, into it, and gone from it.

use crate::exit::{Exit, Failure, lab, usage};
use crate::input;
use kab_model::Posted;
use kab_store::{POSTED, RunReader, Store};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// Fewer digits than this could be a slip of the finger.
const DIGITS: usize = 4;

/// `kab runs export`.
pub(crate) fn export(reader: &RunReader, path: &Path) -> Result<Exit, Failure> {
    let unable = |error: std::io::Error| {
        Failure::new(Exit::Usage, format!("cannot write {}: {error}", path.display()))
    };
    let file = File::options().write(true).create_new(true).open(path).map_err(unable)?;
    let done =
        reader.export(BufWriter::new(&file)).map_err(lab).and_then(|()| file.sync_all().map_err(unable));
    if let Err(failure) = done {
        // Half an archive is of no use to anyone.
        let _ = std::fs::remove_file(path);
        return Err(failure);
    }
    let (id, digest) = (&reader.header().id, reader.data_digest().map_err(lab)?);
    crate::print_out(&format!("run {id} in {}, data blake3:{digest}\n", path.display()))?;
    Ok(Exit::Done)
}

/// `kab runs import`.
pub(crate) fn import(store: &Store, path: &Path) -> Result<Exit, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display())))?;
    let reader = store.import(BufReader::new(file)).map_err(usage)?;
    let (id, digest) = (&reader.header().id, reader.data_digest().map_err(lab)?);
    crate::print_out(&format!(
        "run {id} of {}, data blake3:{digest}\nits report: kab report {id}\n",
        reader.header().name
    ))?;
    Ok(Exit::Done)
}

/// `kab runs import --table`.
pub(crate) fn import_table(store: &Store, path: &Path) -> Result<Exit, Failure> {
    let (table, bytes) = input::read_table(path)?;
    let reader = store.create_posted(table.value, env!("CARGO_PKG_VERSION"), &bytes).map_err(lab)?;
    let (id, digest) = (&reader.header().id, reader.data_digest().map_err(lab)?);
    let name = &reader.header().name;
    crate::print_out(&format!(
        "run {id} of {name}, data blake3:{digest}\nits report: kab report {id} --full\n"
    ))?;
    Ok(Exit::Done)
}

/// `kab runs verify` of posted figures: they are read again from the file that they came in.
pub(crate) fn verify_table(reader: &RunReader, stored: &Posted) -> Result<Exit, Failure> {
    let path = reader.folder().join(POSTED);
    let (table, _) = input::read_table(&path)?;
    let (word, exit) = match table.value == *stored {
        true => ("all as stored", Exit::Done),
        false => ("NOT as stored", Exit::Found),
    };
    crate::print_out(&format!(
        "run {}: posted figures read again from {POSTED}: {word}\n",
        reader.header().id
    ))?;
    Ok(exit)
}

/// `kab runs rm`. All names are looked up before anything is removed.
pub(crate) fn remove(store: &Store, wanted: &[String]) -> Result<Exit, Failure> {
    let find = |wanted: &String| {
        if wanted.len() < DIGITS || wanted == "last" {
            let text = format!("give at least {DIGITS} digits of the run to remove, not {wanted:?}");
            return Err(Failure::new(Exit::Usage, text));
        }
        store.find(wanted).map_err(usage)
    };
    let runs: Vec<RunReader> = wanted.iter().map(find).collect::<Result<_, _>>()?;
    for reader in &runs {
        store.remove(reader).map_err(usage)?;
        crate::print_out(&format!("run {} of {} removed\n", reader.header().id, reader.header().name))?;
    }
    Ok(Exit::Done)
}
