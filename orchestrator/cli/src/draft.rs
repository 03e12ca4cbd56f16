//! `kab report --format mail`: the text report as a draft of a reply. kab never sends mail.

use crate::escape::print_err;
use crate::exit::{Exit, Failure};
use clap::Args;
use kab_mail::{Draft, Mail, Person};
use kab_report::Findings;
use kab_store::RunReader;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where regressions are reported, beside the list of the code in question.
const REGRESSIONS: &str = "regressions@lists.linux.dev";
/// More files than this are a range of releases, whose maintainers are everybody.
const FILES: usize = 50;

/// What a draft is made with.
#[derive(Args, Debug)]
pub(crate) struct MailOptions {
    /// The mail that is answered: a file (mbox, one mail), or the message-id of a mail in the run's own series. Of a series,
    /// the cover letter is answered, else its first patch.
    #[arg(long, value_name = "MBOX|MSGID", required_if_eq("format", "mail"))]
    reply_to: Option<String>,
    /// Quote the beginning of that mail.
    #[arg(long, requires = "reply_to")]
    quote: bool,
    /// Add `Tested-by:` for the boards on which what is under test booted and ran whole.
    #[arg(long, value_name = "NAME <MAIL>", requires = "reply_to", value_parser = person)]
    tested_by: Option<Person>,
    /// Add what the regression tracker reads, and its list and the maintainers of the changed files as recipients.
    #[arg(long, requires = "reply_to")]
    regression: bool,
    /// The kernel tree whose get_maintainer.pl is asked [default: the candidate's repository].
    #[arg(long, value_name = "DIR", requires = "regression")]
    tree: Option<PathBuf>,
}

/// `Name <mail>`, as trailers have it.
fn person(text: &str) -> Result<Person, String> {
    let inside = text.trim().strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    let (name, address) = inside.ok_or("write it as: Name <mail@host>")?;
    let (name, address) = (name.trim(), address.trim());
    let sound = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || "<>".contains(c));
    if sound(name) && sound(address) && address.contains('@') && !address.contains(' ') {
        Ok(Person { name: Some(name.to_owned()), address: address.to_owned() })
    } else {
        Err("write it as: Name <mail@host>".to_owned())
    }
}

/// The draft with `report` as its text.
pub(crate) fn draft(
    reader: &RunReader,
    findings: &Findings,
    report: &str,
    options: &MailOptions,
) -> Result<String, Failure> {
    let wanted = options.reply_to.as_deref().unwrap_or_default();
    let (mut draft, mail) = answer(reader, findings, wanted)?;
    draft.body = report.to_owned();
    if options.regression {
        regression(findings, options, reader, &mut draft)?;
    }
    if let Some(person) = &options.tested_by {
        draft.body.push_str(&trailers(findings, person));
    }
    match (&mail, options.quote) {
        (Some(mail), true) => draft.quote(mail),
        (None, true) => print_err("kab: nothing is quoted: only the id of the mail is known\n"),
        (_, false) => {}
    }
    Ok(draft.to_string())
}

/// The draft without its text, and the mail that it answers where that is known.
fn answer(reader: &RunReader, findings: &Findings, wanted: &str) -> Result<(Draft, Option<Mail>), Failure> {
    let path = Path::new(wanted);
    if path.is_file() {
        let mail =
            first(&read(path)?).ok_or_else(|| usage(format!("{wanted} holds no mail with a message-id")))?;
        return Ok((Draft::reply_to(&mail), Some(mail)));
    }
    let id = wanted.trim().trim_start_matches('<').trim_end_matches('>');
    if !id.contains('@') || id.contains('/') {
        return Err(usage(format!("{wanted} is neither a file nor a message-id")));
    }
    for input in inputs(reader.folder()) {
        let mails = read(&input).unwrap_or_default();
        if let Some(mail) = mails.into_iter().find(|mail| mail.message_id.as_deref() == Some(id)) {
            return Ok((Draft::reply_to(&mail), Some(mail)));
        }
    }
    print_err(&format!(
        "kab: {id} is not in this run's series: recipients are yours to add, or give the mail as a file (b4 mbox {id})\n"
    ));
    Ok((Draft::reply_to_id(id, findings.title.as_deref().unwrap_or(&findings.name)), None))
}

fn read(path: &Path) -> Result<Vec<Mail>, Failure> {
    let bytes =
        std::fs::read(path).map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(kab_mail::read(&bytes).map_err(|error| usage(format!("{}: {error}", path.display())))?.mails)
}

/// The cover letter or first patch of the newest series, else the first mail that has an id.
fn first(mails: &[Mail]) -> Option<Mail> {
    let series = kab_mail::series(mails);
    let newest = series.iter().max_by_key(|series| series.version);
    let head =
        newest.and_then(|series| series.cover.or_else(|| series.patches.first().map(|patch| patch.mail)));
    head.into_iter().chain(mails).find(|mail| mail.message_id.is_some()).cloned()
}

/// Files that the run keeps of what its experiment names, in their order.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_input = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("input-"))
    };
    let mut inputs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_input).collect();
    inputs.sort();
    inputs
}

/// One trailer a board; why others have none goes to standard error.
fn trailers(findings: &Findings, person: &Person) -> String {
    let tested = kab_report::tested(findings);
    for why in &tested.refused {
        print_err(&format!("kab: no Tested-by: {why}\n"));
    }
    let name = person.name.as_deref().unwrap_or_default();
    let trailer = |board: &String| format!("Tested-by: {name} <{}> # on {board}\n", person.address);
    let lines: String = tested.boards.iter().map(trailer).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The tracker's line above the report, and recipients.
fn regression(
    findings: &Findings,
    options: &MailOptions,
    reader: &RunReader,
    draft: &mut Draft,
) -> Result<(), Failure> {
    let Some(range) = kab_report::introduced(findings) else {
        return Err(usage(
            "no variant from a tree is worse than another, so there is no regression to report".to_owned(),
        ));
    };
    draft.body = format!("{}\n#regzbot introduced: {range}\n", draft.body);
    draft.copy(&Person { name: None, address: REGRESSIONS.to_owned() });
    for person in maintainers(options.tree.as_deref(), reader)? {
        draft.copy(&person);
    }
    Ok(())
}

/// Whom the tree names for the files that the candidate changes; nobody where it has no script for it.
fn maintainers(tree: Option<&Path>, reader: &RunReader) -> Result<Vec<Person>, Failure> {
    let run = reader.run().map_err(crate::exit::lab)?;
    let Some(plan) = &run.plan else { return Ok(Vec::new()) };
    let changed = plan.variants.iter().rfind(|variant| !variant.changed_files.is_empty());
    let Some(variant) = changed else { return Ok(Vec::new()) };
    let tree = tree.map_or_else(
        || PathBuf::from(variant.source().map(|source| source.repo.as_str()).unwrap_or_default()),
        Path::to_owned,
    );
    let script = tree.join("scripts/get_maintainer.pl");
    if variant.changed_files.len() > FILES || !script.is_file() {
        print_err(
            "kab: no maintainers added: the change has many files, or there is no tree with get_maintainer.pl (--tree DIR)\n",
        );
        return Ok(Vec::new());
    }
    let output = Command::new("perl")
        .arg("scripts/get_maintainer.pl")
        .args(["--no-git", "--no-git-fallback", "--no-rolestats", "--no-roles", "-f", "--"])
        .args(&variant.changed_files)
        .current_dir(&tree)
        .output()
        .map_err(|error| usage(format!("cannot run {}: {error}", script.display())))?;
    if !output.status.success() {
        return Err(usage(format!(
            "{} failed: {}",
            script.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )));
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(lines.lines().filter_map(addressed).collect())
}

/// `Name <mail>` or a bare address, perhaps with a role behind it.
fn addressed(line: &str) -> Option<Person> {
    if let Ok(person) = person(line.split('(').next().unwrap_or_default()) {
        let name = person.name.map(|name| name.trim_matches('"').to_owned());
        return Some(Person { name, ..person });
    }
    let address = line.split_whitespace().next().filter(|word| word.contains('@'))?;
    Some(Person { name: None, address: address.trim_matches(|c| "<>".contains(c)).to_owned() })
}

fn usage(message: String) -> Failure {
    Failure::new(Exit::Usage, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn people_are_named_as_trailers_name_them() {
        assert_eq!(person("Zo\u{eb} Lin <zoe@lab.example>").unwrap().address, "zoe@lab.example");
        for wrong in
            ["zoe@lab.example", "Zoe <zoe>", " <zoe@lab.example>", "Zoe <zoe@lab.example> x", "Z\nx <a@b>"]
        {
            assert!(person(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_of_get_maintainer_are_people() {
        let named = addressed("\"Doe, John\" <john@lab.example> (maintainer:UFS)").unwrap();
        assert_eq!((named.name.as_deref(), named.address.as_str()), (Some("Doe, John"), "john@lab.example"));
        assert_eq!(
            addressed("linux-scsi@lists.example (open list:UFS)").unwrap().address,
            "linux-scsi@lists.example"
        );
        assert_eq!(addressed(""), None);
    }
}
