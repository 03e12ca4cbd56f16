//! Boards as text, built-in profiles, and a kernel that keeps its own rules.
#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // each test program uses its part

use kab_tune::{BUILT_IN, Form, Profile, Setting, Tree, TuningPlan, View, Wanted, plan};

/// Name, text and target's disk of each board.
pub(crate) const BOARDS: &[(&str, &str, &str)] = &[
    ("mcq-soc", include_str!("../boards/mcq-soc.txt"), "sda9"),
    ("single-irq-soc", include_str!("../boards/single-irq-soc.txt"), "sda"),
    ("big-little-emmc", include_str!("../boards/big-little-emmc.txt"), "mmcblk1"),
    ("x86-server", include_str!("../boards/x86-server.txt"), "nvme1n1"),
];

pub(crate) fn board(name: &str) -> (Tree, &'static str) {
    let (_, text, disk) = BOARDS.iter().find(|board| board.0 == name).unwrap();
    (Tree::parse(text).unwrap(), disk)
}

/// A built-in profile; its text is simple enough to be read line by line.
pub(crate) fn profile(name: &str) -> Profile {
    let (_, text) = BUILT_IN.iter().find(|profile| profile.0 == name).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let settings = lines.filter_map(|line| line.split_once(": "));
    let settings = settings.map(|(knob, value)| Setting::new(knob, value.trim_matches('"'))).collect();
    Profile { name: name.to_owned(), settings }
}

pub(crate) fn plan_for(board_name: &str, profile: Profile) -> TuningPlan {
    let (tree, disk) = board(board_name);
    plan(&Wanted { profile, fastest_cpu: None }, &tree, Some(disk))
}

/// A plan as lines `path: from -> to`, without what is in place.
pub(crate) fn lines(plan: &TuningPlan) -> Vec<String> {
    let needed = plan.changes.iter().filter(|change| !change.is_in_place());
    needed
        .map(|change| format!("{}: {} -> {}", change.path, change.from, change.to.as_deref().unwrap()))
        .collect()
}

/// Writes as a kernel would: lower limits are bent to upper ones and the reverse, a scheduler resets the depth.
pub(crate) fn write(tree: &mut Tree, path: &str, value: &str) {
    let real = tree.resolve(path);
    let old = tree.files.get(&real).cloned().unwrap();
    let (folder, file) = real.rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap_or_default();
    let number = |tree: &Tree, file: &str| {
        tree.read(&format!("{folder}/{file}")).and_then(|text| text.parse::<u64>().ok())
    };
    let new = match file.as_str() {
        "scheduler" if old.contains('[') => {
            let words: Vec<&str> = old.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
            if !words.contains(&value) {
                return; // EINVAL
            }
            if !Form::Words.same(value, &old) {
                let depth = if value == "none" { "31" } else { "62" };
                if tree.files.contains_key(&format!("{folder}/nr_requests")) {
                    tree.files.insert(format!("{folder}/nr_requests"), depth.to_owned());
                }
            }
            let mark = |word: &&str| if *word == value { format!("[{word}]") } else { (*word).to_owned() };
            words.iter().map(mark).collect::<Vec<_>>().join(" ")
        }
        "scheduler" => old,
        "scaling_min_freq" => {
            value.parse::<u64>().unwrap().min(number(tree, "scaling_max_freq").unwrap()).to_string()
        }
        "scaling_max_freq" => {
            value.parse::<u64>().unwrap().max(number(tree, "scaling_min_freq").unwrap()).to_string()
        }
        "policy" | "enabled" => old
            .split_whitespace()
            .map(|word| word.trim_matches(['[', ']']))
            .map(|word| if word == value { format!("[{word}]") } else { word.to_owned() })
            .collect::<Vec<_>>()
            .join(" "),
        _ => value.to_owned(),
    };
    tree.files.insert(real, new);
}
