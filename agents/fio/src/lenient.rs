//! A JSON reader for what fio prints, which is not always JSON: raw control characters in strings, repeated
//! keys, `nan` and `inf`, trailing commas. Objects keep all their pairs in order.

/// How deep values may nest; fio's documents need 8.
const MAX_DEPTH: usize = 64;

/// A value as read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// `null`, `true` or `false`; fio prints none of them.
    Word,
    /// A number without fraction or exponent.
    Int(i128),
    /// Any other number, NaN and infinities included.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, duplicates kept.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The first value under `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.pairs().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The pairs of an object; none for all else.
    pub(crate) fn pairs(&self) -> &[(String, Value)] {
        if let Self::Object(pairs) = self { pairs } else { &[] }
    }

    /// The items of an array; none for all else.
    pub(crate) fn items(&self) -> &[Value] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, NaN where it is none.
    pub(crate) fn float(&self) -> f64 {
        match self {
            Self::Int(int) => *int as f64,
            Self::Float(float) => *float,
            _ => f64::NAN,
        }
    }

    /// The number as a count: negative and not-a-number become 0, fractions are cut.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Int(int) => u64::try_from((*int).max(0)).unwrap_or(u64::MAX),
            Self::Float(float) => *float as u64,
            _ => 0,
        }
    }
}

/// Why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Byte offset from the start of the text.
    pub(crate) at: usize,
    /// What was expected there.
    pub(crate) expected: &'static str,
}

/// Reads one value at the start of `text`; returns it with the number of bytes it took.
pub(crate) fn read(text: &str) -> Result<(Value, usize), Unread> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    Ok((value, reader.at))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, Unread> {
        self.skip_space();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(self.unread("less nesting")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(_) => self.scalar(),
            None => Err(self.unread("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Unread> {
        self.at += 1;
        let mut pairs = Vec::new();
        loop {
            self.skip_commas();
            match self.peek() {
                Some(b'}') => break self.at += 1,
                Some(b'"') => {}
                _ => return Err(self.unread("a key or }")),
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unread("a colon"));
            }
            self.at += 1;
            pairs.push((key, self.value(depth + 1)?));
        }
        Ok(Value::Object(pairs))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Unread> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_commas();
            if self.peek() == Some(b']') {
                break self.at += 1;
            }
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn string(&mut self) -> Result<String, Unread> {
        self.at += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.unread("the end of a string"));
            };
            string.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Ok(string);
            }
            self.escape(&mut string)?;
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

    fn scalar(&mut self) -> Result<Value, Unread> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || ",]}:\"".contains(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "null" | "true" | "false" => Value::Word,
            _ => number(word).ok_or_else(|| self.unread("a value"))?,
        };
        self.at += end;
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        self.skip(|b| b.is_ascii_whitespace());
    }

    fn skip_commas(&mut self) {
        self.skip(|b| b.is_ascii_whitespace() || b == b',');
    }

    fn skip(&mut self, also: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&also) {
            self.at += 1;
        }
    }

    fn unread(&self, expected: &'static str) -> Unread {
        Unread { at: self.at, expected }
    }
}

/// C prints `-nan` and `inf`, which Rust's own parser reads but for the sign of the first.
fn number(word: &str) -> Option<Value> {
    if let Ok(int) = word.parse::<i128>() {
        return Some(Value::Int(int));
    }
    if word.eq_ignore_ascii_case("-nan") {
        return Some(Value::Float(f64::NAN));
    }
    word.parse::<f64>().ok().map(Value::Float)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        read(text).unwrap().0
    }

    #[test]
    fn plain_json_reads_as_usual() {
        let read = value(r#" {"a" : [1, -2.5, "x\"\\\u00e4"], "b" : {}, "c" : null}"#);
        let items = vec![Value::Int(1), Value::Float(-2.5), Value::Text("x\"\\ä".into())];
        assert_eq!(read.get("a"), Some(&Value::Array(items)));
        assert_eq!(read.get("b"), Some(&Value::Object(vec![])));
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
    }

    #[test]
    fn a_cut_document_says_where() {
        for cut in ["{", "{\"a\"", "{\"a\":", "{\"a\":1", "[1,", "\"abc", "\"abc\\", "{\"a\":x}", ""] {
            let unread = read(cut).unwrap_err();
            assert!(unread.at <= cut.len(), "{cut:?}");
        }
        assert_eq!(read(&"[".repeat(1000)).unwrap_err().expected, "less nesting");
    }
}
