//! Diffs inside of text: whether there is one, whether it is whole, and where a signature begins.

use crate::mail::Line;

/// What is wrong with a diff.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The text ends inside of a hunk.
    #[error("the patch is cut off: the hunk of line {hunk} lacks {lacks} lines")]
    Truncated {
        /// Line of the input where the hunk starts.
        hunk: usize,
        /// How many of its lines are missing, at least.
        lacks: usize,
    },
    /// A line inside of a hunk is neither context nor added nor removed.
    #[error("the patch is damaged at line {line}, perhaps wrapped by a mail program: {text:?}")]
    Damaged {
        /// Line of the input.
        line: usize,
        /// The line.
        text: String,
    },
}

/// Lines of one hunk that are still to come.
#[derive(Clone, Copy)]
struct Hunk {
    start: usize,
    old: usize,
    new: usize,
}

/// Whether the lines hold a diff that `git apply` would look at.
pub fn has_diff(lines: &[Line]) -> bool {
    lines.iter().enumerate().any(|(index, line)| {
        line.text.starts_with("diff --git ")
            || line.text.starts_with("--- ")
                && lines.get(index + 1).is_some_and(|next| next.text.starts_with("+++ "))
                && lines.get(index + 2).is_some_and(|next| next.text.starts_with("@@ "))
    })
}

/// Checks that every hunk has the lines that its head announces.
///
/// # Errors
///
/// The first damage.
pub fn check(lines: &[Line]) -> Result<(), Damage> {
    let mut hunk: Option<Hunk> = None;
    for line in lines {
        if let Some(open) = hunk {
            hunk = inside(open, line)?;
        } else {
            hunk = head(line);
        }
    }
    match hunk {
        Some(open) => Err(Damage::Truncated { hunk: open.start, lacks: open.old.max(open.new) }),
        None => Ok(()),
    }
}

/// Index of the line `-- ` behind which the signature stands, hunks left aside; the number of lines if there is none.
pub(crate) fn signature(lines: &[Line]) -> usize {
    let mut hunk: Option<Hunk> = None;
    let mut found = lines.len();
    for (index, line) in lines.iter().enumerate() {
        if let Some(open) = hunk {
            hunk = inside(open, line).unwrap_or(None);
        } else if line.text == "-- " {
            found = index;
        } else {
            hunk = head(line);
            if hunk.is_some() {
                found = lines.len();
            }
        }
    }
    found
}

/// The hunk that is open after a line of it. Mail programs strip the blank of an empty context line.
fn inside(mut open: Hunk, line: &Line) -> Result<Option<Hunk>, Damage> {
    let damaged = || Damage::Damaged { line: line.number, text: line.text.clone() };
    let (old, new) = match line.text.bytes().next() {
        None | Some(b' ') => (1, 1),
        Some(b'-') => (1, 0),
        Some(b'+') => (0, 1),
        Some(b'\\') => (0, 0),
        Some(_) if line.text == "\r" => (1, 1),
        Some(_) => return Err(damaged()),
    };
    open.old = open.old.checked_sub(old).ok_or_else(damaged)?;
    open.new = open.new.checked_sub(new).ok_or_else(damaged)?;
    Ok((open.old > 0 || open.new > 0).then_some(open))
}

/// `@@ -1,2 +3,4 @@`
fn head(line: &Line) -> Option<Hunk> {
    let (ranges, _) = line.text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => range.parse().ok().map(|_: usize| 1),
    };
    let hunk = Hunk { start: line.number, old: count(old)?, new: count(new)? };
    (hunk.old > 0 || hunk.new > 0).then_some(hunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Line> {
        text.split('\n').zip(1..).map(|(text, number)| Line { number, text: text.to_owned() }).collect()
    }

    #[test]
    fn whole_diffs() {
        let text = "say\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f\n a\n--- \n+b\n\n\\ No newline at end of file\n-- \n2.39";
        let lines = lines(text);
        assert!(has_diff(&lines));
        assert_eq!(check(&lines), Ok(()));
        assert_eq!(signature(&lines), 9);
    }

    #[test]
    fn damage_is_found_with_its_line() {
        let cut = lines("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n-b");
        assert_eq!(check(&cut), Err(Damage::Truncated { hunk: 4, lacks: 4 }));
        let wrapped =
            lines("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a long\nline\n-b\n+c\n d");
        assert_eq!(check(&wrapped), Err(Damage::Damaged { line: 6, text: "line".to_owned() }));
    }

    #[test]
    fn prose_is_no_diff() {
        assert!(!has_diff(&lines("--- \nwe diff --git a/x\n@@ -1 +1 @@")));
        assert_eq!(signature(&lines("a\n-- \nb")), 1);
        assert_eq!(signature(&lines("a\n--\nb")), 3);
    }
}
