//! What a rule is, and the list of all of them.

use crate::{fio_rules, kernel_rules};

/// What a rule makes of a trial. Later ones outweigh earlier ones (see the crate's documentation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Counted and listed.
    Noted,
    /// The lab's fault.
    Void,
    /// The variant did not deliver.
    Failed,
}

/// A rule, for documentation and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// Stable name, as in `kab_model::Reason::rule`.
    pub name: &'static str,
    /// What it makes of a trial.
    pub class: Class,
    /// When it speaks, one fragment.
    pub about: &'static str,
}

/// Every rule, in the order in which reasons of one class are listed.
pub fn rules() -> impl Iterator<Item = RuleInfo> {
    fio_rules::RULES.iter().map(|rule| rule.info).chain(kernel_rules::RULES.iter().map(|rule| rule.info))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_stable_words_and_no_two_are_the_same() {
        let mut seen = BTreeSet::new();
        for rule in rules() {
            let plain = rule.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            assert!(plain && !rule.about.is_empty(), "{}", rule.name);
            assert!(seen.insert(rule.name), "{} twice", rule.name);
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn classes_rank_as_documented() {
        assert!(Class::Failed > Class::Void && Class::Void > Class::Noted);
    }
}
