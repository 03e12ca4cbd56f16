//! Mails in the shapes that are posted, with the findings that they must have; and kab's own reports, which must have none.
#![allow(clippy::unwrap_used)]

use kab_audit::{Audit, Grade, Rule, audit, render};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

fn of(name: &str) -> Audit {
    audit(&std::fs::read(folder("tests/mails").join(name)).unwrap()).unwrap()
}

fn rules(audit: &Audit, grade: Grade) -> Vec<Rule> {
    audit.findings.iter().filter(|finding| finding.grade == grade).map(|finding| finding.rule).collect()
}

#[test]
fn every_mail_has_its_findings() {
    for path in files(&folder("tests/mails"), "eml") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let audit = audit(&std::fs::read(&path).unwrap()).unwrap();
        insta::assert_snapshot!(name.to_owned(), render(&audit, "mail"));
    }
}

/// The contradictions of the first mail, worked out by hand.
#[test]
fn three_kernels_have_all_their_errors() {
    let audit = of("1-three-kernels-two-boards.eml");
    let mut errors = rules(&audit, Grade::Error);
    errors.sort();
    let expected =
        [(Rule::MeanInRange, 1), (Rule::BandwidthIops, 2), (Rule::ColumnsExchanged, 3), (Rule::Average, 3)];
    let expected: Vec<Rule> =
        expected.into_iter().flat_map(|(rule, count)| std::iter::repeat_n(rule, count)).collect();
    assert_eq!(errors, expected);
    assert_eq!(rules(&audit, Grade::Warning), [Rule::UnlikeCells; 2]);
}

#[test]
fn sound_mails_have_no_errors() {
    for name in ["2-summaries-of-a-revert.eml", "3-device-tree-series.eml", "4-three-runs-of-each.eml"] {
        let audit = of(name);
        assert_eq!(audit.count(Grade::Error) + audit.count(Grade::Warning), 0, "{name}");
    }
    let stalled = of("5-outputs-with-stalls.eml");
    assert_eq!(
        (rules(&stalled, Grade::Error), rules(&stalled, Grade::Warning)),
        (vec![], vec![Rule::Settings, Rule::Stall])
    );
}

/// A report over figures that somebody else posted, which contradict each other.
const POSTED: &str = "posted__posted_1-ufs-hardirq.snap";

#[test]
fn what_is_wrong_with_posted_figures_stays_wrong_in_a_report_over_them() {
    let report = std::fs::read_to_string(folder("../report/tests/snapshots").join(POSTED)).unwrap();
    let errors = rules(&audit(report.as_bytes()).unwrap(), Grade::Error);
    assert!(errors.contains(&Rule::BandwidthIops) && errors.contains(&Rule::ColumnsExchanged), "{errors:?}");
}

#[test]
fn the_reports_of_kab_have_nothing_wrong() {
    for path in files(&folder("../report/tests/snapshots"), "snap") {
        if path.ends_with(POSTED) {
            continue;
        }
        let snapshot = std::fs::read_to_string(&path).unwrap();
        let report = snapshot.splitn(3, "---\n").last().unwrap();
        let audit = audit(report.as_bytes()).unwrap();
        let bad = audit.count(Grade::Error) + audit.count(Grade::Warning);
        assert_eq!(bad, 0, "{}\n{}", path.display(), render(&audit, "report"));
        // As it is quoted in a reply.
        let quoted: String = report.lines().map(|line| format!("> {line}\n")).collect();
        let audit = kab_audit::audit(quoted.as_bytes()).unwrap();
        let bad = audit.count(Grade::Error) + audit.count(Grade::Warning);
        assert_eq!(bad, 0, "{}\n{}", path.display(), render(&audit, "quoted"));
    }
}

#[test]
fn json_has_stable_names() {
    let audit = of("4-three-runs-of-each.eml");
    let first = &audit.findings.iter().find(|finding| finding.rule == Rule::Average).unwrap();
    insta::assert_json_snapshot!(first);
}
