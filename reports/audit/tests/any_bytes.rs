//! No input makes the audit panic or hang, and every finding quotes a line of the input.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

fn check(bytes: &[u8]) {
    let Ok(audit) = kab_audit::audit(bytes) else { return };
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    for finding in &audit.findings {
        assert!(!finding.lines.is_empty(), "{finding:?}");
        assert!(finding.lines.iter().all(|quote| (1..=lines).contains(&quote.line)), "{finding:?}");
    }
    let _ = kab_audit::render(&audit, "x");
}

fn piece() -> impl Strategy<Value = String> {
    let known = [
        "min IOPS 1,000.5 2000 -3\n",
        "max IOPS  1  2  3\n",
        "avg IOPS  9e9  2k  99999999999999999999999999\n",
        "bw MB/s  0  0.0  1.5\n",
        "          a     b     c\n",
        "| a | b | c |\n",
        "|--|--|\n",
        "| x | 1 | 2 |\n",
        "Board: x\n",
        "\n",
        "> ",
        "> > ",
        "Speed: 1 2 3\n",
        "Average speed: 0MB/s\n",
        "from 0 to 0 (+0%)\n",
        "1K -> 0K improved by 100%\n",
        "average IOPS of a are 4324.56\n",
        "fio --bs=4k --iodepth=9 \\\n",
        "fio --bs=0 --x",
        "run1 run2 avg\n",
        "~% % 5 %\n",
        "é ± ü | 1 | 2 |\n",
        "bs=4k\n",
        "qd 1 2 3\n",
        "  read: IOPS=10k, BW=39MiB/s (41MB/s)(390MiB/10001msec)\n",
        "   READ: bw=1B/s, io=0, run=0-0msec\n",
        "\u{2192} \u{a0}1\u{a0}2\n",
    ];
    prop_oneof![
        6 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,30}\n?",
        1 => "[-+0-9.,%kKMG/ ]{0,30}\n?",
    ]
}

proptest! {
    #[test]
    fn nothing_panics(pieces in proptest::collection::vec(piece(), 0..60)) {
        check(pieces.concat().as_bytes());
    }
}

/// Mutations of the mails, the same each time: bytes changed, lines doubled, cut, moved and spliced.
#[test]
fn mutated_mails_do_not_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mails");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mails: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut random = Pcg64::seed_from_u64(10);
    for round in 0..300 {
        let mut bytes = mails[round % mails.len()].clone();
        for _ in 0..random.random_range(1..12) {
            mutate(&mut bytes, &mut random, &mails);
        }
        check(&bytes);
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut impl Rng, mails: &[Vec<u8>]) {
    if bytes.is_empty() {
        return;
    }
    let at = random.random_range(0..bytes.len());
    let end = (at + random.random_range(1..200)).min(bytes.len());
    match random.random_range(0..6) {
        0 => bytes[at] = random.random(),
        1 => bytes[at] = b"0123456789.,%\n |>="[random.random_range(0..18)],
        2 => _ = bytes.drain(at..end),
        3 => {
            let part = bytes[at..end].to_vec();
            let to = random.random_range(0..=bytes.len());
            bytes.splice(to..to, part);
        }
        4 => bytes.truncate(end),
        _ => {
            let other = &mails[random.random_range(0..mails.len())];
            let from = random.random_range(0..other.len());
            let part = other[from..(from + 300).min(other.len())].to_vec();
            bytes.splice(at..at, part);
        }
    }
}

/// Long inputs of one kind end: what is compared in twos has a limit.
#[test]
fn long_input_ends() {
    let row =
        "randread/1   4.53   6.30   4.32  from 1K to 2K improved by 5% vs. 3%. Average IOPS 4324.56 of a.\n";
    check(row.repeat(3_000).as_bytes());
    let table = "min IOPS   1000   2000   3000\n";
    check(format!("      a   b   c\n{}", table.repeat(3_000)).as_bytes());
    check("Speed: 1 2 3\nAverage: 2\n\n".repeat(3_000).as_bytes());
    check("fio --a=1 --b=2 \\\n".repeat(3_000).as_bytes());
    check(&b"|1".repeat(20_000));
    check(&b"( ".repeat(20_000));
}
