//! Experiment and lab files from disk: read, checked, digested.

use crate::args::Files;
use crate::exit::{Exit, Failure};
use crate::places::Places;
use kab_model::yaml::{self, Context, Diagnostic, Diagnostics, Located, Source, Style};
use kab_model::{BoardSpec, Boot, ConfigItem, Experiment, Lab, Variant};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Both files, checked alone and against each other.
pub(crate) struct Input {
    /// What the experiment means.
    pub(crate) experiment: Experiment,
    /// The lab with the boards that the experiment asks for, in its order.
    pub(crate) lab: Lab,
    /// The experiment file as it is.
    pub(crate) experiment_bytes: Vec<u8>,
    /// The lab file as it is.
    pub(crate) lab_bytes: Vec<u8>,
    /// BLAKE3 over the experiment file and every file that it names.
    pub(crate) experiment_digest: String,
    /// BLAKE3 of the lab file.
    pub(crate) lab_digest: String,
}

/// Reads both files. Problems are printed to standard error, all of them; warnings too.
pub(crate) fn load(files: &Files, places: &Places) -> Result<Input, Failure> {
    let lab_path = lab_path(files)?;
    let experiment = read_experiment(&files.experiment, places);
    let lab = read_lab(&lab_path);
    let (Ok((experiment, experiment_bytes)), Ok((lab, lab_bytes))) = (experiment, lab) else {
        return Err(mistakes());
    };
    let boards: Vec<BoardSpec> = match yaml::check_pair(&experiment, &lab.value) {
        Ok(boards) => boards.into_iter().cloned().collect(),
        Err(problems) => {
            show(&problems);
            return Err(mistakes());
        }
    };
    let clashes = cmdlines(&experiment, &boards);
    if !clashes.0.is_empty() {
        show(&clashes);
        return Err(mistakes());
    }
    show(&lint(&experiment, &boards));
    let experiment_digest = experiment_digest(&experiment.value, &experiment_bytes)?;
    let lab_digest = blake3::hash(&lab_bytes).to_hex().to_string();
    let (experiment, lab) = (experiment.value, Lab { boards });
    Ok(Input { experiment, lab, experiment_bytes, lab_bytes, experiment_digest, lab_digest })
}

/// An experiment alone; its problems are printed.
pub(crate) fn read_experiment(
    path: &Path,
    places: &Places,
) -> Result<(Located<Experiment>, Vec<u8>), Failure> {
    let (source, bytes) = read(path)?;
    let absolute = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    let context = Context {
        folder: absolute.parent().unwrap_or(Path::new("/")),
        home: Some(&places.home),
        exists: &|path| path.exists(),
        reserved: &kab_fio::reserved,
    };
    let located = parsed(yaml::parse_experiment(&source, &context))?;
    Ok((located, bytes))
}

/// A lab alone; its problems are printed.
pub(crate) fn read_lab(path: &Path) -> Result<(Located<Lab>, Vec<u8>), Failure> {
    let (source, bytes) = read(path)?;
    Ok((parsed(yaml::parse_lab(&source))?, bytes))
}

/// Remarks on fio options that are legal and still spoil a measurement, one for each rule and place.
pub(crate) fn lint(experiment: &Located<Experiment>, boards: &[BoardSpec]) -> Diagnostics {
    let mut found: Vec<Diagnostic> = Vec::new();
    for cell in kab_plan::expand(&experiment.value) {
        let index = experiment.value.workloads.iter().position(|workload| workload.name == cell.workload);
        let index = index.unwrap_or_default().to_string();
        let options: Vec<(&str, &str)> =
            cell.fio.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect();
        let size = boards.iter().find_map(|board| target_size(board, &cell.target));
        for warning in kab_fio::lint(&options, size) {
            let mut place = vec!["workloads", index.as_str()];
            if let Some(option) = &warning.option {
                let on_axis = cell.axes.iter().any(|axis| &axis.name == option);
                place.push(if on_axis { "matrix" } else { "fio" });
                place.push(option);
            }
            let diagnostic = experiment.warning_at(&place, warning.message.clone());
            if !found.iter().any(|other| other.message == diagnostic.message && other.line == diagnostic.line)
            {
                found.push(diagnostic);
            }
        }
    }
    Diagnostics(found)
}

/// Command lines that a board and a variant cannot have together.
pub(crate) fn cmdlines(experiment: &Located<Experiment>, boards: &[BoardSpec]) -> Diagnostics {
    let mut found: Vec<Diagnostic> = Vec::new();
    for variant in &experiment.value.variants {
        for board in boards {
            let Boot::Qemu(qemu) = &board.boot;
            let checked = kab_drivers::check_cmdline(qemu.cmdline.as_deref(), variant.cmdline.as_deref());
            if let Err(error) = checked {
                let place = ["variants", variant.name.0.as_str(), "cmdline"];
                found.push(experiment.error_at(&place, format!("on board {}: {error}", board.name)));
            }
        }
    }
    Diagnostics(found)
}

/// Prints diagnostics to standard error, with colours on a terminal only.
pub(crate) fn show(problems: &Diagnostics) {
    if !problems.0.is_empty() {
        let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let style = if coloured { Style::Coloured } else { Style::Plain };
        anstream::eprint!("{}\n", problems.render(style));
    }
}

/// The failure after diagnostics were printed.
pub(crate) fn mistakes() -> Failure {
    Failure::new(Exit::Usage, "")
}

fn target_size(board: &BoardSpec, target: &kab_model::TargetName) -> Option<u64> {
    let Boot::Qemu(qemu) = &board.boot;
    qemu.disks.iter().find(|disk| &disk.name == target).map(|disk| disk.size)
}

fn lab_path(files: &Files) -> Result<PathBuf, Failure> {
    if let Some(lab) = &files.lab {
        return Ok(lab.clone());
    }
    let beside = files.experiment.with_file_name("lab.yaml");
    if beside.exists() {
        return Ok(beside);
    }
    let message = format!(
        "no lab file: {} does not exist; name one with --lab FILE (it describes the boards)",
        beside.display()
    );
    Err(Failure::new(Exit::Usage, message))
}

fn read(path: &Path) -> Result<(Source, Vec<u8>), Failure> {
    let bytes = fs::read(path).map_err(|error| {
        let failure = unreadable(path, &error);
        failure.print();
        mistakes()
    })?;
    match Source::from_bytes(path.display().to_string(), &bytes) {
        Ok(source) => Ok((source, bytes)),
        Err(problem) => {
            show(&Diagnostics(vec![*problem]));
            Err(mistakes())
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display()))
}

fn parsed<T>(result: Result<Located<T>, Diagnostics>) -> Result<Located<T>, Failure> {
    match result {
        Ok(located) => {
            show(&located.warnings);
            Ok(located)
        }
        Err(problems) => {
            show(&problems);
            Err(mistakes())
        }
    }
}

/// BLAKE3 over the file and the content of every file that it names, in a fixed order.
fn experiment_digest(experiment: &Experiment, bytes: &[u8]) -> Result<String, Failure> {
    let mut hasher = blake3::Hasher::new();
    feed(&mut hasher, bytes);
    for variant in &experiment.variants {
        for path in named_files(variant) {
            feed_path(&mut hasher, &path).map_err(|error| unreadable(&path, &error))?;
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn named_files(variant: &Variant) -> Vec<PathBuf> {
    let fragments = variant.kernel.config.iter().filter_map(|item| match item {
        ConfigItem::Fragment(path) => Some(path.clone()),
        _ => None,
    });
    variant.kernel.series.iter().cloned().chain(fragments).collect()
}

fn feed(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

/// A file's bytes, or those of all files of a folder in the order of their names.
fn feed_path(hasher: &mut blake3::Hasher, path: &Path) -> std::io::Result<()> {
    if !path.is_dir() {
        feed(hasher, &fs::read(path)?);
        return Ok(());
    }
    let mut entries =
        fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    for entry in entries.iter().filter(|entry| entry.is_file()) {
        feed(hasher, entry.file_name().unwrap_or_default().as_encoded_bytes());
        feed(hasher, &fs::read(entry)?);
    }
    Ok(())
}
