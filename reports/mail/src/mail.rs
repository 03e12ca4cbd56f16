//! One mail, decoded.

use crate::{decode, diff, subject::Subject};
use mail_parser::{
    Addr, Address, HeaderName, HeaderValue, Message, MessageParser, MessagePart, MimeHeaders, PartType,
};

/// How deep mails inside of mails are read.
const DEEPEST: usize = 3;

/// A decoded line and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Line of the (unpacked) input, from 1. Where an encoding joined several, the first of them.
    pub number: usize,
    /// The text, without its line end.
    pub text: String,
}

/// Who wrote or got a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Decoded name.
    pub name: Option<String>,
    /// Address, `a@lab.example`.
    pub address: String,
}

/// A part of a mail that is not its text.
#[derive(Clone, Debug, Default)]
pub struct Attachment {
    /// File name, decoded.
    pub name: Option<String>,
    /// As `text/x-patch`, in lower case.
    pub content_type: String,
    /// Decoded lines; none where it is not text.
    pub lines: Vec<Line>,
}

impl Attachment {
    /// Whether it is a patch, by its name or by what it holds.
    pub fn is_patch(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default().to_ascii_lowercase();
        [".patch", ".diff"].iter().any(|ending| name.ends_with(ending)) || diff::has_diff(&self.lines)
    }
}

/// A mail, decoded. Text that is no mail has a body only.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    /// Line of the input at which it starts, from 1.
    pub first_line: usize,
    /// Subject, taken apart.
    pub subject: Subject,
    /// First author.
    pub from: Option<Person>,
    /// `To:`
    pub to: Vec<Person>,
    /// `Cc:`
    pub cc: Vec<Person>,
    /// As RFC 3339, with the sender's offset.
    pub date: Option<String>,
    /// The same in seconds since 1970.
    pub timestamp: Option<i64>,
    /// Without angle brackets.
    pub message_id: Option<String>,
    /// The mail that this one answers, without angle brackets.
    pub in_reply_to: Option<String>,
    /// Message-ids of the thread above, oldest first.
    pub references: Vec<String>,
    /// Decoded lines of its text, all inline text parts one after the other.
    pub body: Vec<Line>,
    /// What else it carries.
    pub attachments: Vec<Attachment>,
    /// Bytes as `git am` reads them.
    for_git_am: Vec<u8>,
}

impl Mail {
    /// Decodes one mail whose first byte stands on line `first_line` of the input.
    pub(crate) fn parse(raw: &[u8], first_line: usize) -> Self {
        let Some(message) = MessageParser::default().parse(raw) else {
            return Self { first_line, ..Self::plain(raw) };
        };
        let mut mail = Self {
            first_line,
            subject: Subject::parse(message.subject().unwrap_or_default()),
            from: people(message.from()).into_iter().next(),
            to: people(message.to()),
            cc: people(message.cc()),
            date: message.date().map(mail_parser::DateTime::to_rfc3339),
            timestamp: message.date().map(mail_parser::DateTime::to_timestamp),
            message_id: message.message_id().map(str::to_owned),
            in_reply_to: ids(message.in_reply_to()).into_iter().next(),
            references: ids(message.references()),
            ..Self::default()
        };
        mail.take_parts(&message, raw, first_line, 0);
        mail.for_git_am = for_git_am(&message, raw);
        mail
    }

    /// Text that is no mail.
    pub(crate) fn plain(bytes: &[u8]) -> Self {
        let body = decode::plain(&String::from_utf8_lossy(bytes), 1);
        let subject = Subject { version: 1, ..Subject::default() };
        Self { first_line: 1, subject, body, for_git_am: bytes.to_vec(), ..Self::default() }
    }

    /// The text without the signature (`-- ` and what follows), a patch's hunks left whole.
    pub fn without_signature(&self) -> &[Line] {
        &self.body[..diff::signature(&self.body)]
    }

    /// Whether the text holds a diff.
    pub fn has_diff(&self) -> bool {
        diff::has_diff(&self.body)
    }

    /// The commit that the `base-commit:` trailer of `git format-patch` names.
    pub fn base_commit(&self) -> Option<&str> {
        let values = self.body.iter().filter_map(|line| line.text.strip_prefix("base-commit:"));
        let hash = |value: &&str| {
            (7..=64).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        values.map(str::trim).rfind(hash)
    }

    /// The mail as `git am` reads it: what it needs of the headers, and the text without transfer encoding, in the charset that it
    /// came in. Attachments are left out.
    pub fn for_git_am(&self) -> &[u8] {
        &self.for_git_am
    }

    fn take_parts(&mut self, message: &Message<'_>, raw: &[u8], first_line: usize, depth: usize) {
        for (part, is_body) in leaves(message) {
            if let PartType::Message(inner) = &part.body {
                self.attachments.push(described(part, Vec::new()));
                if depth < DEEPEST {
                    // Places inside of a mail that was encoded as a whole are those of its own text.
                    let own = part.encoding != mail_parser::Encoding::None;
                    let (raw, first_line) = if own { (inner.raw_message(), 1) } else { (raw, first_line) };
                    self.take_parts(inner, raw, first_line, depth + 1);
                }
                continue;
            }
            let lines = decode::lines(raw, part, first_line);
            if is_body && depth == 0 {
                self.body.extend(lines);
            } else {
                self.attachments.push(described(part, lines));
            }
        }
    }
}

/// The parts that hold something, and whether each is text that a mail program shows.
fn leaves<'a>(message: &'a Message<'a>) -> impl Iterator<Item = (&'a MessagePart<'a>, bool)> {
    let has_plain = message.text_body.iter().any(|id| matches!(body(message, *id), Some(PartType::Text(_))));
    message.parts.iter().zip(0_u32..).filter_map(move |(part, id)| {
        let shown = message.text_body.contains(&id) || message.html_body.contains(&id);
        match &part.body {
            PartType::Multipart(_) => None,
            // The same text once more.
            PartType::Html(_) if shown && has_plain => None,
            PartType::Text(_) | PartType::Html(_) => Some((part, shown && !is_attached(part))),
            _ => Some((part, false)),
        }
    })
}

fn body<'a>(message: &'a Message<'a>, id: u32) -> Option<&'a PartType<'a>> {
    message.part(id).map(|part| &part.body)
}

fn is_attached(part: &MessagePart<'_>) -> bool {
    part.content_disposition().is_some_and(mail_parser::ContentType::is_attachment)
}

fn described(part: &MessagePart<'_>, lines: Vec<Line>) -> Attachment {
    let content_type = part.content_type().map_or_else(
        || "text/plain".to_owned(),
        |found| format!("{}/{}", found.ctype(), found.subtype().unwrap_or("*")).to_ascii_lowercase(),
    );
    Attachment { name: part.attachment_name().map(str::to_owned), content_type, lines }
}

fn people(address: Option<&Address<'_>>) -> Vec<Person> {
    let person = |addr: &Addr<'_>| {
        let name = addr.name().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Person { name, address: addr.address()?.to_owned() })
    };
    address.map(|address| address.iter().filter_map(person).collect()).unwrap_or_default()
}

fn ids(value: &HeaderValue<'_>) -> Vec<String> {
    match value {
        HeaderValue::Text(id) => vec![id.clone().into_owned()],
        HeaderValue::TextList(ids) => ids.iter().map(|id| id.clone().into_owned()).collect(),
        _ => Vec::new(),
    }
}

/// The headers that `git mailinfo` uses, as they were, then the text parts. A mail whose lines all end in CRLF got that on
/// its way and loses it.
fn for_git_am(message: &Message<'_>, raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for header in message.headers() {
        if matches!(
            header.name,
            HeaderName::From | HeaderName::Date | HeaderName::Subject | HeaderName::MessageId
        ) {
            let range = header.offset_field as usize..(header.offset_end as usize).min(raw.len());
            out.extend_from_slice(raw.get(range).unwrap_or_default());
        }
    }
    let texts: Vec<&MessagePart<'_>> =
        leaves(message).filter(|(part, is_body)| *is_body && part.is_text()).map(|(part, _)| part).collect();
    let mut content_type = String::from("text/plain");
    let described = texts.first().and_then(|part| part.content_type());
    for name in ["charset", "format", "delsp"] {
        if let Some(value) = described.and_then(|found| found.attribute(name)) {
            content_type.push_str(&format!("; {name}={value}"));
        }
    }
    if described.is_none_or(|found| !found.has_attribute("charset")) {
        content_type.push_str("; charset=UTF-8");
    }
    out.extend_from_slice(
        format!("MIME-Version: 1.0\nContent-Type: {content_type}\nContent-Transfer-Encoding: 8bit\n\n")
            .as_bytes(),
    );
    for part in texts {
        let decoded = decode::transfer_decoded(raw, part);
        out.extend_from_slice(&decoded);
        if !decoded.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    without_crlf(&out)
}

fn without_crlf(bytes: &[u8]) -> Vec<u8> {
    let body = bytes.windows(2).position(|pair| pair == b"\n\n").map_or(0, |at| at + 2);
    let mut lines = bytes[body..].split_inclusive(|byte| *byte == b'\n');
    let all = lines.all(|line| line.ends_with(b"\r\n") || line == b"\n" || line.ends_with(b"-- \n"));
    let mut out = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        let is_end = *byte == b'\r' && bytes.get(index + 1) == Some(&b'\n');
        if !(is_end && (index < body || all)) {
            out.push(*byte);
        }
    }
    out
}
