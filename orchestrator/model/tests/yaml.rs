//! Files that parse and files that do not, each with a snapshot of what comes out.
#![allow(clippy::unwrap_used)]

use kab_model::yaml::{
    Context, Diagnostics, Located, Source, Style, check_pair, parse_experiment, parse_lab,
};
use kab_model::{ConfigItem, Experiment, Kernel, KernelSpec, Lab, Toolchain, Variant};
use std::path::{Path, PathBuf};

/// What exists beside the files, as far as these tests are concerned.
const FILES: [&str; 8] = [
    "/home/dev/my src/linux",
    "/home/dev/exp/../linux",
    "/etc/kab/extra",
    "/home/dev/src/linux",
    "/home/dev/exp/ufs.config",
    "/home/dev/exp/v2-ufs-hardirq.mbox",
    "/home/dev/exp/in-folder.config",
    "/home/dev/exp/me@home.patch",
];

fn exists(path: &Path) -> bool {
    FILES.iter().any(|file| Path::new(file) == path)
}

fn reserved(option: &str) -> Option<&'static str> {
    (option == "filename").then_some("the workload's target says what is read and written")
}

fn context() -> Context<'static> {
    Context {
        folder: Path::new("/home/dev/exp"),
        home: Some(Path::new("/home/dev")),
        exists: &exists,
        reserved: &reserved,
    }
}

fn inputs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for snapshot in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "snap"))
    {
        assert!(snapshot.with_extension("yaml").exists(), "{} has no input", snapshot.display());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn source(path: &Path) -> Source {
    let name = path.file_name().unwrap().to_str().unwrap();
    Source::new(name, std::fs::read_to_string(path).unwrap())
}

fn experiment(path: &Path) -> Result<Located<Experiment>, Diagnostics> {
    parse_experiment(&source(path), &context())
}

fn good_lab() -> Lab {
    let path = inputs("good/lab").into_iter().find(|path| path.ends_with("lab.yaml")).unwrap();
    parse_lab(&source(&path)).unwrap().value
}

/// Snapshots stand beside their inputs.
fn snapshot(path: &Path, content: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(path.parent().unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = path.file_stem().unwrap().to_str().unwrap();
    settings.bind(|| insta::assert_snapshot!(name, content));
}

#[test]
fn good_experiments() {
    for path in inputs("good/experiment") {
        let parsed = experiment(&path).unwrap_or_else(|problems| panic!("{}", problems.render(Style::Plain)));
        assert_eq!(parsed.warnings, Diagnostics::default());
        snapshot(&path, &serde_json::to_string_pretty(&parsed.value).unwrap());
    }
}

#[test]
fn good_labs() {
    for path in inputs("good/lab") {
        let parsed = parse_lab(&source(&path)).unwrap_or_else(|problems| panic!("{problems}"));
        snapshot(&path, &serde_json::to_string_pretty(&parsed.value).unwrap());
    }
}

#[test]
fn bad_experiments() {
    for path in inputs("bad/experiment") {
        let problems = experiment(&path).err().unwrap_or_else(|| panic!("{} parses", path.display()));
        assert!(problems.has_errors());
        snapshot(&path, &problems.render(Style::Plain));
    }
}

#[test]
fn bad_labs() {
    for path in inputs("bad/lab") {
        let problems = parse_lab(&source(&path)).err();
        let problems = problems.unwrap_or_else(|| panic!("{} parses", path.display()));
        assert!(problems.has_errors());
        snapshot(&path, &problems.render(Style::Plain));
    }
}

#[test]
fn bad_pairs() {
    for path in inputs("bad/pair") {
        let experiment = experiment(&path).unwrap_or_else(|problems| panic!("{problems}"));
        let lab = good_lab();
        let problems = check_pair(&experiment, &lab).err();
        snapshot(&path, &problems.unwrap_or_else(|| panic!("{} fits", path.display())).render(Style::Plain));
    }
}

#[test]
fn a_pair_lists_each_board_once() {
    let path = inputs("good/experiment").into_iter().find(|path| path.ends_with("seed.yaml")).unwrap();
    let lab = good_lab();
    let mut experiment = experiment(&path).unwrap();
    experiment.value.boards = vec!["fast".into(), "ufs".into(), "vm-fast".into()];
    let boards = check_pair(&experiment, &lab).unwrap();
    let names: Vec<&str> = boards.iter().map(|board| board.name.0.as_str()).collect();
    assert_eq!(names, ["vm-fast", "vm-ufs"]);
}

#[test]
fn variants_add_to_or_replace_the_kernels_configuration() {
    let path = inputs("good/experiment").into_iter().find(|path| path.ends_with("anchors.yaml")).unwrap();
    let parsed = experiment(&path).unwrap().value;
    let bases = |at: usize| match built(&parsed.variants[at]).config.as_slice() {
        [ConfigItem::Base(base), ConfigItem::Option { symbol, .. }] => (base.clone(), symbol.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(bases(0), ("defconfig".into(), "CONFIG_HZ".into()));
    assert_eq!(bases(2), ("tinyconfig".into(), "CONFIG_PRINTK".into()));
    assert_eq!(built(&parsed.variants[1]).toolchain, Toolchain::Llvm);
    assert_eq!(parsed.workloads[1].fio[0].name, "direct", "merged options come where `<<` stands");
}

#[test]
fn warnings_do_not_keep_a_file_from_being_used() {
    let text = "name: x\nvariants: {a: {repo: git.example:linux, ref: v6.15}}\nboards: [vm]\ntarget: t\n\
                workloads: [{name: r, fio: {rw: read}}]\nschedule: {visits: 2}\n";
    let parsed = parse_experiment(&Source::new("x.yaml", text), &context()).unwrap();
    let lines: Vec<usize> = parsed.warnings.0.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [2, 6]);
    assert!(!parsed.warnings.has_errors());
}

#[test]
fn later_checks_point_into_the_file() {
    let path = inputs("good/experiment").into_iter().find(|path| path.ends_with("seed.yaml")).unwrap();
    let parsed = experiment(&path).unwrap();
    let at = |path: &[&str]| {
        let problem = parsed.error_at(path, "no such tag");
        (problem.line, problem.column)
    };
    assert_eq!(at(&["variants", "v6.16", "ref"]), (9, 16));
    assert_eq!(at(&["boards", "1"]), (13, 18));
    assert_eq!(at(&["workloads", "0", "name"]), (16, 11));
    assert_eq!(at(&["variants", "v6.16", "cmdline"]), (9, 3), "what is not there is missed at its parent");
    assert_eq!(at(&[]), (1, 1));
}

#[test]
fn programs_read_json_lines() {
    let source = Source::new("x.yaml", "name: x\nname: y\n");
    let problems = parse_experiment(&source, &context()).unwrap_err();
    let lines = problems.to_json_lines();
    let first = lines.lines().find(|line| line.contains("twice")).unwrap();
    assert_eq!(
        first,
        concat!(
            r#"{"severity":"error","path":"x.yaml","span":{"start":8,"end":12},"line":2,"column":1,"#,
            r#""message":"`name` is given twice","hint":null,"#,
            r#""related":{"span":{"start":0,"end":4},"line":1,"column":1,"message":"first given here"}}"#,
        )
    );
}

#[test]
fn colours_only_where_asked_for() {
    let problems = parse_experiment(&Source::new("x.yaml", "a: \u{1b}[31m\n"), &context()).unwrap_err();
    assert!(!problems.render(Style::Plain).contains('\u{1b}'), "not even those of the file");
    assert!(problems.render(Style::Coloured).contains('\u{1b}'));
}

fn built(variant: &Variant) -> &KernelSpec {
    match &variant.kernel {
        Kernel::Built(spec) => spec,
        other => panic!("{other:?}"),
    }
}
