//! Bytes a second that are read of what fio printed, clean and in a mail. `cargo bench -p kab-fio`.
#![allow(clippy::unwrap_used)]

use divan::Bencher;
use divan::counter::BytesCount;
use std::path::Path;

fn main() {
    divan::main();
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions").join(name)).unwrap()
}

const FILES: [&str; 4] = ["3.36-jsonplus.txt", "3.36-json.txt", "3.36-normal.txt", "3.36-terse5.txt"];

/// A run of kab's own: JSON and nothing else.
#[divan::bench(args = &FILES[..2])]
fn parse(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = file(name);
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| kab_fio::parse(&bytes).unwrap());
}

/// Anything that somebody has.
#[divan::bench(args = FILES)]
fn read_any(bencher: Bencher<'_, '_>, name: &str) {
    let bytes = file(name);
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| kab_fio::read_any(&bytes));
}

/// The same, quoted in a reply.
#[divan::bench(args = FILES)]
fn read_any_quoted(bencher: Bencher<'_, '_>, name: &str) {
    let text = String::from_utf8(file(name)).unwrap();
    let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
    bencher.counter(BytesCount::of_slice(quoted.as_bytes())).bench(|| kab_fio::read_any(quoted.as_bytes()));
}
