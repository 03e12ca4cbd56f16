//! One part of a mail, decoded, every line with the line of the input that it came from.

use crate::mail::Line;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, MessagePart, MimeHeaders, PartType};

/// The bytes of a part without the transfer encoding; the charset stays, so that a patch keeps its bytes.
pub(crate) fn transfer_decoded(raw: &[u8], part: &MessagePart<'_>) -> Vec<u8> {
    let raw = body_of(raw, part);
    let decoded = match part.encoding {
        Encoding::None => None,
        Encoding::QuotedPrintable => quoted_printable_decode(raw),
        Encoding::Base64 => base64_decode(raw),
    };
    decoded.unwrap_or_else(|| raw.to_vec())
}

/// The lines of a text part; none for one that is not text. `first_line` is the number of the first line of `raw`.
pub(crate) fn lines(raw: &[u8], part: &MessagePart<'_>, first_line: usize) -> Vec<Line> {
    let before = &raw[..(part.offset_body as usize).min(raw.len())];
    let start = first_line + count(before);
    match &part.body {
        PartType::Text(text) => {
            let lines = placed(text, &breaks(body_of(raw, part), part.encoding, start));
            if is_flowed(part) { unflowed(lines, attribute_is(part, "delsp", "yes")) } else { lines }
        }
        // The places of a web page's lines mean nothing in the text made of it.
        PartType::Html(html) => placed(&mail_parser::decoders::html::html_to_text(html), &[start]),
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) => {
            // Patches are often attached as binary data.
            let text = std::str::from_utf8(bytes).unwrap_or_default();
            placed(text, &breaks(body_of(raw, part), part.encoding, start))
        }
        _ => Vec::new(),
    }
}

/// The lines of text that has no encoding.
pub(crate) fn plain(text: &str, first_line: usize) -> Vec<Line> {
    let lines = text.lines().zip(first_line..);
    lines.map(|(text, number)| Line { number, text: text.to_owned() }).collect()
}

/// The raw bytes of a part.
fn body_of<'a>(raw: &'a [u8], part: &MessagePart<'_>) -> &'a [u8] {
    let end = (part.offset_end as usize).min(raw.len());
    &raw[(part.offset_body as usize).min(end)..end]
}

fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Line of the input for each decoded line, in order.
fn breaks(raw: &[u8], encoding: Encoding, start: usize) -> Vec<usize> {
    match encoding {
        Encoding::None => (start..=start + count(raw)).collect(),
        Encoding::QuotedPrintable => quoted_printable_breaks(raw, start),
        Encoding::Base64 => base64_breaks(raw, start),
    }
}

/// A soft break joins lines; an encoded line feed makes one inside of a line.
fn quoted_printable_breaks(raw: &[u8], start: usize) -> Vec<usize> {
    let mut starts = vec![start];
    for (line, number) in raw.split_inclusive(|byte| *byte == b'\n').zip(start..) {
        let text = line.trim_ascii_end();
        let encoded = text.windows(3).filter(|window| window.eq_ignore_ascii_case(b"=0A")).count();
        starts.extend(std::iter::repeat_n(number, encoded));
        if line.ends_with(b"\n") && !text.ends_with(b"=") {
            starts.push(number + 1);
        }
    }
    starts
}

/// Four digits hold three bytes, so the place of a line feed is known by arithmetic.
fn base64_breaks(raw: &[u8], start: usize) -> Vec<usize> {
    let mut starts = vec![start];
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let decoded = base64_decode(raw).unwrap_or_default();
    let feeds = decoded.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut ends = Vec::new(); // digits up to the end of each raw line
    let mut digits = 0;
    for line in raw.split(|byte| *byte == b'\n') {
        digits += line.iter().filter(|byte| digit(byte)).count();
        ends.push(digits);
    }
    let mut line = 0;
    for (index, _) in feeds {
        let next_digit = (index + 1) * 4 / 3;
        while line + 1 < ends.len() && ends[line] <= next_digit {
            line += 1;
        }
        starts.push(start + line);
    }
    starts
}

fn placed(text: &str, starts: &[usize]) -> Vec<Line> {
    let last = starts.last().copied().unwrap_or(1);
    let place = |index: usize| starts.get(index).copied().unwrap_or(last);
    let lines = text.lines().enumerate();
    lines.map(|(index, text)| Line { number: place(index), text: text.to_owned() }).collect()
}

fn is_flowed(part: &MessagePart<'_>) -> bool {
    attribute_is(part, "format", "flowed")
}

fn attribute_is(part: &MessagePart<'_>, name: &str, value: &str) -> bool {
    let attribute = part.content_type().and_then(|content_type| content_type.attribute(name));
    attribute.is_some_and(|found| found.eq_ignore_ascii_case(value))
}

/// Joins lines that were broken at a blank (RFC 3676), within one depth of quoting.
fn unflowed(lines: Vec<Line>, delete_space: bool) -> Vec<Line> {
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    let mut open: Option<usize> = None; // depth of the line that goes on
    for line in lines {
        let depth = line.text.bytes().take_while(|byte| *byte == b'>').count();
        let text = &line.text[depth..];
        let text = text.strip_prefix(' ').unwrap_or(text);
        let flows = text.ends_with(' ') && text != "-- ";
        let kept = if flows && delete_space { &text[..text.len() - 1] } else { text };
        match (open, joined.last_mut()) {
            (Some(quoted), Some(last)) if quoted == depth && text != "-- " => last.text.push_str(kept),
            _ => {
                let quotes = ">".repeat(depth);
                let blank = if depth > 0 { " " } else { "" };
                joined.push(Line { number: line.number, text: format!("{quotes}{blank}{kept}") });
            }
        }
        open = flows.then_some(depth);
    }
    joined
}
