//! What the fuzz targets of `fuzz/` do, on a stable toolchain: every recorded file, and mutations of them with a fixed seed.

#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::path::PathBuf;

/// Mutations of each file for the readers, and for options, each of which is compared with all that fio knows.
const ROUNDS: u32 = 40;
const OPTION_ROUNDS: u32 = 4;

fn corpus() -> Vec<Vec<u8>> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = [tests.join("versions"), tests.join("same-run")];
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Numbers that look random and are the same each time (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

/// Tokens that mean something to some parser.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    ";",
    "\n",
    "\r",
    "\r\n",
    "> ",
    ">",
    "=3D",
    "=\n",
    "\u{a0}",
    "\u{feff}",
    "nan",
    "-inf",
    "1e999",
    "99999999999999999999999999",
    "-1",
    "{\n\"fio version\" : ",
    "\"jobs\" : [",
    "\"read\" : {",
    "\"percentile\" : {",
    "read: IOPS=",
    "read : io=",
    "clat (usec): min=",
    "clat percentiles (usec):\n |",
    "th=[",
    "(groupid=0, jobs=1): err= 0: ",
    "(g=0): rw=read, bs=",
    "issued rwts: total=",
    "READ: bw=",
    "vda: ios=1/1, merge=",
    "Run status group 0 (all jobs):",
    "Jobs: 1 (f=1): [R(1)]",
    "[    1.000000] x",
    "3;fio-3.1;a;0;0;",
    "fio-3.16\n",
    "hostname=a, be=0, fio=fio-3.33, flags=1",
    "<vm> ",
    "ü",
    "\u{0}",
    "k",
    "MiB/s",
    "msec)",
];

fn mutate(bytes: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=chance.below(6) {
        let at = chance.below(bytes.len() + 1);
        let length = chance.below(200).min(bytes.len() - at);
        match chance.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                let to = chance.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            3 if at < bytes.len() => bytes[at] = chance.next() as u8,
            4 => {
                let from = chance.below(other.len() + 1);
                let end = (from + chance.below(3000)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let token = TOKENS[chance.below(TOKENS.len())];
                bytes.splice(at..at, token.bytes());
            }
        }
    }
    bytes
}

fn run(target: fn(&[u8]), rounds: u32, seed: u64) {
    let corpus = corpus();
    let mut chance = Chance(seed);
    for bytes in &corpus {
        target(bytes);
        for _ in 0..rounds {
            let other = &corpus[chance.below(corpus.len())];
            let mutated = mutate(bytes, other, &mut chance);
            target(&mutated);
        }
    }
}

#[test]
fn read_any_holds_on_mutated_files() {
    run(targets::read_any, ROUNDS, 1);
}

#[test]
fn parse_holds_on_mutated_files() {
    run(targets::parse, ROUNDS, 2);
}

#[test]
fn options_hold_on_mutated_files() {
    run(targets::options, OPTION_ROUNDS, 3);
}
