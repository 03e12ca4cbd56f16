//! A reply that a person may send: headers of RFC 5322, plain text, nothing attached. Who writes it has no clock, so the program that
//! sends it adds `From:`, `Date:` and `Message-ID:`, as `git send-email` and mutt do.

use crate::mail::{Mail, Person};
use std::fmt::{self, Write};

/// Columns of a line; longer only where one word is.
pub const WIDTH: usize = 78;
/// Longest encoded word of RFC 2047.
const ENCODED: usize = 75;
/// Lines of a mail that are quoted.
const QUOTED: usize = 12;

/// A mail that is not sent yet. [`fmt::Display`] writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// Who is addressed.
    pub to: Vec<Person>,
    /// Who else gets it.
    pub cc: Vec<Person>,
    /// The subject, decoded.
    pub subject: String,
    /// The mail that is answered, without angle brackets.
    pub in_reply_to: Option<String>,
    /// The thread above, oldest first, without angle brackets.
    pub references: Vec<String>,
    /// The text.
    pub body: String,
}

impl Draft {
    /// An answer to all: to the author, copies to everybody else who had the mail.
    pub fn reply_to(mail: &Mail) -> Self {
        let mut draft = Self {
            subject: answered(&mail.subject.text),
            in_reply_to: mail.message_id.clone(),
            references: mail.references.clone(),
            ..Self::default()
        };
        if draft.references.is_empty() {
            draft.references.extend(mail.in_reply_to.clone());
        }
        if let Some(id) = &mail.message_id {
            draft.references.retain(|reference| reference != id);
            draft.references.push(id.clone());
        }
        draft.to.extend(mail.from.clone());
        mail.to.iter().chain(&mail.cc).for_each(|person| draft.copy(person));
        draft
    }

    /// An answer to a mail of which only the id is known; the rest is for the sender to add.
    pub fn reply_to_id(id: &str, subject: &str) -> Self {
        let id = id.trim().trim_start_matches('<').trim_end_matches('>').to_owned();
        Self {
            subject: answered(subject),
            in_reply_to: Some(id.clone()),
            references: vec![id],
            ..Self::default()
        }
    }

    /// Adds a recipient of a copy, unless he gets the mail already.
    pub fn copy(&mut self, person: &Person) {
        let known = |other: &Person| other.address.eq_ignore_ascii_case(&person.address);
        if !self.to.iter().chain(&self.cc).any(known) {
            self.cc.push(person.clone());
        }
    }

    /// Puts the beginning of `mail`'s text, without any diff, above the body.
    pub fn quote(&mut self, mail: &Mail) {
        let text: Vec<&str> = mail
            .without_signature()
            .iter()
            .map(|line| line.text.as_str())
            .take_while(|line| *line != "---" && !line.starts_with("diff --git "))
            .collect();
        let end = text.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        let mut quoted = attribution(mail);
        for line in text[..end.min(QUOTED)].iter().flat_map(|line| folded(line, WIDTH - 2)) {
            let _ = writeln!(quoted, "{}", format!("> {line}").trim_end());
        }
        if end > QUOTED {
            quoted.push_str("> [...]\n");
        }
        self.body = format!("{quoted}\n{}", self.body);
    }
}

impl fmt::Display for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        people(f, "To", &self.to)?;
        people(f, "Cc", &self.cc)?;
        header(f, "Subject", &encoded_words(&self.subject, "Subject: ".len()))?;
        if let Some(id) = self.in_reply_to.as_deref().filter(|id| is_id(id)) {
            header(f, "In-Reply-To", &[format!("<{id}>")])?;
        }
        let references: Vec<String> =
            self.references.iter().filter(|id| is_id(id)).map(|id| format!("<{id}>")).collect();
        header(f, "References", &references)?;
        if !self.body.is_ascii() {
            f.write_str("MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n")?;
        }
        f.write_str("\n")?;
        self.body
            .lines()
            .flat_map(|line| folded(line, WIDTH))
            .try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}

/// The subject of an answer: one `Re:`, however many there were.
fn answered(subject: &str) -> String {
    let mut rest = subject.trim();
    while let Some(after) = rest.get(..3).filter(|start| start.eq_ignore_ascii_case("re:")) {
        rest = rest[after.len()..].trim_start();
    }
    format!("Re: {rest}")
}

/// `On 2025-07-28, Zoë wrote:`.
fn attribution(mail: &Mail) -> String {
    let who = mail.from.as_ref().map_or("somebody", |from| from.name.as_deref().unwrap_or(&from.address));
    let date = mail.date.as_deref().and_then(|date| date.get(..10));
    match date {
        Some(date) => format!("On {date}, {} wrote:\n", one_line(who)),
        None => format!("{} wrote:\n", one_line(who)),
    }
}

fn people(f: &mut fmt::Formatter<'_>, name: &str, people: &[Person]) -> fmt::Result {
    let sound: Vec<&Person> = people.iter().filter(|person| is_address(&person.address)).collect();
    let mut words = Vec::new();
    for (at, person) in sound.iter().enumerate() {
        let comma = if at + 1 < sound.len() { "," } else { "" };
        match person.name.as_deref().map(one_line).filter(|name| !name.is_empty()) {
            Some(name) => {
                words.extend(phrase(&name));
                words.push(format!("<{}>{comma}", person.address));
            }
            None => words.push(format!("{}{comma}", person.address)),
        }
    }
    header(f, name, &words)
}

/// A name as words of a header.
fn phrase(name: &str) -> Vec<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " !#$%&'*+-/=?^_`{|}~".contains(c);
    if !name.is_ascii() {
        encoded_words(name, 1)
    } else if name.chars().all(plain) && !name.contains("=?") {
        name.split(' ').map(str::to_owned).collect()
    } else {
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"").split(' ').map(str::to_owned).collect()
    }
}

/// Words of a header: as they are in ASCII, else all of them encoded, since blanks between encoded words vanish. The first has
/// `used` columns less.
fn encoded_words(text: &str, used: usize) -> Vec<String> {
    let text = one_line(text);
    if text.is_ascii() && !text.contains("=?") {
        return text.split(' ').map(str::to_owned).collect();
    }
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let mut bytes = [0; 4];
        let piece: String = c.encode_utf8(&mut bytes).bytes().map(quoted_byte).collect();
        let room = ENCODED - "=?utf-8?q??=".len() - if words.is_empty() { used } else { 0 };
        if word.len() + piece.len() > room {
            words.push(format!("=?utf-8?q?{}?=", std::mem::take(&mut word)));
        }
        word.push_str(&piece);
    }
    words.push(format!("=?utf-8?q?{word}?="));
    words
}

fn quoted_byte(byte: u8) -> String {
    match byte {
        b' ' => "_".to_owned(),
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'!' | b'*' | b'+' | b'/' => {
            char::from(byte).to_string()
        }
        other => format!("={other:02X}"),
    }
}

/// Words in lines of at most [`WIDTH`] columns; nothing where there are none.
fn header(f: &mut fmt::Formatter<'_>, name: &str, words: &[String]) -> fmt::Result {
    if words.is_empty() {
        return Ok(());
    }
    write!(f, "{name}:")?;
    let mut column = name.len() + 1;
    for (at, word) in words.iter().enumerate() {
        if at > 0 && column + 1 + word.len() > WIDTH {
            f.write_str("\n")?;
            column = 0;
        }
        write!(f, " {word}")?;
        column += 1 + word.len();
    }
    f.write_str("\n")
}

/// A line in pieces of at most `width` columns, broken at blanks where there are some.
fn folded(line: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    while rest.len() > width {
        let blank =
            rest[..=width].iter().rposition(|c| *c == ' ').filter(|at| rest[..*at].iter().any(|c| *c != ' '));
        let at = blank.unwrap_or(width);
        let after = rest.split_off(at);
        pieces.push(rest.into_iter().collect());
        rest = after.into_iter().skip(usize::from(blank.is_some())).collect();
    }
    pieces.push(rest.into_iter().collect());
    pieces
}

/// Header values come from files: a line end in one must not begin a header.
fn one_line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_address(address: &str) -> bool {
    let sound = |c: char| !c.is_whitespace() && !c.is_control() && !"<>,;\"()".contains(c);
    address.contains('@') && address.is_ascii() && address.chars().all(sound)
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_graphic() && !"<>".contains(c))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::read;

    const POSTED: &str = "From: =?utf-8?q?Zo=C3=AB?= Lin <zoe@lab.example>\n\
        To: \"Doe, John (lab)\" <john@lab.example>, list@lists.example\n\
        Cc: Zoe <ZOE@lab.example>, Kim <kim@lab.example>, list@lists.example\n\
        Subject: Re: RE: [PATCH v2 0/2] scsi: demo: count\n\
        Date: Mon, 28 Jul 2025 17:19:00 +0200\n\
        Message-ID: <b2@lab.example>\n\
        In-Reply-To: <a1@lab.example>\n\
        References: <a0@lab.example> <a1@lab.example>\n\
        \n\
        Please look at this, a line that goes on and on, far beyond what a quoted line has room for in a mail.\n\
        \n\
        ---\n x | 1 +\n";

    fn draft() -> (Mail, Draft) {
        let mail = read(POSTED.as_bytes()).unwrap().mails.remove(0);
        let draft = Draft::reply_to(&mail);
        (mail, Draft { body: "An answer.\n".to_owned(), ..draft })
    }

    #[test]
    fn an_answer_goes_to_all_once() {
        let (mail, mut draft) = draft();
        draft.quote(&mail);
        assert_eq!(
            draft.to_string(),
            "To: =?utf-8?q?Zo=C3=AB_Lin?= <zoe@lab.example>\n\
             Cc: \"Doe, John (lab)\" <john@lab.example>, list@lists.example, Kim\n <kim@lab.example>\n\
             Subject: Re: [PATCH v2 0/2] scsi: demo: count\n\
             In-Reply-To: <b2@lab.example>\n\
             References: <a0@lab.example> <a1@lab.example> <b2@lab.example>\n\
             MIME-Version: 1.0\n\
             Content-Type: text/plain; charset=UTF-8\n\
             Content-Transfer-Encoding: 8bit\n\
             \n\
             On 2025-07-28, Zo\u{eb} Lin wrote:\n\
             > Please look at this, a line that goes on and on, far beyond what a quoted\n\
             > line has room for in a mail.\n\
             \n\
             An answer.\n"
        );
    }

    #[test]
    fn what_is_written_reads_back_equal() {
        let (_, mut draft) = draft();
        draft.subject = "Re: [PATCH] \u{4e2d}\u{6587} and a long subject that takes more than one line of a header, \u{e4}\u{f6}\u{fc}".to_owned();
        draft.body = "Text with \u{e4}.\n".to_owned();
        draft
            .cc
            .push(Person { name: Some("A \"B\" \\ C".to_owned()), address: "abc@lab.example".to_owned() });
        let text = draft.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let read = read(text.as_bytes()).unwrap().mails.remove(0);
        assert_eq!((&read.to, &read.cc), (&draft.to, &draft.cc));
        assert_eq!(read.subject.text, draft.subject);
        assert_eq!((&read.in_reply_to, &read.references), (&draft.in_reply_to, &draft.references));
        assert_eq!(read.body[0].text, "Text with \u{e4}.");
    }

    #[test]
    fn nothing_from_a_file_begins_a_header() {
        let (_, mut draft) = draft();
        draft.subject = "Re: a\nBcc: evil@lab.example".to_owned();
        draft.cc = vec![
            Person {
                name: Some("x\r\nBcc: evil@lab.example".to_owned()),
                address: "x@lab.example".to_owned(),
            },
            Person { name: None, address: "y@lab.example>\nBcc: evil@lab.example".to_owned() },
        ];
        let text = draft.to_string();
        assert!(text.lines().all(|line| !line.starts_with("Bcc")), "{text}");
    }

    #[test]
    fn an_id_alone_is_answered_too() {
        let draft = Draft { body: "x\n".to_owned(), ..Draft::reply_to_id("<a1@lab.example>", "demo") };
        assert_eq!(
            draft.to_string(),
            "Subject: Re: demo\nIn-Reply-To: <a1@lab.example>\nReferences: <a1@lab.example>\n\nx\n"
        );
    }
}
