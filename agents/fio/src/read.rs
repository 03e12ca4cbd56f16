//! Reads whatever people have: finds all that fio printed in it.

use crate::clean::Clean;
use crate::found::{Damage, Document, Format, Found, Heading, Role};
use crate::json;
use crate::report::{Job, Report};
use crate::scan::{self, Piece};
use crate::{roles, terse, text};
use std::ops::Range;

/// Lines above a document among which its heading is looked for.
const HEADING_LINES: usize = 5;

/// Longest heading, characters.
const HEADING: usize = 200;

/// Results that are read of any input, and bytes of it for each one more: fio needs more for a result, and what is made to
/// look like many shall not take much memory.
const RESULTS: usize = 4096;
const BYTES_A_RESULT: usize = 1024;

/// Finds all results of fio in a file, a console capture or a mail, whatever version and format, with what stands
/// around them. Never fails: what cannot be read is left out and noted. Takes time and memory in proportion to the
/// input.
pub fn read_any(input: &[u8]) -> Found {
    let most = RESULTS + input.len() / BYTES_A_RESULT;
    if let Some(found) = only_json(input, most) {
        return found;
    }
    let clean = Clean::of(input);
    let mut drafts = json_documents(&clean, most);
    let terse = terse::documents(&clean, &gaps(&drafts, clean.text.len()), most);
    drafts.extend(terse);
    drafts.sort_by_key(|draft| draft.bytes.start);
    let taken: Vec<Range<usize>> = drafts.iter().map(|draft| draft.bytes.clone()).collect();
    let texts = text::documents(&clean, &taken, most);
    drafts.extend(texts.documents);
    drafts.sort_by_key(|draft| draft.bytes.start);
    headings(&clean, &mut drafts);
    let mut documents: Vec<Document> = drafts.into_iter().map(|draft| draft.into_document(&clean)).collect();
    roles::assign(&mut documents);
    let mut notes = clean.notes;
    notes.extend(texts.notes);
    notes.sort_by_key(|note| note.line);
    Found { documents, notes }
}

/// The results of an input that is whole documents of JSON and nothing else, as most files are: nothing has to be looked for.
fn only_json(input: &[u8], most: usize) -> Option<Found> {
    let text = std::str::from_utf8(input).ok()?;
    let clean = Clean::plain(text);
    let line = |offset| clean.line(offset);
    let mut documents = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_ascii_start().len();
        if at == text.len() {
            break;
        }
        let piece = scan::whole_document(text, at).filter(|_| documents.len() < most)?;
        at = piece.bytes.end;
        let draft = draft(&piece, &line);
        if draft.report.jobs.is_empty() {
            return None;
        }
        documents.push(draft.into_document(&clean));
    }
    if documents.is_empty() {
        return None;
    }
    roles::assign(&mut documents);
    Some(Found { documents, notes: Vec::new() })
}

/// A document with its offsets in the clean text.
pub(crate) struct Draft {
    pub(crate) format: Format,
    pub(crate) report: Report,
    pub(crate) salvaged: Vec<Damage>,
    pub(crate) bytes: Range<usize>,
    pub(crate) heading: Option<Heading>,
}

impl Draft {
    fn into_document(self, clean: &Clean<'_>) -> Document {
        let last = self.bytes.end.saturating_sub(1).max(self.bytes.start);
        Document {
            format: self.format,
            report: self.report,
            role: Role::Result,
            salvaged: self.salvaged,
            lines: clean.line(self.bytes.start)..=clean.line(last),
            bytes: clean.input(self.bytes.start)..clean.input(last) + 1,
            heading: self.heading,
        }
    }
}

fn json_documents(clean: &Clean<'_>, most: usize) -> Vec<Draft> {
    let text = &*clean.text;
    if !scan::may_have_json(text) {
        return Vec::new();
    }
    let line = |offset| clean.line(offset);
    let mut drafts: Vec<Draft> = scan::documents(text).map(|piece| draft(&piece, &line)).take(most).collect();
    for gap in gaps(&drafts, text.len()) {
        let room = most.saturating_sub(drafts.len());
        drafts.extend(scan::excerpts(text, gap, room).iter().map(|piece| draft(piece, &line)));
    }
    drafts.retain(|draft| !draft.report.jobs.is_empty() || draft.report.all_clients.is_some());
    drafts.sort_by_key(|draft| draft.bytes.start);
    drafts
}

/// What lies between documents.
fn gaps(drafts: &[Draft], end: usize) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut gaps = Vec::new();
    for range in drafts.iter().map(|draft| draft.bytes.clone()).chain(std::iter::once(end..end)) {
        if at < range.start {
            gaps.push(at..range.start);
        }
        at = range.end;
    }
    gaps
}

fn draft(piece: &Piece<'_>, line: json::LineOf<'_>) -> Draft {
    let report = json::report(&piece.value, line);
    let damage = [
        (piece.excerpt, Damage::Excerpt),
        (piece.gaps, Damage::Gap),
        (piece.value.is_cut() && piece.broken.is_some(), Damage::Cut),
    ];
    Draft {
        format: if has_bins(&report) { Format::JsonPlus } else { Format::Json },
        report,
        salvaged: damage.into_iter().filter(|(is, _)| *is).map(|(_, damage)| damage).collect(),
        bytes: piece.bytes.clone(),
        heading: None,
    }
}

fn has_bins(report: &Report) -> bool {
    let latencies =
        |job: &Job| job.directions().any(|d| [&d.clat, &d.lat, &d.slat].iter().any(|l| !l.bins.is_empty()));
    report.jobs.iter().any(latencies)
}

/// The last line of other text above each document.
fn headings(clean: &Clean<'_>, documents: &mut [Draft]) {
    let mut from = 0;
    for document in documents {
        document.heading = heading(clean, from..document.bytes.start);
        from = document.bytes.end;
    }
}

fn heading(clean: &Clean<'_>, above: Range<usize>) -> Option<Heading> {
    let text = clean.text.get(above.clone())?;
    let mut end = text.len();
    for _ in 0..HEADING_LINES {
        let start = text[..end].trim_end_matches('\n').rfind('\n').map_or(0, |i| i + 1);
        let line = text[start..end].trim();
        if line.chars().any(char::is_alphanumeric) && !is_fio(line) {
            let text = line.chars().take(HEADING).collect();
            return Some(Heading { line: clean.line(above.start + start), text });
        }
        end = start;
    }
    None
}

/// How lines begin that fio itself prints before its results, and rows of results that were passed over.
const FIO_LINES: &[&str] = &[
    "Starting ",
    "fio-",
    "Jobs: ",
    "note: ",
    "fio: ",
    "hostname=",
    "Run status group",
    "Disk stats",
    "cpu ",
    "IO depths",
    "submit ",
    "complete ",
    "issued ",
    "latency ",
    "lat (",
    "clat ",
    "slat (",
    "bw (",
    "iops ",
    "| ",
];

fn is_fio(line: &str) -> bool {
    let has = [": (g=", ": Laying out", ": ios=", "%, aggr"];
    FIO_LINES.iter().any(|word| line.starts_with(word)) || has.iter().any(|word| line.contains(word))
}
