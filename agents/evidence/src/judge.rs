//! From raw bytes to outcome and sample.

use crate::fio_facts::FioFacts;
use crate::kernel_log::KernelLog;
use crate::raw::RawTrial;
use crate::rule::Class;
use crate::{fio_rules, kernel_rules, sample};
use kab_model::{Outcome, Reason, Sample};

/// What a trial is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// How it ended.
    pub outcome: Outcome,
    /// Its numbers; there exactly when the outcome counts.
    pub sample: Option<Sample>,
}

/// Judges a trial. Deterministic: depends on nothing but the arguments.
pub fn derive(raw: &RawTrial<'_>) -> Judgement {
    let kernel = kernel_rules::judge(&KernelLog::parse(raw.kernel_log));
    let facts = FioFacts::gather(raw, !kernel.is_empty());
    let mut findings = fio_rules::judge(&facts);
    findings.extend(kernel);
    let outcome = decide(findings);
    let sample = facts.totals.as_ref().filter(|_| outcome.counts()).map(|totals| sample::of(raw, totals));
    Judgement { outcome, sample }
}

/// The gravest class decides; its reasons come first, then the rest, each in the order of the rules.
fn decide(mut findings: Vec<(Class, Reason)>) -> Outcome {
    findings.sort_by_key(|(class, _)| std::cmp::Reverse(*class));
    let Some(gravest) = findings.first().map(|(class, _)| *class) else {
        return Outcome::Ok;
    };
    let reasons = findings.into_iter().map(|(_, reason)| reason).collect();
    match gravest {
        Class::Noted => Outcome::Noted { reasons },
        Class::Void => Outcome::Void { reasons },
        Class::Failed => Outcome::Failed { reasons },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_class_decides_and_all_reasons_stay() {
        let reason = |rule: &str| Reason { rule: rule.into(), detail: String::new() };
        let findings = vec![
            (Class::Noted, reason("a")),
            (Class::Void, reason("b")),
            (Class::Failed, reason("c")),
            (Class::Void, reason("d")),
        ];
        let outcome = decide(findings.clone());
        assert_eq!(outcome.word(), "failed");
        assert_eq!(outcome.reasons().iter().map(|r| r.rule.as_str()).collect::<String>(), "cbda");
        assert_eq!(decide(findings[..2].to_vec()).word(), "void");
        assert_eq!(decide(findings[..1].to_vec()).word(), "noted");
        assert_eq!(decide(vec![]), Outcome::Ok);
    }
}
