//! The lines of one mail, without quote marks, and what each of them is used for.

use kab_mail::{Line, Mail};

/// A line as the readers see it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Line of the input.
    pub(crate) number: usize,
    /// As it stood, decoded.
    pub(crate) original: String,
    /// Without quote marks.
    pub(crate) text: String,
    /// How many quote marks it had.
    pub(crate) depth: usize,
    /// Whether a reader has taken it for data: then it is no prose.
    pub(crate) taken: bool,
}

/// All lines of a mail.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) rows: Vec<Row>,
}

/// Consecutive lines of prose as one text.
#[derive(Debug)]
pub(crate) struct Sentence {
    pub(crate) text: String,
    /// `(offset, index of the line)`, ascending.
    starts: Vec<(usize, usize)>,
}

impl Source {
    /// The text of a mail, then its attachments.
    pub(crate) fn of(mail: &Mail) -> Self {
        let attached = mail.attachments.iter().flat_map(|attachment| attachment.lines.iter());
        Self { rows: mail.body.iter().chain(attached).map(row).collect() }
    }

    /// The lines as fio's reader takes them; the line of what it finds is an index plus one.
    pub(crate) fn joined(&self) -> String {
        let lines = self.rows.iter().map(|row| row.original.replace(['\n', '\r'], " "));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn text(&self, index: usize) -> &str {
        self.rows.get(index).map_or("", |row| row.text.as_str())
    }

    pub(crate) fn is_blank(&self, index: usize) -> bool {
        self.text(index).trim().is_empty()
    }

    pub(crate) fn take(&mut self, lines: impl IntoIterator<Item = usize>) {
        for index in lines {
            if let Some(row) = self.rows.get_mut(index) {
                row.taken = true;
            }
        }
    }

    /// Prose, sentence by sentence.
    pub(crate) fn sentences(&self) -> Vec<Sentence> {
        let mut sentences = Vec::new();
        let mut open = Sentence { text: String::new(), starts: Vec::new() };
        let mut depth = 0;
        for (index, row) in self.rows.iter().enumerate() {
            if row.taken || row.text.trim().is_empty() || row.depth != depth {
                open.flush(&mut sentences);
            }
            depth = row.depth;
            if !row.taken && !row.text.trim().is_empty() {
                open.add(index, row.text.trim());
            }
        }
        open.flush(&mut sentences);
        sentences
    }
}

impl Sentence {
    /// Index of the line that holds an offset.
    pub(crate) fn line(&self, offset: usize) -> usize {
        let after = self.starts.partition_point(|(start, _)| *start <= offset);
        self.starts.get(after.saturating_sub(1)).map_or(0, |(_, index)| *index)
    }

    fn add(&mut self, index: usize, text: &str) {
        // A paragraph of this size is data that no reader knew.
        const LONGEST: usize = 4000;
        if !self.text.is_empty() && self.text.len() < LONGEST {
            self.text.push(' ');
        }
        if self.text.len() < LONGEST {
            self.starts.push((self.text.len(), index));
            self.text.push_str(text);
        }
    }

    fn flush(&mut self, into: &mut Vec<Sentence>) {
        let whole = std::mem::replace(self, Self { text: String::new(), starts: Vec::new() });
        let mut from = 0;
        let ends = whole.text.match_indices(['.', '!', '?', ';']).map(|(at, end)| at + end.len());
        let ends = ends.filter(|end| is_end(&whole.text, *end)).chain(std::iter::once(whole.text.len()));
        for end in ends.collect::<Vec<_>>() {
            let text = whole.text[from..end].trim_end();
            if !text.trim().is_empty() {
                let first = whole.line(from);
                let inside = whole.starts.iter().filter(|(start, _)| (from..end).contains(start));
                let mut starts: Vec<(usize, usize)> =
                    inside.map(|(start, line)| (start - from, *line)).collect();
                if starts.first().is_none_or(|(start, _)| *start > 0) {
                    starts.insert(0, (0, first));
                }
                into.push(Sentence { text: text.to_owned(), starts });
            }
            from = end;
        }
    }
}

/// A full stop ends a sentence if a blank and a capital follow; `vs. 12` goes on.
fn is_end(text: &str, end: usize) -> bool {
    let rest = &text[end..];
    rest.starts_with(' ') && rest.trim_start().starts_with(char::is_uppercase)
}

fn row(line: &Line) -> Row {
    let mut text = line.text.trim_end();
    let mut depth = 0;
    loop {
        let trimmed = text.trim_start_matches(' ');
        match trimmed.strip_prefix('>') {
            // A quote mark stands at most one blank in.
            Some(rest) if text.len() - trimmed.len() <= 1 => {
                text = rest;
                depth += 1;
            }
            _ => break,
        }
    }
    if depth > 0 {
        text = text.strip_prefix(' ').unwrap_or(text);
    }
    let text = text.replace('\t', "        ").replace('\u{a0}', " ");
    Row { number: line.number, original: line.text.clone(), text, depth, taken: false }
}
