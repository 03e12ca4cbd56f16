//! Marks that pages, terminals and Markdown put into lines: entities, colours, code and bold marks. Blanks take their
//! place, so that every character stays where it was.

use std::borrow::Cow;

/// What stands for characters in pages.
const ENTITIES: &[(&str, char)] = &[
    ("&gt;", '>'),
    ("&lt;", '<'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&nbsp;", ' '),
];

/// Whether there is anything to take off.
pub(crate) fn is_dressed(text: &[u8]) -> bool {
    memchr::memchr3(b'\x1b', b'`', b'&', text).is_some() || memchr::memmem::find(text, b"**").is_some()
}

/// A line of the same length without those marks.
pub(crate) fn undressed(line: Cow<'_, str>) -> Cow<'_, str> {
    if !is_dressed(line.as_bytes()) {
        return line;
    }
    let mut text = line.into_owned();
    if text.contains('\x1b') {
        text = without_colours(&text);
    }
    if text.contains('&') {
        for (entity, character) in ENTITIES {
            text = with_character(&text, entity, *character);
        }
    }
    if is_fence(&text) {
        text = " ".repeat(text.len());
    }
    // Strings of JSON are left as they are.
    if !text.contains('"') {
        text = text.replace('`', " ").replace("_**", "   ").replace("**_", "   ").replace("**", "  ");
    }
    Cow::Owned(text)
}

/// A line that begins or ends a block of code, with the block's language.
fn is_fence(line: &str) -> bool {
    let language = line.trim().strip_prefix("```").unwrap_or(" ");
    language.len() <= 12 && language.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Each entity as its character between blanks. Those of a quotation stand outside of it.
fn with_character(text: &str, entity: &str, character: char) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(entity);
    out.push_str(parts.next().unwrap_or(""));
    for (number, part) in parts.enumerate() {
        let width = entity.len();
        let ends = character == '"' && number % 2 == 1;
        out.push_str(&if ends { format!("{character:<width$}") } else { format!("{character:>width$}") });
        out.push_str(part);
    }
    out
}

/// `ESC [ … letter`, the sequences of terminals.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&rest[..at]);
        let sequence = &rest[at + 1..];
        let parameters = sequence.strip_prefix('[').map_or(0, |inner| {
            1 + inner.bytes().take_while(|b| b.is_ascii_digit() || b";?".contains(b)).count()
        });
        let last =
            sequence[parameters..].bytes().next().is_some_and(|b| b.is_ascii_alphabetic() && parameters > 0);
        let width = 1 + parameters + usize::from(last);
        out.extend(std::iter::repeat_n(' ', width));
        rest = &rest[at + width..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_blanks_of_the_same_length() {
        let cases = [
            ("`clat (usec): min=1,` **`avg=5`**`, x`", " clat (usec): min=1,     avg=5    , x "),
            ("\x1b[1;32mread\x1b[0m: \x1b[Kx", "       read    :    x"),
            ("32=0.0%, &gt;=64=0.0%", "32=0.0%,    >=64=0.0%"),
            ("&quot;a&quot; : 1", "     \"a\"      : 1"),
            ("\"a**b\" : \"`c`\"", "\"a**b\" : \"`c`\""),
            ("```text", "       "),
            ("a \x1b ü \x1b[3", "a   ü    "),
        ];
        for (from, to) in cases {
            assert_eq!(undressed(from.into()), to);
            assert_eq!(from.len(), to.len());
        }
    }
}
