//! Experiment and lab files from disk: read, checked, digested.

use crate::args::Files;
use crate::escape::print_err;
use crate::exit::{Exit, Failure};
use crate::places::Places;
use kab_model::yaml::{self, Context, Diagnostic, Diagnostics, Located, Source, Style};
use kab_model::{
    Arch, BoardSpec, Boot, Change, ConfigItem, Experiment, Kernel, KernelSpec, Lab, Posted, Prebuilt,
    SeriesSource, SeriesSpec, Variant,
};
use std::fs;
use std::io::{IsTerminal, Read};
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
    /// Series and configuration fragments, under the names that a run folder keeps them by.
    pub(crate) named_files: Vec<(String, Vec<u8>)>,
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
    let clashes = clashes(&experiment, &boards);
    if !clashes.0.is_empty() {
        show(&clashes);
        return Err(mistakes());
    }
    show(&lint(&experiment, &boards));
    let named_files = named_files(&experiment.value)?;
    let experiment_digest = experiment_digest(&experiment_bytes, &named_files);
    let lab_digest = blake3::hash(&lab_bytes).to_hex().to_string();
    let (experiment, lab) = (experiment.value, Lab { boards });
    Ok(Input { experiment, lab, experiment_bytes, lab_bytes, named_files, experiment_digest, lab_digest })
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

/// A table of posted figures; its problems are printed.
pub(crate) fn read_table(path: &Path) -> Result<(Located<Posted>, Vec<u8>), Failure> {
    let (source, bytes) = read(path)?;
    Ok((parsed(yaml::parse_table(&source))?, bytes))
}

/// Remarks on fio options that are legal and still spoil a measurement, one for each rule and place.
pub(crate) fn lint(experiment: &Located<Experiment>, boards: &[BoardSpec]) -> Diagnostics {
    let mut found: Vec<Diagnostic> = Vec::new();
    for cell in kab_plan::expand(&experiment.value) {
        let index = experiment.value.workloads.iter().position(|workload| workload.name == cell.workload);
        let index = index.unwrap_or_default().to_string();
        let options: Vec<(&str, &str)> =
            cell.fio.iter().map(|option| (option.name.as_str(), option.value.as_str())).collect();
        // A cell runs on every board: the smallest target decides.
        let size = boards.iter().filter_map(|board| target_size(board, &cell.target)).min();
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

/// What keeps a board from being, and command lines that a board and a variant cannot have together.
pub(crate) fn clashes(experiment: &Located<Experiment>, boards: &[BoardSpec]) -> Diagnostics {
    let mut found: Vec<Diagnostic> = Vec::new();
    for board in boards {
        let Boot::Qemu(qemu) = &board.boot;
        if let Err(error) = kab_drivers::check_limits(qemu) {
            found.push(experiment.error_at(&["boards"], format!("board {}: {error}", board.name)));
        }
        if board.arch != Arch::X86_64 {
            let arch = board.arch.kernel_name();
            let message =
                format!("board {} is {arch}: virtual boards are x86_64 in this version", board.name);
            found.push(experiment.error_at(&["boards"], message));
        }
    }
    for variant in &experiment.value.variants {
        for board in boards {
            found.extend(impossible(experiment, variant, board));
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

/// What a virtual board cannot do for a variant.
fn impossible(experiment: &Located<Experiment>, variant: &Variant, board: &BoardSpec) -> Option<Diagnostic> {
    let Boot::Qemu(_) = &board.boot;
    let changes_tree = |spec: &KernelSpec| {
        spec.overlay.is_some() || spec.changes.iter().any(|change| matches!(change, Change::DeviceTree(_)))
    };
    let (key, message) = match &variant.kernel {
        Kernel::Running => (
            "running",
            format!("board {} is a virtual machine, which runs nothing before kab boots it", board.name),
        ),
        Kernel::Built(spec) if changes_tree(spec) => {
            (if spec.overlay.is_some() { "dtbo" } else { "dts" }, tree_from_emulator(board))
        }
        Kernel::Prebuilt(Prebuilt { dtb: Some(_), .. }) => ("dtb", tree_from_emulator(board)),
        _ => return None,
    };
    let hint = match variant.kernel {
        Kernel::Running => "boards that are never rebooted are not supported in this version: name a kernel",
        _ => "name boards that take their device tree from the kernel",
    };
    Some(experiment.error_at(&["variants", variant.name.0.as_str(), key], message).with_hint(hint))
}

fn tree_from_emulator(board: &BoardSpec) -> String {
    format!("board {} has its device tree from the emulator: another one changes nothing there", board.name)
}

/// Prints diagnostics to standard error, with colours on a terminal only.
pub(crate) fn show(problems: &Diagnostics) {
    if !problems.0.is_empty() {
        let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let style = if coloured { Style::Coloured } else { Style::Plain };
        print_err(&format!("{}\n", problems.render(style)));
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
    let bytes = read_whole(path, MAX_YAML).map_err(|error| {
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

/// Largest YAML file, bytes; the parser's own limit is below it.
pub(crate) const MAX_YAML: u64 = 4 << 20;
/// Largest series or fragment, bytes: a series of a thousand patches is a few MiB.
const MAX_NAMED: u64 = 256 << 20;

/// A file's bytes, up to a limit. Named files must be files: a pipe or a device would never end.
pub(crate) fn read_whole(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(std::io::Error::other(format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(bytes)
}

/// A file that an experiment names.
pub(crate) fn read_named(path: &Path) -> std::io::Result<Vec<u8>> {
    read_whole(path, MAX_NAMED)
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

/// Every file that an experiment names, with its content, in a fixed order; each once. Of kernels that exist already, the
/// digests.
fn named_files(experiment: &Experiment) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for variant in &experiment.variants {
        for path in paths_of(variant) {
            let within = files_within(&path).map_err(|error| unreadable(&path, &error))?;
            paths.extend(within.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
        }
    }
    let read = |(number, path): (usize, &PathBuf)| {
        let bytes = read_named(path).map_err(|error| unreadable(path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("input-{number}-{name}"), bytes))
    };
    let mut named = paths.iter().enumerate().map(read).collect::<Result<Vec<_>, Failure>>()?;
    for path in prebuilt(experiment) {
        let pinned = kab_kernels::pin(path)
            .map_err(|error| Failure::new(Exit::Usage, crate::builder::chain(&error)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        named.push((
            format!("input-{}-{name}.blake3", named.len()),
            format!("{}\n", pinned.digest).into_bytes(),
        ));
    }
    Ok(named)
}

/// Files of kernels that exist already. A run keeps their digests; they may be large, and what was booted is in the cache.
fn prebuilt(experiment: &Experiment) -> Vec<&PathBuf> {
    let mut paths: Vec<&PathBuf> = Vec::new();
    for variant in &experiment.variants {
        let Kernel::Prebuilt(files) = &variant.kernel else { continue };
        let all = std::iter::once(&files.image).chain(&files.dtb).chain(&files.modules);
        paths.extend(all.filter(|path| !paths.contains(path)).collect::<Vec<_>>());
    }
    paths
}

fn paths_of(variant: &Variant) -> Vec<PathBuf> {
    let Kernel::Built(spec) = &variant.kernel else { return Vec::new() };
    let fragments = spec.config.iter().filter_map(|item| match item {
        ConfigItem::Fragment(path) => Some(path.clone()),
        _ => None,
    });
    let changes = spec.changes.iter().filter_map(|change| match change {
        Change::Series(SeriesSpec { source: SeriesSource::Path(path), .. }) | Change::DeviceTree(path) => {
            Some(path)
        }
        _ => None,
    });
    changes.chain(&spec.overlay).cloned().chain(fragments).collect()
}

/// A file, or all files of a folder in the order of their names.
fn files_within(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !metadata.is_dir() {
        return Err(std::io::Error::other("it is neither a file nor a folder"));
    }
    let mut entries =
        fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| entry.is_file());
    entries.sort();
    Ok(entries)
}

/// BLAKE3 over the experiment's bytes and every file that it names, each with its length.
fn experiment_digest(bytes: &[u8], named: &[(String, Vec<u8>)]) -> String {
    let mut hasher = blake3::Hasher::new();
    for content in std::iter::once(bytes).chain(named.iter().map(|(_, content)| content.as_slice())) {
        hasher.update(&(content.len() as u64).to_le_bytes()).update(content);
    }
    hasher.finalize().to_hex().to_string()
}

/// Digests of the experiment and of the lab as a run folder keeps them.
pub(crate) fn digests_of_kept(folder: &Path) -> std::io::Result<(String, String)> {
    let mut inputs: Vec<(usize, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("input-")?.split('-').next()?.parse().ok());
        inputs.extend(number.map(|number| (number, entry.path())));
    }
    inputs.sort();
    let named = inputs
        .into_iter()
        .map(|(_, path)| Ok((String::new(), fs::read(path)?)))
        .collect::<std::io::Result<Vec<_>>>()?;
    let experiment = experiment_digest(&fs::read(folder.join("experiment.yaml"))?, &named);
    let lab = blake3::hash(&fs::read(folder.join("lab.yaml"))?).to_hex().to_string();
    Ok((experiment, lab))
}
