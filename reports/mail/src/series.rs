//! Patch series among mails.

use crate::diff::{self, Damage};
use crate::mail::Mail;
use std::collections::{BTreeMap, BTreeSet};

/// One patch of a series.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// From 1, in the order to apply.
    pub number: u32,
    /// The mail that carries it.
    pub mail: &'a Mail,
}

impl<'a> Patch<'a> {
    /// The subject without its brackets.
    pub fn title(&self) -> &'a str {
        &self.mail.subject.title
    }
}

/// A series: patches in the order to apply.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// From the brackets; 1 where none is said.
    pub version: u32,
    /// How many patches there should be; nothing where the subjects do not say.
    pub total: Option<u32>,
    /// Mail 0 of the series.
    pub cover: Option<&'a Mail>,
    /// By number, each once.
    pub patches: Vec<Patch<'a>>,
    /// Mails that claim a number that another one has.
    pub duplicates: Vec<Patch<'a>>,
}

/// What keeps a series from being used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A number that no mail has.
    #[error("patch {number} of {total} is missing")]
    Missing {
        /// The number.
        number: u32,
        /// Of so many.
        total: u32,
    },
    /// Two different mails with one number.
    #[error("two different mails are patch {number}: \"{title}\" is the second")]
    Duplicate {
        /// The number.
        number: u32,
        /// Title of the second.
        title: String,
    },
    /// The patch is attached in place of being the mail's text.
    #[error("patch {number} (\"{title}\") has its diff in an attachment, {name}")]
    Attached {
        /// The number.
        number: u32,
        /// Its title.
        title: String,
        /// The attachment's name, else its type.
        name: String,
    },
    /// There is no diff at all.
    #[error("patch {number} (\"{title}\") has no diff")]
    NoDiff {
        /// The number.
        number: u32,
        /// Its title.
        title: String,
    },
    /// A diff that is cut off or was wrapped.
    #[error("patch {number} (\"{title}\") is damaged")]
    Damaged {
        /// The number.
        number: u32,
        /// Its title.
        title: String,
        /// What and where.
        source: Damage,
    },
    /// Mails of the series name different bases.
    #[error("the series names several base commits: {}", bases.join(", "))]
    Bases {
        /// Their hashes.
        bases: Vec<String>,
    },
}

/// All series among the mails, older versions first, else in the order in which they came; replies and other mail are left out.
///
/// A mail is a patch if its brackets say so, or if it is no reply and its text holds a diff. Patches without numbers are
/// one series, in the order of the mails. Two mails with one Message-ID are one.
pub fn series(mails: &[Mail]) -> Vec<Series<'_>> {
    let mut groups: BTreeMap<(u32, Option<u32>), Vec<&Mail>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for mail in mails.iter().filter(|mail| is_patch(mail)) {
        if mail.message_id.as_ref().is_none_or(|id| seen.insert(id)) {
            groups.entry((mail.subject.version, mail.subject.total)).or_default().push(mail);
        }
    }
    groups.into_values().flat_map(|mails| by_thread(&mails)).map(|mails| Series::of(&mails)).collect()
}

impl<'a> Series<'a> {
    fn of(mails: &[&'a Mail]) -> Self {
        let subject = &mails[0].subject;
        let mut series = Self {
            version: subject.version,
            total: subject.total,
            cover: None,
            patches: Vec::new(),
            duplicates: Vec::new(),
        };
        for mail in mails {
            let next = series.patches.len() as u32 + 1;
            let patch = Patch { number: mail.subject.number.unwrap_or(next), mail };
            if patch.number == 0 && series.cover.is_none() {
                series.cover = Some(mail);
            } else if patch.number == 0 || series.patches.iter().any(|other| other.number == patch.number) {
                series.duplicates.push(patch);
            } else {
                series.patches.push(patch);
            }
        }
        series.patches.sort_by_key(|patch| patch.number);
        series
    }

    /// Title of the cover letter, else of the first patch.
    pub fn title(&self) -> &'a str {
        self.head().map_or("", |mail| mail.subject.title.as_str())
    }

    /// Message-id of the cover letter, else of the first patch.
    pub fn message_id(&self) -> Option<&'a str> {
        self.head().and_then(|mail| mail.message_id.as_deref())
    }

    /// The commit that the series was made on, if a mail names it.
    pub fn base_commit(&self) -> Option<&'a str> {
        self.mails().find_map(Mail::base_commit)
    }

    /// Numbers that no mail has, ascending.
    pub fn missing(&self) -> Vec<u32> {
        // A total of millions is a mistake, not a list to print.
        const MOST: u32 = 10_000;
        let have: BTreeSet<u32> = self.patches.iter().map(|patch| patch.number).collect();
        (1..=self.total.unwrap_or(0).min(MOST)).filter(|number| !have.contains(number)).collect()
    }

    /// Everything that keeps the series from being applied as it is, in the order of the patches.
    pub fn problems(&self) -> Vec<Problem> {
        let total = self.total.unwrap_or(0);
        let mut problems: Vec<Problem> =
            self.missing().into_iter().map(|number| Problem::Missing { number, total }).collect();
        problems.extend(
            self.duplicates
                .iter()
                .map(|patch| Problem::Duplicate { number: patch.number, title: patch.title().to_owned() }),
        );
        problems.extend(self.patches.iter().filter_map(problem));
        let bases: BTreeSet<String> = self.mails().filter_map(Mail::base_commit).map(str::to_owned).collect();
        if bases.len() > 1 {
            problems.push(Problem::Bases { bases: bases.into_iter().collect() });
        }
        problems
    }

    fn head(&self) -> Option<&'a Mail> {
        self.mails().next()
    }

    fn mails(&self) -> impl Iterator<Item = &'a Mail> {
        self.cover.into_iter().chain(self.patches.iter().map(|patch| patch.mail))
    }
}

fn is_patch(mail: &Mail) -> bool {
    let subject = &mail.subject;
    !subject.reply
        && (subject.patch && (subject.number.is_some() || !mail.body.is_empty()) || mail.has_diff())
}

/// One number twice means that two series have the same version and size (a resend, say): their threads tell them apart.
fn by_thread<'a>(mails: &[&'a Mail]) -> Vec<Vec<&'a Mail>> {
    let numbers: Vec<u32> = mails.iter().filter_map(|mail| mail.subject.number).collect();
    if numbers.iter().collect::<BTreeSet<_>>().len() == numbers.len() {
        return vec![mails.to_vec()];
    }
    let mut groups: Vec<(&str, Vec<&Mail>)> = Vec::new();
    for mail in mails {
        let root = root(mail);
        match groups.iter_mut().find(|(other, _)| *other == root) {
            Some((_, group)) => group.push(mail),
            None => groups.push((root, vec![mail])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn root(mail: &Mail) -> &str {
    let own = mail.message_id.as_deref().unwrap_or_default();
    mail.references.first().map(String::as_str).or(mail.in_reply_to.as_deref()).unwrap_or(own)
}

fn problem(patch: &Patch<'_>) -> Option<Problem> {
    let (number, title) = (patch.number, patch.title().to_owned());
    if patch.mail.has_diff() {
        let source = diff::check(&patch.mail.body).err()?;
        return Some(Problem::Damaged { number, title, source });
    }
    match patch.mail.attachments.iter().find(|attachment| attachment.is_patch()) {
        Some(attachment) => {
            let name = attachment.name.clone().unwrap_or_else(|| attachment.content_type.clone());
            Some(Problem::Attached { number, title, name })
        }
        None => Some(Problem::NoDiff { number, title }),
    }
}
