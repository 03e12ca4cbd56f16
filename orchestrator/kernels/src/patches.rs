//! Which patches: read from a file or folder, put in order, chosen by number.

use crate::series::{Series, SeriesError};
use kab_mail::{Kind, Mail, Problem};
use kab_model::{SeriesInfo, SeriesSpec};
use std::path::{Path, PathBuf};

/// Endings of the files of a folder that are taken for patches.
const ENDINGS: [&str; 5] = ["patch", "diff", "mbox", "eml", "gz"];

/// Patches ready to be applied, and what is known about them.
#[derive(Debug)]
pub(crate) struct Patches {
    pub(crate) series: Series,
    /// `subjects` is filled in from what git has applied.
    pub(crate) info: SeriesInfo,
    /// The commit that the series says it was made on.
    pub(crate) made_on: Option<String>,
    /// What a user should know.
    pub(crate) warnings: Vec<String>,
}

/// A mail and the file that it came from.
type Found = (String, Mail);

impl Patches {
    /// Reads an mbox, a maildir, a folder of patches or one patch.
    pub(crate) fn read(path: &Path, spec: &SeriesSpec) -> Result<Self, SeriesError> {
        let name = name_of(path);
        let mut found = Vec::new();
        for path in files_of(path)? {
            let fail = |source| SeriesError::File { path: path.clone(), source };
            let bytes = std::fs::read(&path).map_err(fail)?;
            found.extend(mails_of(&name_of(&path), &bytes)?);
        }
        Self::choose(name, found, spec)
    }

    /// Reads what an archive served.
    pub(crate) fn fetched(name: &str, bytes: &[u8], spec: &SeriesSpec) -> Result<Self, SeriesError> {
        Self::choose(name.to_owned(), mails_of(name, bytes)?, spec)
    }

    /// The newest series among the mails, as far as it is asked for.
    fn choose(name: String, found: Vec<Found>, spec: &SeriesSpec) -> Result<Self, SeriesError> {
        let (files, mails): (Vec<String>, Vec<Mail>) = found.into_iter().unzip();
        let file_of = |mail: &Mail| {
            mails
                .iter()
                .position(|other| std::ptr::eq(other, mail))
                .map_or_else(String::new, |at| files[at].clone())
        };
        let all = kab_mail::series(&mails);
        let Some(newest) = all.last() else { return Err(SeriesError::NoPatch { series: name }) };
        let mut warnings = Vec::new();
        if all[0].version < newest.version {
            warnings.push(format!("{name} holds several versions of a series; v{} is used", newest.version));
        }
        let same: Vec<_> = all.iter().filter(|series| series.version == newest.version).collect();
        // Single patches in one folder belong together, whatever their subjects say of other series.
        if same.len() > 1 && same.iter().any(|series| series.total.is_some_and(|total| total > 1)) {
            return Err(SeriesError::Several {
                series: name,
                titles: same.iter().map(|one| one.title().to_owned()).collect(),
            });
        }
        // Who names one mail means that one, whatever series it is from.
        let alone = mails.len() == 1;
        if let (true, Some(total @ 2..)) = (alone, newest.total) {
            warnings.push(format!("{name} is one patch of a series of {total}, applied without the others"));
        }
        let matters = |problem: &&Problem| !(alone && matches!(problem, Problem::Missing { .. }));
        let problems = newest.problems();
        let problems: Vec<String> = problems.iter().filter(matters).map(with_source).collect();
        if !problems.is_empty() {
            return Err(SeriesError::Unusable { series: name, problems });
        }
        let whole: Vec<&Mail> = if same.len() > 1 {
            mails.iter().filter(|mail| mail.has_diff()).collect()
        } else {
            newest.patches.iter().map(|patch| patch.mail).collect()
        };
        require_strip_level(&name, &whole)?;
        let chosen = select(&name, &whole, spec)?;
        let total = u32::try_from(whole.len()).unwrap_or(u32::MAX);
        let info = SeriesInfo {
            source: name.clone(),
            title: Some(newest.title().to_owned()).filter(|title| !title.is_empty()),
            version: (newest.version > 1 || newest.total.is_some()).then_some(newest.version),
            message_id: newest.message_id().map(str::to_owned),
            subjects: Vec::new(),
            of: (chosen.len() < whole.len()).then_some(total),
        };
        let patches = chosen.iter().map(|mail| (file_of(mail), mail.for_git_am().to_vec())).collect();
        let made_on = newest.base_commit().map(str::to_owned);
        Ok(Self { series: Series::new(name, patches), info, made_on, warnings })
    }
}

/// The files that hold mails: the path itself, the patches of a folder by their names, or a maildir's mails.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, SeriesError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let fail = |source| SeriesError::File { path: path.to_owned(), source };
    let is_maildir = path.join("cur").is_dir() && path.join("new").is_dir();
    let files = if is_maildir {
        let mut files = list(&path.join("cur"), |_| true).map_err(fail)?;
        files.extend(list(&path.join("new"), |_| true).map_err(fail)?);
        files
    } else {
        list(path, |ending| ENDINGS.contains(&ending)).map_err(fail)?
    };
    if files.is_empty() {
        return Err(SeriesError::EmptyFolder { path: path.to_owned() });
    }
    Ok(files)
}

fn list(folder: &Path, wanted: impl Fn(&str) -> bool) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_file() && !hidden && wanted(ending) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn mails_of(name: &str, bytes: &[u8]) -> Result<Vec<Found>, SeriesError> {
    let read = |bytes: &[u8]| {
        kab_mail::read(bytes).map_err(|source| SeriesError::Unreadable { file: name.to_owned(), source })
    };
    let posted = read(bytes)?;
    let mails = match posted.kind {
        Kind::Empty => return Err(SeriesError::Empty { file: name.to_owned() }),
        Kind::Html => return Err(SeriesError::WebPage { file: name.to_owned() }),
        Kind::Diff => read(&as_mail(name, posted.mails[0].for_git_am()))?.mails,
        Kind::Mbox | Kind::Mail | Kind::Text => posted.mails,
    };
    Ok(mails.into_iter().map(|mail| (name.to_owned(), mail)).collect())
}

/// A bare diff becomes a mail whose subject is the file's name.
fn as_mail(name: &str, diff: &[u8]) -> Vec<u8> {
    let head = format!(
        "From: kab <kab@localhost>\nDate: Tue, 14 Nov 2023 22:13:20 +0000\nSubject: [PATCH] {name}\n\n---\n"
    );
    [head.as_bytes(), diff].concat()
}

/// Paths in a patch begin with `a/` and `b/`; without them git would cut off the first folder.
fn require_strip_level(series: &str, patches: &[&Mail]) -> Result<(), SeriesError> {
    for mail in patches {
        let mut lines = mail.body.iter().map(|line| line.text.as_str());
        let Some(old) = lines.find_map(|line| line.strip_prefix("--- ")) else { continue };
        let path = old.split('\t').next().unwrap_or(old).trim_matches('"');
        let usual =
            path == "/dev/null" || path.starts_with("a/") || path.starts_with("i/") || path.starts_with("o/");
        // Other tools write `linux-6.16.orig/drivers/…`: one folder to cut off, which is what git does.
        let other_root =
            path.split('/').next().is_some_and(|root| root.contains("linux") || root.contains(".orig"));
        if !usual && !other_root {
            return Err(SeriesError::StripLevel {
                series: series.to_owned(),
                title: mail.subject.title.clone(),
                path: path.to_owned(),
            });
        }
    }
    Ok(())
}

fn select<'a>(series: &str, whole: &[&'a Mail], spec: &SeriesSpec) -> Result<Vec<&'a Mail>, SeriesError> {
    let count = u32::try_from(whole.len()).unwrap_or(u32::MAX);
    let too_many = |number: &u32| *number == 0 || *number > count;
    if let Some(number) = spec.upto.iter().chain(&spec.pick).find(|number| too_many(number)) {
        return Err(SeriesError::NoSuchPatch { series: series.to_owned(), number: *number, count });
    }
    let wanted = |number: u32| {
        spec.upto.is_none_or(|upto| number <= upto) && (spec.pick.is_empty() || spec.pick.contains(&number))
    };
    Ok(whole.iter().zip(1..).filter(|(_, number)| wanted(*number)).map(|(mail, _)| *mail).collect())
}

fn with_source(problem: &Problem) -> String {
    match std::error::Error::source(problem) {
        Some(source) => format!("{problem}: {source}"),
        None => problem.to_string(),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The endings that [`files_of`] takes, for its error.
pub(crate) fn endings() -> String {
    ENDINGS.map(|ending| format!(".{ending}")).join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_read_in_order_and_other_files_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["0010-b.patch", "0002-a.patch", ".hidden.patch", "notes.txt"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let names: Vec<String> = files_of(folder.path()).unwrap().iter().map(|path| name_of(path)).collect();
        assert_eq!(names, ["0002-a.patch", "0010-b.patch"]);
    }

    #[test]
    fn a_maildir_is_read_whatever_its_files_are_called() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["cur", "new", "tmp"] {
            std::fs::create_dir(folder.path().join(place)).unwrap();
            std::fs::write(folder.path().join(place).join("1700.m:2,S"), place).unwrap();
        }
        assert_eq!(files_of(folder.path()).unwrap().len(), 2);
    }
}
