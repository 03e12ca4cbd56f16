//! What boards, mails and files contain never reaches a terminal as control characters.

use std::io::Write;

/// Prints to standard error. That nobody can read it (a closed terminal, a full disk) never ends what kab is doing.
pub(crate) fn print_err(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Text for a terminal: line breaks and tabs stay, every other control character is shown as an escape, which in a string of
/// JSON means the character.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_bidi(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
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
        assert_eq!(printable("a\x1b[31mb\r\nc\td\u{9b}1m"), "a\\u001b[31mb\\u000d\nc\td\\u009b1m");
        assert_eq!(printable("abc\u{202e}def"), "abc\\u202edef");
        assert_eq!(printable("v6.15 \u{e4}"), "v6.15 \u{e4}");
        let text = "a\u{202e}b\u{7f}";
        let json = printable(&serde_json::to_string(text).unwrap_or_default());
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some(text));
    }
}
