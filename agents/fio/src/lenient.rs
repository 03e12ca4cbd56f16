//! A JSON reader for what fio prints, which is not always JSON: raw control characters in strings, repeated
//! keys, `nan` and `inf`, trailing commas. Objects keep all their pairs in order, values borrow from the text.
//!
//! [`read`] takes whole values only. [`salvage`] goes on over foreign lines and keeps what is whole when the text
//! ends early.

use memchr::memchr2;
use std::borrow::Cow;

/// How deep values may nest; fio's documents need 8.
const MAX_DEPTH: usize = 64;

/// What [`Unread`] expects where values nest deeper.
pub(crate) const TOO_DEEP: &str = "less nesting";

/// Foreign lines in a row that [`salvage`] skips: more is other text, not a disturbance.
const MAX_FOREIGN: usize = 8;

/// A value as read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// `null`, `true` or `false`; fio prints none of them.
    Word,
    /// A number as it stands in the text, joined where a terminal broke the line inside of it.
    Number(Cow<'a, str>),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Object<'a>),
    /// An object of counts by number, `{"128": 7, …}`: histograms are most of JSON+, and are kept as numbers.
    Counts(Vec<(u64, u64)>),
}

/// An object, duplicates kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object<'a> {
    /// Where it begins, bytes from the start of the text.
    pub(crate) at: usize,
    /// Its pairs.
    pub(crate) pairs: Vec<(Cow<'a, str>, Value<'a>)>,
    /// Whether the text ends inside of it.
    pub(crate) cut: bool,
}

impl<'a> Value<'a> {
    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.pairs().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The pairs of an object; none for all else.
    pub(crate) fn pairs(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        if let Self::Object(object) = self { &object.pairs } else { &[] }
    }

    /// The items of an array; none for all else.
    pub(crate) fn items(&self) -> &[Value<'a>] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Where an object begins.
    pub(crate) fn at(&self) -> usize {
        if let Self::Object(object) = self { object.at } else { 0 }
    }

    /// Whether the text ends inside.
    pub(crate) fn is_cut(&self) -> bool {
        if let Self::Object(object) = self { object.cut } else { false }
    }

    /// The number, NaN where it is none. C prints `-nan`, which Rust's own parser does not read.
    pub(crate) fn float(&self) -> f64 {
        if let Self::Number(word) = self { word.parse().unwrap_or(f64::NAN) } else { f64::NAN }
    }

    /// The number as a count: negative and not-a-number become 0, fractions are cut.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Number(word) => digits(word).unwrap_or_else(|| self.float() as u64),
            _ => 0,
        }
    }

    /// The number with its sign; 0 where it is no integer.
    pub(crate) fn signed(&self) -> i64 {
        match self {
            Self::Number(word) => {
                word.parse::<i128>().map_or(0, |int| i64::try_from(int).unwrap_or(i64::MAX))
            }
            _ => 0,
        }
    }
}

/// A number of at most 19 digits, which is what nearly all are.
pub(crate) fn digits(word: &str) -> Option<u64> {
    let bytes = word.as_bytes();
    let plain = !bytes.is_empty() && bytes.len() < 20 && bytes.iter().all(u8::is_ascii_digit);
    plain.then(|| bytes.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// Why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Byte offset from the start of the text.
    pub(crate) at: usize,
    /// What was expected there.
    pub(crate) expected: &'static str,
}

/// Reads one value at `at`; returns it with the offset of its end.
pub(crate) fn read(text: &str, at: usize) -> Result<(Value<'_>, usize), Unread> {
    let mut reader = Reader { text, at, rescue: false, kept: at, gaps: false };
    let value = reader.value(0)?;
    Ok((value, reader.at))
}

/// What [`salvage`] got.
pub(crate) struct Salvage<'a> {
    /// An object; its members are whole, unless they say that they are cut.
    pub(crate) value: Value<'a>,
    /// Offset behind the last character that belongs to it.
    pub(crate) end: usize,
    /// Whether foreign text inside was skipped.
    pub(crate) gaps: bool,
}

/// Reads the members of an object, of which `at` is inside or at the opening brace. Ends at its end, at the end of the
/// text, or before text that is not JSON.
pub(crate) fn salvage(text: &str, at: usize) -> Salvage<'_> {
    let mut reader = Reader { text, at, rescue: true, kept: at, gaps: false };
    reader.skip_commas();
    if reader.peek() == Some(b'{') {
        reader.at += 1;
    }
    let object = reader.members(at, 0).unwrap_or_default();
    Salvage { value: Value::Object(object), end: reader.kept, gaps: reader.gaps }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Whether to go on behind what cannot be read.
    rescue: bool,
    /// Behind the last character that was understood.
    kept: usize,
    gaps: bool,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value<'a>, Unread> {
        self.skip_space();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                // Nobody shall begin again inside of this.
                self.kept = self.at;
                Err(self.unread(TOO_DEEP))
            }
            Some(b'{') => {
                let at = self.at;
                self.at += 1;
                self.members(at, depth).map(Value::Object)
            }
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(_) => self.scalar(),
            None => Err(self.unread("a value")),
        }
    }

    /// Reads what follows an opening brace.
    fn members(&mut self, at: usize, depth: usize) -> Result<Object<'a>, Unread> {
        let mut object = Object { at, pairs: Vec::new(), cut: false };
        loop {
            self.skip_commas();
            if self.peek() == Some(b'}') {
                self.at += 1;
                self.kept = self.at;
                return Ok(object);
            }
            match self.pair(depth) {
                Ok(pair) => {
                    self.kept = self.kept.max(self.at);
                    object.pairs.push(pair);
                }
                Err(unread) => {
                    if !self.rescue {
                        return Err(unread);
                    }
                    if !self.skip_foreign() {
                        object.cut = true;
                        return Ok(object);
                    }
                }
            }
        }
    }

    fn pair(&mut self, depth: usize) -> Result<(Cow<'a, str>, Value<'a>), Unread> {
        if self.peek() != Some(b'"') {
            return Err(self.unread("a key or }"));
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.unread("a colon"));
        }
        self.at += 1;
        if key == "bins"
            && let Some(counts) = self.counts()
        {
            return Ok((key, Value::Counts(counts)));
        }
        Ok((joined(key), self.value(depth + 1)?))
    }

    /// An object of which all keys and values are plain numbers; stays where it is another one.
    fn counts(&mut self) -> Option<Vec<(u64, u64)>> {
        let bytes = self.text.as_bytes();
        let mut at = behind_space(bytes, self.at);
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        at = behind_space(bytes, at + 1);
        let mut counts = Vec::new();
        while bytes.get(at) == Some(&b'"') {
            let (middle, end) = plain_number(bytes, at + 1)?;
            if bytes.get(end) != Some(&b'"') {
                return None;
            }
            at = behind_space(bytes, end + 1);
            if bytes.get(at) != Some(&b':') {
                return None;
            }
            let (count, end) = plain_number(bytes, behind_space(bytes, at + 1))?;
            counts.push((middle, count));
            at = behind_space(bytes, end);
            match bytes.get(at) {
                Some(b',') => at = behind_space(bytes, at + 1),
                Some(b'}') => break,
                _ => return None,
            }
        }
        if bytes.get(at) != Some(&b'}') {
            return None;
        }
        self.at = at + 1;
        self.kept = self.kept.max(self.at);
        counts.shrink_to_fit();
        Some(counts)
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, Unread> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_commas();
            if self.peek() == Some(b']') {
                self.at += 1;
                self.kept = self.at;
                return Ok(Value::Array(items));
            }
            match self.value(depth + 1) {
                Ok(item) => {
                    self.kept = self.kept.max(self.at);
                    items.push(item);
                }
                Err(unread) if !self.rescue => return Err(unread),
                Err(_) if !self.skip_foreign() => return Ok(Value::Array(items)),
                Err(_) => {}
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Unread> {
        let text = self.text;
        self.at += 1;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut from = start;
        loop {
            let Some(length) = memchr2(b'"', b'\\', &text.as_bytes()[from..]) else {
                return Err(self.unread("the end of a string"));
            };
            let end = from + length;
            self.at = end + 1;
            if text.as_bytes()[end] == b'"' {
                return Ok(match owned {
                    Some(mut string) => {
                        string.push_str(&text[from..end]);
                        Cow::Owned(string)
                    }
                    None => Cow::Borrowed(&text[start..end]),
                });
            }
            let string = owned.get_or_insert_default();
            string.push_str(&text[from..end]);
            self.escape(string)?;
            from = self.at;
        }
    }

    /// Reads what follows a backslash. An unknown escape stands for its character, as fio means it.
    fn escape(&mut self, string: &mut String) -> Result<(), Unread> {
        let Some(c) = self.text[self.at..].chars().next() else {
            return Err(self.unread("the end of a string"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => string.push('\n'),
            't' => string.push('\t'),
            'r' => string.push('\r'),
            'u' => string.push(self.code_unit()),
            other => string.push(other),
        }
        Ok(())
    }

    fn code_unit(&mut self) -> char {
        let digits = self.text.get(self.at..self.at + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
        match digits {
            Some(code) => {
                self.at += 4;
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            None => char::REPLACEMENT_CHARACTER,
        }
    }

    fn scalar(&mut self) -> Result<Value<'a>, Unread> {
        let rest = &self.text[self.at..];
        let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b']' | b'}' | b':' | b'"');
        let mut end = match rest.as_bytes().iter().position(ends) {
            Some(end) => end,
            // A number that the end of the text touches may be longer.
            None if self.rescue => return Err(self.unread("a value")),
            None => rest.len(),
        };
        let mut word = Cow::Borrowed(&rest[..end]);
        while let Some(more) = continuation(&rest[end..]) {
            word.to_mut().push_str(more);
            end += 1 + more.len();
        }
        let value = match &*word {
            "null" | "true" | "false" => Value::Word,
            number if is_number(number) => Value::Number(word),
            _ => return Err(self.unread("a value")),
        };
        self.at += end;
        Ok(value)
    }

    /// Goes to the next line; whether there is one, and something that can belong to JSON soon.
    fn skip_foreign(&mut self) -> bool {
        self.at = self.at.max(self.kept);
        for _ in 0..MAX_FOREIGN {
            let Some(newline) = memchr::memchr(b'\n', &self.text.as_bytes()[self.at..]) else {
                return false;
            };
            self.at += newline + 1;
            let ahead = self.text[self.at..].trim_start();
            if ahead.is_empty() {
                return false;
            }
            if ahead.starts_with(['"', '{', '}', ']']) {
                self.gaps = true;
                return true;
            }
        }
        false
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        self.at = behind_space(self.text.as_bytes(), self.at);
    }

    fn skip_commas(&mut self) {
        self.skip_space();
        while self.peek() == Some(b',') {
            self.at += 1;
            self.skip_space();
        }
    }

    fn unread(&self, expected: &'static str) -> Unread {
        Unread { at: self.at, expected }
    }
}

/// The first place at or behind `at` that is no blank. Indentation is a third of what fio prints.
fn behind_space(bytes: &[u8], mut at: usize) -> usize {
    const BLANKS: [u8; 8] = [b' '; 8];
    loop {
        match bytes.get(at) {
            Some(b) if b.is_ascii_whitespace() => at += 1,
            _ => return at,
        }
        while bytes.get(at..at + 8).is_some_and(|eight| eight == BLANKS) {
            at += 8;
        }
    }
}

/// At most 19 digits at a place, and where they end; nothing where more or a fraction follow.
fn plain_number(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut number, mut end) = (0u64, at);
    while let Some(digit) = bytes.get(end).map(|b| b.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        end += 1;
    }
    (end > at && end - at < 20).then_some((number, end))
}

/// The digits at the start of the next line, where a line ends right behind a number. In JSON nothing else can be there.
fn continuation(behind: &str) -> Option<&str> {
    let next = behind.strip_prefix('\n')?;
    let end = next.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    (end > 0).then(|| &next[..end])
}

/// A key without the line ends that wrapping put into it, be it at a blank or within a word.
fn joined(key: Cow<'_, str>) -> Cow<'_, str> {
    if !key.contains('\n') {
        return key;
    }
    let letters: String = key.split_whitespace().collect();
    let with_blank = ["fio version", "global options", "job options"];
    let known = with_blank.into_iter().find(|known| known.replace(' ', "") == letters);
    Cow::Owned(known.map_or(letters, str::to_owned))
}

fn is_number(word: &str) -> bool {
    digits(word).is_some() || word.eq_ignore_ascii_case("-nan") || word.parse::<f64>().is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        read(text, 0).unwrap().0
    }

    #[test]
    fn plain_json_reads_as_usual() {
        let read = value(r#" {"a" : [1, -2.5, "x\"\\\u00e4"], "b" : {}, "c" : null}"#);
        let items =
            vec![Value::Number("1".into()), Value::Number("-2.5".into()), Value::Text("x\"\\ä".into())];
        assert_eq!(read.get("a"), Some(&Value::Array(items)));
        assert!(matches!(read.get("b"), Some(Value::Object(object)) if object.pairs.is_empty()));
        assert_eq!(read.get("c"), Some(&Value::Word));
    }

    #[test]
    fn what_fio_breaks_is_read() {
        let read = value("{\"k\":\"a\tb\nc\",\"k\":2,\"n\":nan,\"m\":-nan,\"i\":-inf,\"l\":[1,2,],}");
        assert_eq!(read.pairs().len(), 6);
        assert_eq!(read.get("k").unwrap().text(), Some("a\tb\nc"));
        assert!(read.get("n").unwrap().float().is_nan() && read.get("m").unwrap().float().is_nan());
        assert_eq!(read.get("i").unwrap().float(), f64::NEG_INFINITY);
        assert_eq!(read.get("l").unwrap().items().len(), 2);
    }

    #[test]
    fn counts_never_wrap() {
        assert_eq!(value("-1").count(), 0);
        assert_eq!(value("18446744073709551615").count(), u64::MAX);
        assert_eq!(value("18446744073709551616").count(), u64::MAX);
        assert_eq!(value("nan").count(), 0);
        assert_eq!(value("\"7\"").count(), 0);
        assert_eq!((value("-110").signed(), value("1e3").signed()), (-110, 0));
    }

    #[test]
    fn a_cut_document_says_where() {
        for cut in ["{", "{\"a\"", "{\"a\":", "{\"a\":1", "[1,", "\"abc", "\"abc\\", "{\"a\":x}", ""] {
            let unread = read(cut, 0).unwrap_err();
            assert!(unread.at <= cut.len(), "{cut:?}");
        }
        assert_eq!(read(&"[".repeat(1000), 0).unwrap_err().expected, "less nesting");
    }

    #[test]
    fn what_is_whole_is_kept() {
        let got = salvage("{\"a\": 1, \"b\": {\"c\": 2}, \"d\": {\"e\": 3, \"f\": 45", 0);
        assert!(got.value.is_cut() && !got.value.get("b").unwrap().is_cut());
        let cut = got.value.get("d").unwrap();
        assert!(cut.is_cut() && cut.get("e").unwrap().count() == 3 && cut.get("f").is_none());
    }

    #[test]
    fn foreign_lines_are_skipped_and_foreign_text_is_not() {
        let got = salvage("{\"a\": 1,\n[ 12.5] usb: reset\n\"b\": 2}\nrest", 0);
        assert!(got.gaps && got.value.get("b").unwrap().count() == 2 && !got.value.is_cut());
        let text = format!("{{\"a\": 1,\n{}\"b\": 2}}", "prose\n".repeat(20));
        let got = salvage(&text, 0);
        assert!(got.value.is_cut() && got.value.get("b").is_none() && got.end < 10);
    }
}
