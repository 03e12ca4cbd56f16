//! fio's normal output: text for people, in files, consoles and mails.
//!
//! The text is gone through word by word. Each row is known by its first words, wherever lines are broken; what is not
//! fio's is passed over. Documents begin where fio begins anew, or where foreign text stands between.

mod blocks;
mod build;
mod cursor;
mod figures;
mod rows;

use crate::clean::Clean;
use build::Builder;
use cursor::Cursor;
use std::ops::Range;

pub(crate) use build::Drafts;

/// All text documents, in order. `taken` are the ranges of documents in other formats, ascending. At most `most` jobs are
/// read.
pub(crate) fn documents(clean: &Clean<'_>, taken: &[Range<usize>], most: usize) -> Drafts {
    let text = &*clean.text;
    let mut builder = Builder::new(clean, most);
    let mut at = 0;
    for range in taken {
        scan(text, at..range.start, &mut builder);
        builder.interrupted();
        at = range.end;
    }
    scan(text, at..text.len(), &mut builder);
    builder.finish()
}

/// Longest line on which fio may name itself.
const NAMED: usize = 200;

/// Words whose rows begin with a bracket or another word than their own.
fn scan(text: &str, range: Range<usize>, builder: &mut Builder<'_>) {
    let within = &text[..range.end];
    let mut cursor = Cursor::new(within, range.start);
    // Names stand before the word by which their row is known, but not before what was read already.
    let mut floor = range.start;
    loop {
        cursor.blank();
        if cursor.rest().is_empty() {
            return;
        }
        let start = cursor.at;
        if event(within, &mut cursor, floor, builder) {
            floor = cursor.at;
        } else {
            cursor.at = start;
            skip_word(&mut cursor, builder);
        }
    }
}

/// Reads what begins at the cursor; whether there is something.
fn event(text: &str, cursor: &mut Cursor<'_>, floor: usize, builder: &mut Builder<'_>) -> bool {
    let start = *cursor;
    let rest = cursor.rest();
    match rest.as_bytes().first() {
        Some(b'(') => {
            if let Some(header) = blocks::header(text, cursor, floor) {
                builder.header(header, start.at, cursor.at);
                return true;
            }
            *cursor = start;
            let preamble = blocks::preamble(text, cursor, floor);
            preamble.map(|preamble| builder.preamble(preamble, cursor.at)).is_some()
        }
        Some(b'R' | b'W' | b'T' | b'M') => {
            if let Some(group) = blocks::run_status(cursor) {
                builder.run_status(group, cursor.at);
                return true;
            }
            *cursor = start;
            let line = blocks::group_line(cursor, builder.group());
            line.map(|line| builder.group_line(line, start.at, cursor.at)).is_some()
        }
        Some(b'D') => cursor.eat("Disk stats (read/write) :") && builder.known(cursor.at),
        Some(b'i') if rest.starts_with("ios=") => {
            let disk = blocks::disk(text, cursor, floor);
            disk.map(|disk| builder.disk(disk, start.at, cursor.at)).is_some()
        }
        Some(b'f' | b'h') if version(cursor, builder) => true,
        _ => {
            *cursor = start;
            rows::row(cursor).map(|row| builder.row(row, start.at, cursor.at)).is_some()
        }
    }
}

/// `fio-3.33` alone on its line or before `Starting`, and the line in which a client names its server.
fn version(cursor: &mut Cursor<'_>, builder: &mut Builder<'_>) -> bool {
    let start = *cursor;
    if cursor.eat("hostname=") && cursor.skip_to("fio=fio-", 300) {
        let near = cursor.near(60);
        let end = near.find([',', ' ', '\n']).unwrap_or(0);
        builder.client(&format!("fio-{}", &near[..end]), start.at, cursor.at);
        cursor.at += end;
        if cursor.eat(" , flags=") {
            cursor.last_number();
        }
        return true;
    }
    *cursor = start;
    let start = start.at;
    let line = cursor.line(NAMED);
    let numbered = ["fio-", "fio "].iter().find_map(|prefix| line.strip_prefix(prefix));
    if !numbered.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains('.')) {
        return false;
    }
    let name_end = line[4..].find(char::is_whitespace).map_or(line.len(), |i| i + 4);
    let behind = line[name_end..].trim_start();
    if name_end > 60 || !(behind.is_empty() || behind.starts_with("Starting")) {
        return false;
    }
    cursor.at += name_end;
    builder.version(&line[..name_end], start, cursor.at);
    true
}

/// Goes behind a word that is not fio's.
fn skip_word(cursor: &mut Cursor<'_>, builder: &mut Builder<'_>) {
    let rest = cursor.rest();
    // A row may be known by what stands within a word, such as `name:(groupid=`.
    let ends = |i: usize, b: u8| b.is_ascii_whitespace() || (b == b'(' && i > 0);
    let end = rest.bytes().enumerate().position(|(i, b)| ends(i, b)).unwrap_or(rest.len());
    if rest[..end].chars().any(char::is_alphanumeric) {
        builder.foreign(cursor.at);
    }
    cursor.at += end.max(1);
    while !cursor.is_boundary() {
        cursor.at += 1;
    }
}
