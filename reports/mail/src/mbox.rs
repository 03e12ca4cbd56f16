//! An mbox cut into mails.

use std::borrow::Cow;

/// One mail of an mbox, without its `From ` line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    /// Number of its first line in the input, from 1.
    pub(crate) first_line: usize,
    /// Its bytes, quoted `From ` lines restored.
    pub(crate) bytes: Cow<'a, [u8]>,
}

/// Whether a line starts a mail: `From `, anything, a time of day and a year. As git decides it, so that prose which begins
/// with the word does not cut a mail in two.
pub(crate) fn is_from_line(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let words: Vec<&[u8]> = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let time =
        |word: &[u8]| word.contains(&b':') && word.iter().all(|byte| matches!(byte, b':' | b'0'..=b'9'));
    let year = |word: &[u8]| word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    words.len() >= 3
        && words.iter().any(|word| time(word))
        && words.iter().rev().take(3).any(|word| year(word))
}

/// All mails of an mbox. Where a mail says its length and a `From ` line or the end is there, it is believed (mboxcl2 leaves
/// such lines of the text unquoted).
pub(crate) fn split(bytes: &[u8]) -> Vec<Cut<'_>> {
    let mut cuts = Vec::new();
    let mut mail: Option<(usize, usize, bool)> = None; // first line, first byte, `From ` lines are quoted
    let (mut number, mut at, mut skip_to, mut head) = (0, 0, 0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        number += 1;
        let next = at + line.len();
        let text = line.trim_ascii_end();
        if at >= skip_to && is_from_line(text) {
            if let Some((first_line, start, quoted)) = mail {
                cuts.push(Cut { first_line, bytes: restored(&bytes[start..at], quoted) });
            }
            mail = Some((number + 1, next, !is_format_patch(text)));
            (skip_to, head) = (0, true);
        } else if head && text.is_empty() {
            head = false;
            if let Some((_, start, _)) = mail {
                skip_to = said_end(bytes, start, next).unwrap_or(0);
            }
        }
        at = next;
    }
    if let Some((first_line, start, quoted)) = mail {
        cuts.push(Cut { first_line, bytes: restored(&bytes[start..], quoted) });
    }
    cuts
}

/// `git format-patch` writes a hash in place of a sender and quotes nothing.
fn is_format_patch(from_line: &[u8]) -> bool {
    let sender = from_line.split(u8::is_ascii_whitespace).nth(1).unwrap_or_default();
    sender.len() >= 40 && sender.iter().all(u8::is_ascii_hexdigit)
}

/// Where the body ends by its `Content-Length`, if that leads to where a mail may end.
fn said_end(bytes: &[u8], start: usize, body: usize) -> Option<usize> {
    let head = bytes[start..body].split(|byte| *byte == b'\n');
    let mut value = head.filter_map(|line| {
        let (name, value) = line.split_at_checked(15)?;
        name.eq_ignore_ascii_case(b"content-length:").then(|| value.trim_ascii())
    });
    let length: usize = std::str::from_utf8(value.next_back()?).ok()?.parse().ok()?;
    let end = body.checked_add(length)?;
    let rest = bytes.get(end..)?;
    let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    (rest.is_empty() || is_from_line(line.trim_ascii_end())).then_some(end)
}

/// Takes one `>` from lines that are `From ` behind any number of them.
fn restored(bytes: &[u8], quoted: bool) -> Cow<'_, [u8]> {
    let is_quoted = |line: &[u8]| {
        line.first() == Some(&b'>')
            && line[line.iter().take_while(|byte| **byte == b'>').count()..].starts_with(b"From ")
    };
    let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
    if !quoted || !lines().any(is_quoted) {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(lines().flat_map(|line| &line[usize::from(is_quoted(line))..]).copied().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HEAD: &str = "From mboxrd@z Thu Jan  1 00:00:00 1970\n";

    fn texts(mbox: &str) -> Vec<(usize, String)> {
        let text = |cut: &Cut<'_>| (cut.first_line, String::from_utf8_lossy(&cut.bytes).into_owned());
        split(mbox.as_bytes()).iter().map(text).collect()
    }

    #[test]
    fn from_lines_need_a_date() {
        assert!(is_from_line(HEAD.trim_end().as_bytes()));
        assert!(is_from_line(b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001"));
        assert!(is_from_line(b"From a@lab.example Tue Dec  1 10:11:12 +0100 2026"));
        assert!(!is_from_line(b"From here on, at 10:30, it was slow"));
        assert!(!is_from_line(b"From: a@lab.example"));
        assert!(!is_from_line(b">From a@lab.example Tue Dec  1 10:11:12 2026"));
    }

    #[test]
    fn quoted_lines_are_restored_and_counted() {
        let mails =
            texts(&format!("{HEAD}Subject: a\n\n>From b\n>>From c\n> From d\n\n{HEAD}Subject: e\n\nf\n"));
        let first = "Subject: a\n\nFrom b\n>From c\n> From d\n\n".to_owned();
        assert_eq!(mails, [(2, first), (9, "Subject: e\n\nf\n".to_owned())]);
    }

    #[test]
    fn format_patch_quotes_nothing() {
        let hash = "f".repeat(40);
        let mails = texts(&format!("From {hash} Mon Sep 17 00:00:00 2001\nSubject: a\n\n>From b\n"));
        assert_eq!(mails[0].1, "Subject: a\n\n>From b\n");
    }

    #[test]
    fn a_length_is_believed_where_it_fits() {
        let body = format!("one\n{HEAD}two\n");
        let length = body.len();
        let mails = texts(&format!("{HEAD}Content-Length: {length}\n\n{body}\n{HEAD}Subject: b\n\nc\n"));
        assert_eq!(mails.len(), 2);
        assert_eq!(mails[1].0, 9);
        let mails = texts(&format!("{HEAD}Content-Length: 1\n\n{body}\n{HEAD}Subject: b\n\nc\n"));
        assert_eq!(mails.len(), 3);
    }
}
