//! Marks that pages, terminals and Markdown put into lines: entities, colours, code and bold marks. Blanks take their
//! place, so that every character stays where it was.

use memchr::memmem;

/// What stands for characters in pages.
const ENTITIES: &[(&[u8], u8)] = &[
    (b"&gt;", b'>'),
    (b"&lt;", b'<'),
    (b"&amp;", b'&'),
    (b"&quot;", b'"'),
    (b"&#34;", b'"'),
    (b"&#39;", b'\''),
    (b"&nbsp;", b' '),
];

/// Marks of Markdown; longer ones first.
const MARKS: &[&[u8]] = &[b"_**", b"**_", b"**", b"`"];

/// Whether there is anything to take off.
pub(crate) fn is_dressed(text: &[u8]) -> bool {
    memchr::memchr3(b'\x1b', b'`', b'&', text).is_some() || memmem::find(text, b"**").is_some()
}

/// Takes the marks off a line.
pub(crate) fn undress(line: &mut [u8]) {
    let has = |wanted: u8| line.contains(&wanted);
    // Strings of JSON are left as they are.
    let (colours, entities, marks) = (has(b'\x1b'), has(b'&'), (has(b'`') || has(b'*')) && !has(b'"'));
    if colours {
        without_colours(line);
    }
    if entities {
        without_entities(line);
    }
    if marks {
        if is_fence(line) {
            line.fill(b' ');
        }
        for mark in MARKS {
            blank_all(line, mark);
        }
    }
}

/// `ESC [ … letter`, the sequences of terminals.
fn without_colours(line: &mut [u8]) {
    let mut at = 0;
    while let Some(escape) = memchr::memchr(b'\x1b', &line[at..]).map(|i| at + i) {
        let mut end = escape + 1;
        if line.get(end) == Some(&b'[') {
            end += 1;
            let parameter = |b: &u8| b.is_ascii_digit() || b";?".contains(b);
            end += line[end..].iter().take_while(|b| parameter(b)).count();
            end += usize::from(line.get(end).is_some_and(u8::is_ascii_alphabetic));
        }
        line[escape..end].fill(b' ');
        at = end;
    }
}

/// Each entity as its character between blanks. Those of a quotation stand outside of it.
fn without_entities(line: &mut [u8]) {
    let mut ends = false;
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'&', &line[at..]).map(|i| at + i) {
        at = start + 1;
        let Some((entity, character)) = ENTITIES.iter().find(|(entity, _)| line[start..].starts_with(entity))
        else {
            continue;
        };
        let end = start + entity.len();
        line[start..end].fill(b' ');
        line[if ends && *character == b'"' { start } else { end - 1 }] = *character;
        ends ^= *character == b'"';
        at = end;
    }
}

/// A line that begins or ends a block of code, with the block's language.
fn is_fence(line: &[u8]) -> bool {
    let language = line.trim_ascii().strip_prefix(b"```").unwrap_or(b" ");
    language.len() <= 12 && language.iter().all(u8::is_ascii_alphanumeric)
}

fn blank_all(line: &mut [u8], mark: &[u8]) {
    let mut at = 0;
    while let Some(start) = memchr::memchr(mark[0], &line[at..]).map(|i| at + i) {
        at = start + 1;
        if line[start..].starts_with(mark) {
            at = start + mark.len();
            line[start..at].fill(b' ');
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_blanks_of_the_same_length() {
        let cases = [
            ("`clat (usec): min=1,` **`avg=5`**`, x`", " clat (usec): min=1,     avg=5    , x "),
            ("\x1b[1;32mread\x1b[0m: \x1b[Kx", "       read    :    x"),
            ("32=0.0%, &gt;=64=0.0%", "32=0.0%,    >=64=0.0%"),
            ("&quot;a&quot; : 1 &x", "     \"a\"      : 1 &x"),
            ("\"a**b\" : \"`c`\"", "\"a**b\" : \"`c`\""),
            ("```text", "       "),
            ("a \x1b ü \x1b[3", "a   ü    "),
        ];
        for (from, to) in cases {
            let mut line = from.as_bytes().to_vec();
            undress(&mut line);
            assert_eq!(String::from_utf8(line).unwrap(), to);
        }
    }
}
