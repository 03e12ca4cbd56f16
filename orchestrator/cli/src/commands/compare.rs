//! `kab compare`: fio results that somebody has, without a lab.

use crate::exit::{Exit, Failure};
use crate::progress::Lines;
use clap::{Args, ValueEnum};
use kab_compare::{Comparison, Gathering, Metric, Reading};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Compare fio results that you have: files, folders, mails
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab compare base='old/*.json' patched='new/*.json' --boot-from file\n  \
                        kab compare base=old patched=new --boot-from directory --metric bw\n  \
                        kab compare base=old patched=new --boot-from 'boot([0-9]+)' --percentile 99.9\n  \
                        kab compare mail.txt          (results in one mail, named by the line above each)\n  \
                        kab compare base=old patched=new --boot-from file --fail-on worse --json\n\n\
                        Any output of fio 2.0 to 3.42 is read: JSON, JSON+, text, terse; also quoted and wrapped in mails.\n\
                        Without --boot-from there is no verdict: results of one boot say nothing about the next boot."
)]
pub(crate) struct CompareCommand {
    /// NAME=FILE, then more files of the same; a file may be a glob, a folder or `-`. The first name is the baseline.
    #[arg(value_name = "NAME=FILES", required = true)]
    inputs: Vec<String>,
    /// Which results belong to one boot: those in one `directory`, those in one `file`, or those whose path has the same text
    /// in the group of this regular expression.
    #[arg(long, value_name = "directory|file|PATTERN")]
    boot_from: Option<String>,
    /// What to compare.
    #[arg(long, value_enum, default_value = "iops")]
    metric: What,
    /// Compare this percentile of completion latency, such as 99 or 99.9.
    #[arg(long, value_name = "PERCENT", conflicts_with = "metric")]
    percentile: Option<f64>,
    /// The change within which two variants are the same, percent [default: 2; clat 3, percentiles 5].
    #[arg(long, value_name = "PERCENT")]
    margin: Option<f64>,
    /// Who reads it.
    #[arg(long, value_enum, default_value = "text")]
    format: Layout,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Exit with 1 where a variant is worse than the first.
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,
}

/// Metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Bw,
    /// Mean completion latency.
    Clat,
}

/// Formats of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Layout {
    /// For the mailing list.
    Text,
    /// For GitHub and GitLab.
    Markdown,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
    /// For a browser.
    Html,
}

/// What makes kab exit with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A verdict `worse`.
    Worse,
}

pub(crate) fn compare(command: &CompareCommand) -> Result<Exit, Failure> {
    let boots = Boots::of(command.boot_from.as_deref())?;
    let percent = command.percentile.unwrap_or(99.0);
    let metric = match (command.percentile, command.metric) {
        (Some(percent), _) if percent > 0.0 && percent < 100.0 => Metric::Percentile(percent),
        (Some(percent), _) => return Err(wrong(format!("--percentile {percent} is not between 0 and 100"))),
        (None, What::Iops) => Metric::Iops,
        (None, What::Bw) => Metric::Bw,
        (None, What::Clat) => Metric::ClatMean,
    };
    let margin = match command.margin {
        Some(percent) if percent > 0.0 && percent < 100.0 => percent / 100.0,
        Some(percent) => return Err(wrong(format!("--margin {percent} is not between 0 and 100"))),
        None => metric.default_margin(),
    };
    let gathering = gather(&sources(&command.inputs, &boots)?, &boots, percent)?;
    let comparison = Comparison::of(&gathering, metric, margin);
    if comparison.cells.is_empty() {
        let why = comparison.remarks.first().map_or(String::new(), |r| format!(": {}: {}", r.input, r.text));
        return Err(wrong(format!("no result of fio that counts was found{why}")));
    }
    if command.fail_on.is_some() && !comparison.can_judge() {
        let why = comparison.hint.unwrap_or_default();
        return Err(wrong(format!("--fail-on needs verdicts, and there are none: {why}")));
    }
    let format = if command.json { Layout::Json } else { command.format };
    crate::print_out(&match format {
        Layout::Text => kab_compare::text(&comparison),
        Layout::Markdown => kab_compare::markdown(&comparison),
        Layout::Json => kab_compare::json(&comparison),
        Layout::Csv => kab_compare::csv(&comparison),
        Layout::Html => kab_compare::html(&comparison),
    })?;
    let found = command.fail_on.is_some() && comparison.any_worse();
    Ok(if found { Exit::Found } else { Exit::Done })
}

fn wrong(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
}

/// Which results belong to one boot.
enum Boots {
    /// Nobody said: all of a variant.
    One,
    Directory,
    File,
    Pattern(regex::Regex),
}

impl Boots {
    fn of(option: Option<&str>) -> Result<Self, Failure> {
        match option {
            None => Ok(Self::One),
            Some("directory") => Ok(Self::Directory),
            Some("file") => Ok(Self::File),
            Some(pattern) => {
                let regex =
                    regex::Regex::new(pattern).map_err(|error| wrong(format!("--boot-from: {error}")))?;
                if regex.captures_len() < 2 {
                    let remedy = format!("such as '{pattern}([0-9]+)', or `directory` or `file`");
                    return Err(wrong(format!(
                        "--boot-from {pattern} has no group in brackets: write one, {remedy}"
                    )));
                }
                Ok(Self::Pattern(regex))
            }
        }
    }

    /// The boot that a file belongs to.
    fn key(&self, path: &Path) -> Result<String, Failure> {
        let text = path.display().to_string();
        Ok(match self {
            Self::One => String::new(),
            Self::Directory => path.parent().map_or(String::new(), |parent| parent.display().to_string()),
            Self::File => text,
            Self::Pattern(regex) => {
                let group = regex.captures(&text).and_then(|found| found.get(1));
                let Some(group) = group else {
                    return Err(wrong(format!("{text}: --boot-from {regex} does not match this path")));
                };
                group.as_str().to_owned()
            }
        })
    }
}

/// A file and what is known of it.
struct FileOf {
    /// Name of the variant; absent where the text above each result names it.
    variant: Option<String>,
    /// The boot that all of it belongs to.
    boot: String,
    path: PathBuf,
}

fn sources(inputs: &[String], boots: &Boots) -> Result<Vec<FileOf>, Failure> {
    let mut sources = Vec::new();
    let mut variant: Option<String> = None;
    let mut seen = HashSet::new();
    for input in inputs {
        let named = input.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(['/', '*']));
        let files = match named {
            Some((name, files)) => {
                variant = Some(name.to_owned());
                files
            }
            None => input,
        };
        for path in expand(files)? {
            // By whatever path a file is reached (a link, two globs), it is one measurement.
            let same = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if !seen.insert((variant.clone(), same)) {
                continue;
            }
            // Files without a variant are mails: each of their results stands for itself.
            let boot = if variant.is_some() { boots.key(&path)? } else { String::new() };
            sources.push(FileOf { variant: variant.clone(), boot, path });
        }
    }
    let piped = sources.iter().filter(|source| source.path == Path::new("-")).count();
    if piped > 1 {
        return Err(wrong("standard input (`-`) can be read once".to_owned()));
    }
    Ok(sources)
}

/// Before anything is said of the progress.
const QUIET: Duration = Duration::from_secs(1);

/// Reads all files, as many at once as there are CPUs, and keeps a few numbers of each.
fn gather(sources: &[FileOf], boots: &Boots, percent: f64) -> Result<Gathering, Failure> {
    let (lines, begun, done) = (Lines::new(), Instant::now(), AtomicUsize::new(0));
    let readings = sources
        .par_iter()
        .map(|source| {
            let bytes = read(&source.path)?;
            let reading = Reading::of(&source.path.display().to_string(), &bytes, percent);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if begun.elapsed() > QUIET {
                lines.show(&format!("{done} of {} files read", sources.len()));
            }
            Ok(reading)
        })
        .collect::<Result<Vec<Reading>, Failure>>()?;
    drop(lines);
    let mut gathering = Gathering::new(!matches!(boots, Boots::One));
    for (source, reading) in sources.iter().zip(readings) {
        match &source.variant {
            Some(name) => {
                let variant = gathering.variant(name);
                gathering.add(variant, &source.boot, reading);
            }
            None => gathering.add_by_heading(reading),
        }
    }
    Ok(gathering)
}

/// The files that an argument means: itself, all below a folder, or all that a glob matches.
fn expand(argument: &str) -> Result<Vec<PathBuf>, Failure> {
    let path = PathBuf::from(argument);
    if argument == "-" || path.is_file() {
        return Ok(vec![path]);
    }
    let pattern =
        if path.is_dir() { format!("{}/**/*", glob::Pattern::escape(argument)) } else { argument.to_owned() };
    let found = glob::glob(&pattern).map_err(|error| wrong(format!("{argument}: {error}")))?;
    let mut files: Vec<PathBuf> = found.filter_map(Result::ok).filter(|path| path.is_file()).collect();
    files.sort();
    if files.is_empty() {
        return Err(wrong(format!("{argument}: no such file, and no file matches")));
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let result = if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    result.map_err(|error| wrong(format!("cannot read {}: {error}", path.display())))?;
    Ok(bytes)
}
