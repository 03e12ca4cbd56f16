//! Reads words and numbers of fio's text wherever a line was broken.

/// Longest number or word that is read: a bound, so that no input makes the reader run far.
const LONGEST: usize = 40;

/// A place in a text.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    /// Offset of the next byte.
    pub(crate) at: usize,
}

/// A number as it was printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Number {
    /// Its characters, joined where a line was broken.
    pub(crate) text: String,
    /// Its value without suffix.
    pub(crate) value: f64,
    /// Digits behind the point.
    pub(crate) decimals: usize,
    /// Where it begins.
    pub(crate) at: usize,
}

impl Number {
    /// As a count; not a number and negative ones are 0.
    pub(crate) fn count(&self) -> u64 {
        self.text.parse().unwrap_or(self.value as u64)
    }

    /// What one step of the last digit is.
    pub(crate) fn step(&self) -> f64 {
        0.1f64.powi(i32::try_from(self.decimals).unwrap_or(0))
    }
}

impl<'a> Cursor<'a> {
    /// At an offset of a text.
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// What lies ahead.
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// What lies ahead, at most `reach` bytes of it.
    pub(crate) fn near(&self, reach: usize) -> &'a str {
        let rest = self.rest();
        let mut end = rest.len().min(reach);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        &rest[..end]
    }

    /// The rest of the line, at most `reach` bytes of it.
    pub(crate) fn line(&self, reach: usize) -> &'a str {
        self.near(reach).split('\n').next().unwrap_or("")
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether the cursor is between two characters.
    pub(crate) fn is_boundary(&self) -> bool {
        self.text.is_char_boundary(self.at)
    }

    /// Skips blanks and line ends.
    pub(crate) fn blank(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips a line end with the blanks around it, where one is next.
    fn wrap(&mut self) -> bool {
        let start = self.at;
        self.blank();
        if self.text.as_bytes()[start..self.at].contains(&b'\n') {
            return true;
        }
        self.at = start;
        false
    }

    /// Goes behind `pattern`, or stays and tells so. A blank of the pattern stands for any blanks or none, and between
    /// any two characters the line may be broken.
    pub(crate) fn eat(&mut self, pattern: &str) -> bool {
        let start = self.at;
        for c in pattern.bytes() {
            if c == b' ' {
                self.blank();
            } else if !self.eat_byte(c) {
                self.at = start;
                return false;
            }
        }
        true
    }

    fn eat_byte(&mut self, byte: u8) -> bool {
        let start = self.at;
        if self.peek() != Some(byte) {
            // The first character of a pattern begins where the cursor is.
            if !self.wrap() || self.peek() != Some(byte) {
                self.at = start;
                return false;
            }
        }
        self.at += 1;
        true
    }

    /// The first of `patterns` that is next.
    pub(crate) fn any(&mut self, patterns: &[&'static str]) -> Option<&'static str> {
        patterns.iter().copied().find(|pattern| self.eat(pattern))
    }

    /// A number that something of fio's follows on the same line: digits behind a line break belong to it.
    pub(crate) fn number(&mut self) -> Option<Number> {
        let start = self.at;
        let number = self.digits(|_| true);
        // What the end of the text touches may be longer.
        if number.is_none() || self.at >= self.text.len() {
            self.at = start;
            return None;
        }
        number
    }

    /// A number at the end of a line of fio's: digits behind a line break belong to it where nothing else stands in
    /// their word.
    pub(crate) fn last_number(&mut self) -> Option<Number> {
        let start = self.at;
        let number = self.digits(|rest| {
            let word = rest.split_ascii_whitespace().next().unwrap_or("").trim_end_matches(',');
            word.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !word.starts_with("...")
        });
        if number.is_none() || self.at >= self.text.len() {
            self.at = start;
            return None;
        }
        number
    }

    fn digits(&mut self, joins: impl Fn(&str) -> bool) -> Option<Number> {
        self.blank();
        let at = self.at;
        let mut text = String::new();
        if let Some(word) = self.any(&["-nan", "nan", "-inf", "inf"]) {
            let value = if word.ends_with("nan") { f64::NAN } else { f64::INFINITY };
            return Some(Number { text: word.to_owned(), value, decimals: 0, at });
        }
        if self.eat("-") {
            text.push('-');
        }
        while text.len() < LONGEST {
            match self.peek() {
                Some(b) if b.is_ascii_digit() || (b == b'.' && !text.contains('.')) => {
                    text.push(char::from(b));
                    self.at += 1;
                }
                Some(b) if b.is_ascii_whitespace() && !text.is_empty() => {
                    let end = self.at;
                    let next = self.wrap().then(|| self.peek()).flatten();
                    let digit = next.is_some_and(|b| b.is_ascii_digit() || b == b'.');
                    if !digit || !joins(bounded(self.rest())) {
                        self.at = end;
                        break;
                    }
                }
                _ => break,
            }
        }
        let value = text.parse().ok()?;
        let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        Some(Number { text, value, decimals, at })
    }

    /// Goes to behind the next `pattern` within `reach` bytes.
    pub(crate) fn skip_to(&mut self, pattern: &str, reach: usize) -> bool {
        let start = self.at;
        let end = self.text.len().min(start + reach);
        while self.at < end {
            if self.eat(pattern) {
                return true;
            }
            self.at += self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        }
        self.at = start;
        false
    }
}

/// As much as a number can need.
fn bounded(rest: &str) -> &str {
    let end = (0..=LONGEST.min(rest.len())).rev().find(|i| rest.is_char_boundary(*i)).unwrap_or(0);
    &rest[..end]
}

/// What a decimal suffix stands for; both `k` and `K` are 1000.
pub(crate) fn suffix(cursor: &mut Cursor<'_>) -> f64 {
    let found = cursor.any(&["k", "K", "M", "G", "T", "P"]);
    found.map_or(1.0, |letter| power(letter, 1000.0))
}

/// The value of a prefix letter to a base.
pub(crate) fn power(letter: &str, base: f64) -> f64 {
    let exponent = match letter {
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => 0,
    };
    base.powi(exponent)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_go_over_broken_lines() {
        assert!(Cursor::new("cl\n  at  (us\nec):min=", 0).eat("clat (usec) : min="));
        assert!(!Cursor::new("cl at (usec)", 0).eat("clat"), "a blank is no line break");
    }

    #[test]
    fn numbers_are_joined_where_fio_would_go_on() {
        let number = |text: &str| Cursor::new(text, 0).number().map(|n| n.text);
        assert_eq!(number(" 123\n45,").as_deref(), Some("12345"));
        assert_eq!(number("12.\n5k,").as_deref(), Some("12.5"));
        assert_eq!(number("123"), None, "may be longer");
        let last = |text: &str| Cursor::new(text, 0).last_number().map(|n| n.text);
        assert_eq!(last("192.\n73\n lat").as_deref(), Some("192.73"));
        assert_eq!(last("4\n4k: (g=0)").as_deref(), Some("4"));
        assert_eq!(last("1\n...\n").as_deref(), Some("1"));
    }

    #[test]
    fn prefixes() {
        assert_eq!(
            (power("k", 1000.0), power("K", 1024.0), power("M", 1000.0), power("", 7.0)),
            (1e3, 1024.0, 1e6, 1.0)
        );
    }
}
