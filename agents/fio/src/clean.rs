//! Undoes what mailers, consoles and people do to fio's output: quoted-printable, quote marks, carriage returns,
//! no-break spaces, and lines of the kernel or of fio's progress in between. Remembers where all came from.

use crate::found::{Note, NoteKind};
use crate::prefix::Prefixes;
use crate::undress::{is_dressed, undress};
use memchr::{memchr, memchr_iter, memmem};
use std::borrow::Cow;
use std::cell::Cell;

/// Text to read, with the way back to the input.
pub(crate) struct Clean<'a> {
    /// The text.
    pub(crate) text: Cow<'a, str>,
    /// Lines that were taken out.
    pub(crate) notes: Vec<Note>,
    map: Map,
}

enum Map {
    /// The text is the input; the last offset asked for and its line.
    Same(Cell<(usize, usize)>),
    /// Offsets in the text with those of the input and the line, ascending.
    Marks(Vec<Mark>),
}

/// From here on to the next mark, offsets run in parallel and the line is the same. In an input of more than 4 GiB, what
/// lies beyond has no exact place any more.
#[derive(Clone, Copy)]
struct Mark {
    text: u32,
    input: u32,
    line: u32,
}

/// A place for a [`Mark`].
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'a> Clean<'a> {
    /// A text that needs no cleaning.
    pub(crate) fn plain(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), notes: Vec::new(), map: Map::Same(Cell::new((0, 1))) }
    }

    /// Cleans an input; one that needs nothing is borrowed.
    pub(crate) fn of(input: &'a [u8]) -> Self {
        if let Some(text) = wide_text(input) {
            return Cleaner::default().run(text.as_bytes()).of_wide(&text, input.len());
        }
        match std::str::from_utf8(input) {
            Ok(text) if is_plain(input) && Prefixes::of(input).is_empty() => Self::plain(text),
            _ => Cleaner::default().run(input),
        }
    }

    /// The line of the input, from 1, that an offset of the text belongs to.
    pub(crate) fn line(&self, offset: usize) -> usize {
        match &self.map {
            Map::Same(last) => {
                let (at, line) = last.get();
                let bytes = self.text.as_bytes();
                let line = if offset >= at {
                    line + memchr_iter(b'\n', &bytes[at..offset]).count()
                } else {
                    line - memchr_iter(b'\n', &bytes[offset..at]).count()
                };
                last.set((offset, line));
                line
            }
            Map::Marks(marks) => mark_of(marks, offset).line as usize,
        }
    }

    /// The same, of an input of two bytes a character, of which `text` was made; offsets are right at the start of lines.
    fn of_wide(mut self, text: &str, length: usize) -> Self {
        if let Map::Marks(marks) = &mut self.map {
            let (mut at, mut input) = (0, WIDE.len());
            for mark in marks {
                let to = (mark.input as usize).clamp(at, text.len());
                input += text[at..to].chars().map(|c| c.len_utf16() * 2).sum::<usize>();
                at = to;
                mark.input = small(input.min(length));
            }
        }
        self.notes.push(Note { line: 1, kind: NoteKind::Repaired, text: "UTF-16 decoded".to_owned() });
        self
    }

    /// The offset in the input of an offset of the text.
    pub(crate) fn input(&self, offset: usize) -> usize {
        match &self.map {
            Map::Same(_) => offset,
            Map::Marks(marks) => {
                let mark = mark_of(marks, offset);
                mark.input as usize + (offset - mark.text as usize)
            }
        }
    }
}

/// How a shell of Windows begins a file that it redirects a program's output into.
const WIDE: [u8; 2] = [0xff, 0xfe];

/// The text of an input of two bytes a character; nothing for any other.
fn wide_text(input: &[u8]) -> Option<String> {
    let units = input.strip_prefix(&WIDE)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn mark_of(marks: &[Mark], offset: usize) -> Mark {
    let behind = marks.partition_point(|mark| mark.text as usize <= offset);
    behind.checked_sub(1).map_or(Mark { text: 0, input: 0, line: 1 }, |i| marks[i])
}

/// Whether nothing of what this module undoes can be in an input.
fn is_plain(input: &[u8]) -> bool {
    let has = |needle: &[u8]| memmem::find(input, needle).is_some();
    let quoted = || memchr_iter(b'>', input).any(|at| begins_line(&input[..at]));
    let odd = [&b"=3D"[..], b"Jobs: ", b"fio: ", b"note: ", b"\n<", b"\xc2\xa0", b"\xe2\x80", b"kernel: "];
    memchr(b'\r', input).is_none()
        && !is_dressed(input)
        && !odd.iter().any(|needle| has(needle))
        && !bracketed(input)
        && !input.starts_with(b"<")
        && !quoted()
}

/// Whether a line begins with `[` and a digit, as messages of the kernel do.
fn bracketed(input: &[u8]) -> bool {
    memchr_iter(b'[', input).any(|at| {
        let after = input[at + 1..].iter().find(|b| **b != b' ');
        begins_line(&input[..at]) && after.is_some_and(u8::is_ascii_digit)
    })
}

/// Whether only blanks stand between the start of the line and the end of `before`.
fn begins_line(before: &[u8]) -> bool {
    before.iter().rev().find(|b| !b" \t".contains(b)).is_none_or(|b| *b == b'\n')
}

/// Whether a text uses quoted-printable from some header on, or as a whole.
#[derive(Clone, Copy, Default, PartialEq)]
enum Encoding {
    #[default]
    Plain,
    Quoted,
}

#[derive(Default)]
struct Cleaner {
    out: String,
    marks: Vec<Mark>,
    notes: Vec<Note>,
    /// The logical line: several of the input where soft breaks join them.
    logical: Vec<u8>,
    starts: Vec<Mark>,
    quoted: Option<usize>,
    decoded: Option<usize>,
    prefixed: Option<usize>,
    prefixes: Prefixes,
}

impl Cleaner {
    fn run<'a>(mut self, input: &[u8]) -> Clean<'a> {
        self.prefixes = Prefixes::of(input);
        self.out.reserve(input.len());
        let whole = if memmem::find_iter(input, b"=3D").nth(1).is_some() {
            Encoding::Quoted
        } else {
            Encoding::Plain
        };
        let mut encoding = whole;
        let mut start = 0;
        let mut line = 0;
        while start < input.len() {
            let end = memchr(b'\n', &input[start..]).map_or(input.len(), |i| start + i + 1);
            line += 1;
            let raw = &input[start..end];
            encoding = announced(raw, whole).unwrap_or(encoding);
            self.raw_line(raw, Mark { text: 0, input: small(start), line: small(line) }, encoding);
            start = end;
        }
        self.end_logical();
        self.tell_repairs();
        Clean { text: Cow::Owned(self.out), notes: self.notes, map: Map::Marks(self.marks) }
    }

    fn raw_line(&mut self, raw: &[u8], mark: Mark, encoding: Encoding) {
        self.starts.push(Mark { text: small(self.logical.len()), ..mark });
        if encoding == Encoding::Plain || !may_be_quoted_printable(raw) {
            self.logical.extend_from_slice(raw);
            self.end_logical();
            return;
        }
        let content = raw.trim_ascii_end();
        let soft = content.ends_with(b"=");
        decode(if soft { &content[..content.len() - 1] } else { raw }, &mut self.logical);
        if content.contains(&b'=') {
            self.decoded.get_or_insert(mark.line as usize);
        }
        if !soft {
            self.end_logical();
        }
    }

    /// Splits the logical line at carriage returns and keeps what is worth it.
    fn end_logical(&mut self) {
        let mut logical = std::mem::take(&mut self.logical);
        let starts = std::mem::take(&mut self.starts);
        undress(&mut logical);
        let text = same_length(&mut logical);
        let mut at = 0;
        for part in text.split_inclusive('\r') {
            self.part(part, at, &starts);
            at += part.len();
        }
        self.logical = logical;
        self.logical.clear();
        self.starts = starts;
        self.starts.clear();
    }

    fn part(&mut self, part: &str, at: usize, starts: &[Mark]) {
        if part == "\r" {
            return;
        }
        let ended = part.ends_with(['\n', '\r']);
        let body = part.trim_end_matches(['\n', '\r']);
        let stripped = self.strip(body, mark_of(starts, at).line as usize);
        let from = at + (body.len() - stripped.len());
        let mark = mark_of(starts, from);
        let kept = match classify(stripped) {
            Some((kind, rest)) => {
                if let Some(kind) = kind {
                    let text = stripped[..stripped.len() - rest.len()].trim_end().to_owned();
                    self.notes.push(Note { line: mark.line as usize, kind, text });
                }
                rest
            }
            None => stripped,
        };
        if kept.is_empty() && stripped != kept {
            return;
        }
        self.push(kept, from + (stripped.len() - kept.len()), starts);
        if ended {
            self.out.push('\n');
        }
    }

    fn push(&mut self, kept: &str, from: usize, starts: &[Mark]) {
        if kept.is_empty() {
            return;
        }
        let shift = self.out.len();
        let first = mark_of(starts, from);
        let input = first.input as usize + (from - first.text as usize);
        self.marks.push(Mark { text: small(shift), input: small(input), line: first.line });
        let inner = &starts[starts.partition_point(|mark| mark.text as usize <= from)..];
        let inner = inner.iter().take_while(|mark| (mark.text as usize) < from + kept.len());
        self.marks.extend(inner.map(|mark| Mark { text: small(shift + mark.text as usize - from), ..*mark }));
        // Replacements keep the length in bytes, so that the marks stay right.
        let mut rest = kept;
        while let Some(at) = rest.find(['\u{a0}', '\u{2007}', '\u{202f}', '\u{2009}', '\u{200b}']) {
            self.out.push_str(&rest[..at]);
            let width = rest[at..].chars().next().map_or(1, char::len_utf8);
            (0..width).for_each(|_| self.out.push(' '));
            rest = &rest[at + width..];
        }
        self.out.push_str(rest);
    }

    /// Without quote marks, a logger's prefix and the name of the client.
    fn strip<'t>(&mut self, line: &'t str, number: usize) -> &'t str {
        let mut rest = line;
        if let Some(inner) = unquoted(rest) {
            rest = inner;
            self.quoted.get_or_insert(number);
        }
        if !self.prefixes.is_empty() {
            let inner = self.prefixes.strip(rest);
            if inner.len() < rest.len() {
                self.prefixed.get_or_insert(number);
            }
            rest = inner;
        }
        client(rest).unwrap_or(rest)
    }

    fn tell_repairs(&mut self) {
        let told = [
            (self.quoted, "quote marks removed"),
            (self.decoded, "quoted-printable decoded"),
            (self.prefixed, "the prefix of a log removed"),
        ];
        for (line, text) in told {
            if let Some(line) = line {
                self.notes.push(Note { line, kind: NoteKind::Repaired, text: text.to_owned() });
            }
        }
        self.notes.sort_by_key(|note| note.line);
    }
}

/// A line without quote marks, uneven and nested ones; nothing where it has none.
fn unquoted(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some(inner) = rest.trim_start_matches([' ', '\t', '\u{a0}']).strip_prefix('>') {
        // `>=64` at the start of a wrapped line is fio's.
        if inner.starts_with('=') {
            break;
        }
        rest = inner.strip_prefix([' ', '\u{a0}']).unwrap_or(inner);
    }
    (rest.len() < line.len()).then_some(rest)
}

/// As text of the same length, so that the marks stay right: a question mark for each byte that is none.
fn same_length(bytes: &mut [u8]) -> &str {
    let mut at = 0;
    while let Err(error) = std::str::from_utf8(&bytes[at..]) {
        let from = at + error.valid_up_to();
        at = error.error_len().map_or(bytes.len(), |length| from + length);
        bytes[from..at].fill(b'?');
    }
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A header line that says how what follows is encoded; a new message in an mbox begins anew.
fn announced(raw: &[u8], whole: Encoding) -> Option<Encoding> {
    const HEADER: &[u8] = b"content-transfer-encoding:";
    if raw.starts_with(b"From ") {
        return Some(whole);
    }
    let value = raw.get(HEADER.len()..).filter(|_| raw[..HEADER.len()].eq_ignore_ascii_case(HEADER))?;
    let quoted = value.trim_ascii().eq_ignore_ascii_case(b"quoted-printable");
    Some(if quoted { Encoding::Quoted } else { Encoding::Plain })
}

/// In quoted-printable two hexadecimal digits or the line's end follow each `=`.
fn may_be_quoted_printable(raw: &[u8]) -> bool {
    let content = raw.trim_ascii_end();
    memchr_iter(b'=', content).all(|at| match &content[at + 1..] {
        [] => true,
        [high, low, ..] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [_] => false,
    })
}

fn decode(content: &[u8], out: &mut Vec<u8>) {
    let mut rest = content;
    while let Some(at) = memchr(b'=', rest) {
        out.extend_from_slice(&rest[..at]);
        let code = rest.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &rest[at + 3..];
            }
            None => {
                out.push(b'=');
                rest = &rest[at + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
}

/// What follows `<host> ` at the start of a line, which client mode puts before the server's messages.
fn client(line: &str) -> Option<&str> {
    let (host, rest) = line.strip_prefix('<')?.split_once('>')?;
    let named = !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || ".-_:".contains(c));
    (named && (rest.is_empty() || rest.starts_with(' '))).then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// A line that is not part of a result: what it is, if that is worth a note, and what follows it on the same line.
fn classify(line: &str) -> Option<(Option<NoteKind>, &str)> {
    let text = line.trim_start();
    if is_kernel(text) {
        return Some((Some(NoteKind::Kernel), ""));
    }
    if let Some(rest) = progress(text) {
        return Some((None, rest));
    }
    if let Some(message) = text.strip_prefix("fio: ") {
        let signal = message.contains("got signal=") || message.contains("terminating on signal");
        let error = message.contains("err=") || message.contains("error") || message.contains("fail");
        let kind = match (signal, error) {
            (true, _) => NoteKind::Signal,
            (_, true) => NoteKind::Error,
            _ => NoteKind::Remark,
        };
        return Some((Some(kind), ""));
    }
    text.starts_with("note: both iodepth").then_some((Some(NoteKind::Remark), ""))
}

/// `[  318.569268] …`, with its level or without its first bracket, or from a journal.
fn is_kernel(text: &str) -> bool {
    let level = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let text = match level {
        Some((digits, rest)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => text,
    };
    let stamp = text.strip_prefix('[').unwrap_or(text).trim_start();
    let Some((seconds, rest)) = stamp.split_once('.') else { return false };
    let micros = rest.bytes().take_while(u8::is_ascii_digit).count();
    let whole = !seconds.is_empty() && seconds.bytes().all(|b| b.is_ascii_digit());
    (whole && micros == 6 && rest[micros..].starts_with(']')) || text.contains(" kernel: ")
}

/// What follows fio's progress: `Jobs: 1 (f=1): [R(1)][100.0%][…][eta 00m:00s]`.
fn progress(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Jobs: ")?;
    let (jobs, rest) = rest.split_once(" (f=")?;
    let (files, rest) = rest.split_once(')')?;
    let numbers = [jobs, files].iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if !numbers {
        return None;
    }
    let Some(state) = rest.strip_prefix(':') else {
        return Some(client(rest).unwrap_or(rest).trim_start());
    };
    let behind = state.rfind("[eta ").and_then(|eta| state[eta..].split_once(']')).map(|(_, rest)| rest);
    Some(behind.unwrap_or_else(|| state.rsplit_once(']').map_or("", |(_, rest)| rest)).trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(input: &str) -> String {
        Clean::of(input.as_bytes()).text.into_owned()
    }

    #[test]
    fn quotes_go_and_fio_stays() {
        assert_eq!(text("> >> a\n>b\n > >=64=0.0%\n >=64=0.1%\n"), "a\nb\n>=64=0.0%\n >=64=0.1%\n");
        assert_eq!(text("<vm> cj: x\n<10.0.0.1> \n"), "cj: x\n\n");
    }

    #[test]
    fn quoted_printable_is_decoded_where_it_is_used() {
        let mail = "rw=3Dread, io=\ndepth=3D32\n=C2=A0 a=20\nrunt=ime=20\n";
        assert_eq!(text(mail), "rw=read, iodepth=32\n   a \nrunt=ime=20\n");
        assert_eq!(text("runtime=20\niodepth=32\n"), "runtime=20\niodepth=32\n");
        let mixed = "Content-Transfer-Encoding: quoted-printable\n\na=3D1\nFrom x\nContent-Transfer-Encoding: 8bit\n\na=32\n";
        assert!(text(mixed).ends_with("a=32\n") && text(mixed).contains("a=1\n"));
    }

    #[test]
    fn lines_in_between_become_notes() {
        let input = "Jobs: 1 (f=1): [R(1)][9.0%][eta 00m:01s]\rmix: x\n[  318.569268] rcu: stall\nfio: pid=5, got signal=9\nfio: pid=1, err=5/file:x\nend\n";
        let clean = Clean::of(input.as_bytes());
        assert_eq!(clean.text, "mix: x\nend\n");
        let notes: Vec<_> = clean.notes.iter().map(|note| (note.line, note.kind)).collect();
        assert_eq!(notes, [(2, NoteKind::Kernel), (3, NoteKind::Signal), (4, NoteKind::Error)]);
        assert_eq!((clean.line(0), clean.line(7)), (1, 5));
        assert_eq!(clean.input(7), input.len() - 4);
    }

    #[test]
    fn what_needs_nothing_is_borrowed_and_lines_are_counted_both_ways() {
        let clean = Clean::of(b"{\n\"a\" : 1,\n\">=64\" : 2\n}");
        assert!(matches!(clean.text, Cow::Borrowed(_)));
        assert_eq!([clean.line(20), clean.line(0), clean.line(3)], [3, 1, 2]);
    }
}
