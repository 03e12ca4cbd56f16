//! What boards, mails and files contain never reaches a terminal as control characters.

/// Text for a terminal: line breaks and tabs stay, every other control character is shown as an escape.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\r\nc\td\u{9b}1m"), "a\\u{1b}[31mb\\r\nc\td\\u{9b}1m");
        assert_eq!(printable("v6.15 \u{e4}"), "v6.15 \u{e4}");
    }
}
