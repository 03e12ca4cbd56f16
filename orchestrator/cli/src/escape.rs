//! What boards, mails and files contain never reaches a terminal as control characters.

use std::io::Write;

/// Prints to standard error. That nobody can read it (a closed terminal, a full disk) never ends what kab is doing.
pub(crate) fn print_err(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Text for a terminal: line breaks and tabs stay, every other control character is shown as an escape.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_bidi(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change the direction of what follows, with which text can be made to read as other text.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\r\nc\td\u{9b}1m"), "a\\u{1b}[31mb\\r\nc\td\\u{9b}1m");
        assert_eq!(printable("abc\u{202e}def"), "abc\\u{202e}def");
        assert_eq!(printable("v6.15 \u{e4}"), "v6.15 \u{e4}");
    }
}
