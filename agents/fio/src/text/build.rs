//! From rows to documents.

use super::blocks::{Header, Preamble};
use super::figures::{Known, drops_carry, settle};
use super::rows::{DirectionRow, Kind, Row};
use crate::clean::Clean;
use crate::found::{Damage, Format, Note, NoteKind};
use crate::json::is_all_clients;
use crate::read::Draft;
use crate::report::{Basis, Direction, DiskUtil, Figure, GroupLine, Job, Latency, Report, What};
use std::collections::{HashMap, HashSet};

/// Documents with the notes on their figures.
#[derive(Default)]
pub(crate) struct Drafts {
    pub(crate) documents: Vec<Draft>,
    pub(crate) notes: Vec<Note>,
}

/// Takes rows in order and closes documents.
pub(crate) struct Builder<'a> {
    clean: &'a Clean<'a>,
    done: Drafts,
    open: Open,
    /// Words that are not fio's since the last row.
    foreign: bool,
    /// Begin of the foreign words.
    foreign_at: usize,
    /// Group of the "Run status" block that is being read.
    group: i64,
    /// Jobs and summary lines that may still be read.
    left: usize,
}

/// Boxed, since a job is large and a list that grows is in memory twice.
type Jobs = Vec<Box<OpenJob>>;

/// The document that is being read.
#[derive(Default)]
struct Open {
    start: Option<usize>,
    end: usize,
    version: String,
    preambles: Vec<(String, Vec<(String, String)>)>,
    /// Place of the last preamble of a name.
    named: HashMap<String, usize>,
    /// Groups and directions that a line tells.
    told: HashSet<(i64, String)>,
    jobs: Jobs,
    groups: Vec<GroupLine>,
    disks: Vec<DiskUtil>,
    client: bool,
}

#[derive(Default)]
struct OpenJob {
    job: Job,
    headed: bool,
    current: Option<&'static str>,
    issued: Vec<u64>,
    ended: bool,
}

impl Open {
    fn sealed(&self) -> bool {
        !self.groups.is_empty() || !self.disks.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.groups.is_empty()
    }
}

impl<'a> Builder<'a> {
    pub(crate) fn new(clean: &'a Clean<'a>, left: usize) -> Self {
        let (done, open) = (Drafts::default(), Open::default());
        Self { clean, done, open, foreign: false, foreign_at: 0, group: 0, left }
    }

    /// Whether one more may be read; tells once that there are too many.
    fn room(&mut self, at: usize) -> bool {
        match self.left {
            0 => return false,
            1 => self.done.notes.push(Note {
                line: self.clean.line(at),
                kind: NoteKind::Unread,
                text: "more results than an input of this size can have: the rest is not read".to_owned(),
            }),
            _ => {}
        }
        self.left -= 1;
        true
    }

    /// Group of the block that is being read.
    pub(crate) fn group(&self) -> i64 {
        self.group
    }

    /// A word that is no row.
    pub(crate) fn foreign(&mut self, at: usize) {
        if !self.foreign {
            self.foreign_at = at;
        }
        self.foreign = true;
    }

    /// Another format's document lies here.
    pub(crate) fn interrupted(&mut self) {
        if self.open.is_empty() {
            self.open.start = None;
        } else {
            self.close(Open::default());
        }
    }

    fn touch(&mut self, start: usize, end: usize) {
        self.open.start.get_or_insert(start);
        self.open.end = end;
        self.foreign = false;
    }

    /// A row that tells nothing.
    pub(crate) fn known(&mut self, end: usize) -> bool {
        if self.open.start.is_some() {
            self.open.end = end;
        }
        self.foreign = false;
        true
    }

    /// The line of a client about its server.
    pub(crate) fn client(&mut self, version: &str, start: usize, end: usize) {
        if !self.open.is_empty() {
            self.close(Open::default());
        }
        self.open.client = true;
        version.clone_into(&mut self.open.version);
        self.touch(start, end);
    }

    /// fio names itself.
    pub(crate) fn version(&mut self, version: &str, start: usize, end: usize) {
        if !self.open.is_empty() {
            self.close(Open::default());
        }
        self.open.version = version.replacen(' ', "-", 1);
        self.touch(start, end);
    }

    /// A job as fio is about to run it.
    pub(crate) fn preamble(&mut self, preamble: Preamble, end: usize) {
        if !self.open.is_empty() {
            self.close(Open::default());
        }
        if self.open.preambles.len() < self.left {
            self.open.named.insert(preamble.name.clone(), self.open.preambles.len());
            self.open.preambles.push((preamble.name, preamble.options));
        }
        self.touch(preamble.at, end);
    }

    /// A job's result begins.
    pub(crate) fn header(&mut self, header: Header, start: usize, end: usize) {
        if !self.room(start) {
            return;
        }
        let before = self.clean.text.get(self.foreign_at..header.at).unwrap_or("");
        let foreign = self.foreign && before.chars().any(char::is_alphanumeric);
        let sealed = self.open.sealed() && !self.open.client;
        if !self.open.is_empty() && (sealed || foreign) {
            let next = self.again(&header);
            self.close(next);
        }
        let options = self.open.named.get(&header.name).and_then(|place| self.open.preambles.get(*place));
        let only = || self.open.preambles.first().filter(|_| self.open.preambles.len() == 1);
        let options = options.or_else(only).map(|(_, options)| options.clone()).unwrap_or_default();
        let job = Job {
            name: header.name,
            group: header.group,
            members: Some(header.members),
            error: header.error,
            pid: header.pid,
            line: self.clean.line(start),
            options,
            ..Job::default()
        };
        self.open.jobs.push(Box::new(OpenJob { job, headed: true, ..OpenJob::default() }));
        self.touch(header.at, end);
    }

    /// What a document begins with that repeats jobs of the one before: the same process tells again.
    fn again(&mut self, header: &Header) -> Open {
        let same =
            |job: &OpenJob| job.job.name == header.name && job.job.pid == header.pid && header.pid.is_some();
        if !self.open.jobs.iter().any(|job| same(job)) {
            return Open::default();
        }
        // The jobs that were read have their options already.
        Open {
            version: self.open.version.clone(),
            preambles: std::mem::take(&mut self.open.preambles),
            named: std::mem::take(&mut self.open.named),
            ..Open::default()
        }
    }

    /// "Run status group".
    pub(crate) fn run_status(&mut self, group: i64, end: usize) {
        if group == 0 && !self.open.groups.is_empty() && !self.open.client {
            self.close(Open::default());
        }
        self.group = group;
        self.known(end);
    }

    /// A line of "Run status".
    pub(crate) fn group_line(&mut self, mut line: GroupLine, start: usize, end: usize) {
        if !self.room(start) {
            return;
        }
        let place = (line.group, line.direction.clone());
        let apart = self.foreign && self.open.sealed();
        if !self.open.client && (self.open.told.contains(&place) || apart) {
            self.close(Open::default());
        }
        self.locate(&mut line.printed);
        line.line = self.clean.line(line.line);
        self.open.told.insert(place);
        self.open.groups.push(line);
        self.touch(start, end);
    }

    /// A line of "Disk stats"; without a document it is of no use.
    pub(crate) fn disk(&mut self, mut disk: DiskUtil, start: usize, end: usize) {
        if self.open.is_empty() {
            self.foreign = true;
            return;
        }
        disk.line = self.clean.line(disk.line);
        self.open.disks.push(disk);
        self.touch(start, end);
        self.group = 0;
    }

    /// Any other row.
    pub(crate) fn row(&mut self, row: Row, start: usize, end: usize) {
        if let Row::Direction(row) = row {
            self.direction(row, start, end);
            return;
        }
        let line = |at| self.clean.line(at);
        let Some(job) = self.open.jobs.last_mut() else {
            self.known(end);
            return;
        };
        let fields = &mut job.job;
        match row {
            Row::Cpu(usr, sys, ctx) => (fields.usr, fields.sys, fields.ctx) = (usr, sys, ctx),
            Row::Depths(depths) => fields.iodepth_level = depths,
            Row::Errors(total) => fields.total_err = total,
            Row::Issued(counts) => {
                job.ended = true;
                issued(job, counts);
            }
            Row::Latency(kind, mut latency) => {
                latency.line = line(latency.line);
                if let Some(place) = latency_of(job, kind) {
                    let percentiles = std::mem::take(&mut place.percentiles);
                    *place = Latency { percentiles, ..latency };
                }
            }
            Row::Percentiles(kind, list) => {
                if let Some(place) = latency_of(job, kind) {
                    place.percentiles = list;
                }
            }
            Row::Bandwidth(mut spread) => {
                spread.line = line(spread.line);
                if let Some(direction) = current(job) {
                    direction.bw_samples = Some(spread);
                }
            }
            Row::Iops(mut spread) => {
                spread.line = line(spread.line);
                if let Some(direction) = current(job) {
                    direction.iops_samples = Some(spread);
                }
            }
            Row::Direction(_) | Row::Other => {}
        }
        self.known(end);
    }

    fn direction(&mut self, mut row: DirectionRow, start: usize, end: usize) {
        let sealed = self.open.sealed();
        let fresh = self.open.jobs.last_mut().is_none_or(|job| {
            let taken = slot(&mut job.job, row.name).line > 0;
            taken || (sealed && (job.ended || !job.headed)) || (self.foreign && !job.headed)
        });
        if fresh {
            if !self.room(start) {
                return;
            }
            if !self.open.is_empty() {
                self.close(Open::default());
            }
            let line = self.clean.line(start);
            let options = self.open.preambles.first().map(|(_, options)| options.clone()).unwrap_or_default();
            let job = Job { line, options, ..Job::default() };
            self.open.jobs.push(Box::new(OpenJob { job, ..OpenJob::default() }));
        }
        self.locate(&mut row.printed);
        let line = self.clean.line(start);
        let Some(job) = self.open.jobs.last_mut() else { return };
        if row.old {
            row.printed.iter_mut().for_each(|figure| figure.carry = None);
        }
        *slot(&mut job.job, row.name) =
            Direction { printed: row.printed, runtime_ms: row.runtime_ms, line, ..Direction::default() };
        job.current = Some(row.name);
        self.touch(start, end);
    }

    /// Figures are read with offsets in place of lines.
    fn locate(&self, figures: &mut [Figure]) {
        figures.iter_mut().for_each(|figure| figure.line = self.clean.line(figure.line));
    }

    /// Ends the open document and goes on with another.
    fn close(&mut self, next: Open) {
        let open = std::mem::replace(&mut self.open, next);
        self.group = 0;
        if open.is_empty() {
            return;
        }
        if let Some(draft) = draft(open, &mut self.done.notes) {
            self.done.documents.push(draft);
        }
    }

    /// The documents.
    pub(crate) fn finish(mut self) -> Drafts {
        self.close(Open::default());
        self.done
    }
}

fn slot<'j>(job: &'j mut Job, name: &str) -> &'j mut Direction {
    match name {
        "read" => &mut job.read,
        "write" => &mut job.write,
        "trim" => &mut job.trim,
        _ => job.mixed.get_or_insert_default(),
    }
}

fn current(job: &mut OpenJob) -> Option<&mut Direction> {
    job.current.map(|name| slot(&mut job.job, name))
}

fn latency_of(job: &mut OpenJob, kind: Kind) -> Option<&mut Latency> {
    if kind == Kind::Sync {
        return Some(job.job.sync.get_or_insert_default());
    }
    let direction = current(job)?;
    match kind {
        Kind::Slat => Some(&mut direction.slat),
        Kind::Clat => Some(&mut direction.clat),
        Kind::Lat => Some(&mut direction.lat),
        Kind::Sync | Kind::Class => None,
    }
}

fn issued(job: &mut OpenJob, [total, short, dropped]: [Vec<u64>; 3]) {
    for (i, name) in ["read", "write", "trim"].iter().enumerate() {
        let direction = slot(&mut job.job, name);
        direction.short_ios = short.get(i).copied().unwrap_or(0);
        direction.drop_ios = dropped.get(i).copied().unwrap_or(0);
    }
    if let Some(mixed) = &mut job.job.mixed {
        mixed.short_ios = short.iter().take(3).sum();
        mixed.drop_ios = dropped.iter().take(3).sum();
    }
    job.issued = total;
}

fn draft(mut open: Open, notes: &mut Vec<Note>) -> Option<Draft> {
    let damage = damage(&open);
    if open.jobs.is_empty() {
        open.jobs = open.groups.iter().map(summarised).fold(Vec::new(), joined);
    }
    let buggy = drops_carry(&open.version);
    let mut jobs = Vec::with_capacity(open.jobs.len());
    let mut all_clients = None;
    for mut open_job in open.jobs {
        settle_job(&mut open_job, buggy, notes);
        if is_sum(&open_job.job) {
            all_clients = Some(Box::new(open_job.job));
        } else {
            jobs.push(open_job.job);
        }
    }
    // A sum whose parts are not there is a result itself.
    if jobs.is_empty() {
        jobs.extend(all_clients.take().map(|sum: Box<Job>| *sum));
    }
    for group in &mut open.groups {
        if !buggy {
            group.printed.iter_mut().for_each(|figure| figure.carry = None);
        }
    }
    let start = open.start?;
    Some(Draft {
        format: Format::Normal,
        report: Report {
            version: open.version,
            jobs,
            all_clients,
            groups: open.groups,
            disk_util: open.disks,
            documents: 1,
            ..Report::default()
        },
        salvaged: damage,
        bytes: start..open.end,
        heading: None,
    })
}

fn damage(open: &Open) -> Vec<Damage> {
    let headless = open.jobs.iter().any(|job| !job.headed) || open.jobs.is_empty();
    let unended = open.jobs.iter().any(|job| job.headed && !job.ended && !is_sum(&job.job));
    let cut = unended && open.jobs.last().is_some_and(|job| !job.ended) && !open.sealed();
    let mut damage = Vec::new();
    if headless {
        damage.push(Damage::Excerpt);
    }
    if unended {
        damage.push(if cut { Damage::Cut } else { Damage::Gap });
    }
    damage
}

/// The sum over all clients, which no process ran; its name may be cut off.
fn is_sum(job: &Job) -> bool {
    is_all_clients(&job.name) || job.pid == Some(0)
}

/// A "Run status" line where nothing else is left of a job.
fn summarised(line: &GroupLine) -> Box<OpenJob> {
    let mut job = Job { group: line.group, line: line.line, ..Job::default() };
    *slot(&mut job, &line.direction) = Direction {
        printed: line.printed.clone(),
        runtime_ms: line.runtime_max_ms,
        line: line.line,
        ..Direction::default()
    };
    Box::new(OpenJob { job, ..OpenJob::default() })
}

/// Groups back to which the other direction of a group is looked for.
const GROUPS: usize = 64;

/// Directions of one group are one job.
fn joined(mut jobs: Jobs, mut more: Box<OpenJob>) -> Jobs {
    match jobs.iter_mut().rev().take(GROUPS).find(|job| job.job.group == more.job.group) {
        Some(job) => {
            for name in ["read", "write", "trim", "mixed"] {
                let from = std::mem::take(slot(&mut more.job, name));
                if from.line > 0 {
                    *slot(&mut job.job, name) = from;
                }
            }
            drop_empty_mixed(&mut job.job);
        }
        None => jobs.push(more),
    }
    jobs
}

fn drop_empty_mixed(job: &mut Job) {
    if job.mixed.as_ref().is_some_and(|mixed| mixed.line == 0) {
        job.mixed = None;
    }
}

fn settle_job(open: &mut OpenJob, buggy: bool, notes: &mut Vec<Note>) {
    drop_empty_mixed(&mut open.job);
    let sizes = block_sizes(&open.job);
    let issued = |i: usize| open.issued.get(i).copied();
    let all = open.issued.iter().take(3).sum::<u64>();
    let known = [("read", issued(0)), ("write", issued(1)), ("trim", issued(2)), ("mixed", Some(all))];
    let split = open.job.mixed.is_some();
    for (i, (name, issued)) in known.into_iter().enumerate() {
        if name == "mixed" && !split {
            continue;
        }
        let direction = slot(&mut open.job, name);
        if direction.line == 0 {
            continue;
        }
        if !buggy {
            direction.printed.iter_mut().for_each(|figure| figure.carry = None);
        }
        settle(direction, &Known { issued, block: sizes[i] });
        notes.extend(direction.printed.iter().filter_map(|figure| carry_note(direction, figure)));
    }
}

/// Bytes an I/O by direction and of all together, from the options, where each has one size.
fn block_sizes(job: &Job) -> [Option<u64>; 4] {
    let Some((_, bs)) = job.options.iter().find(|(name, _)| name == "bs") else { return [None; 4] };
    let sizes: Vec<Option<u64>> = bs.split(',').map(|size| size.parse().ok()).collect();
    let of = |i: usize| sizes.get(i).or(sizes.last()).copied().flatten();
    let alike = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    [of(0), of(1), of(2), if alike { of(0) } else { None }]
}

/// Tells a figure that lacks a carry, or may.
fn carry_note(direction: &Direction, figure: &Figure) -> Option<Note> {
    let high = figure.carry?;
    let (value, basis) = match figure.what {
        What::Iops => (direction.iops, direction.ios_basis),
        What::Bw | What::BwOther => (direction.bw, direction.bytes_basis),
        What::Io | What::IoOther => (direction.io_bytes as f64, direction.bytes_basis),
        What::BwMin | What::BwMax => return None,
    };
    let unit =
        figure.value / figure.text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().ok()?;
    let text = if value > figure.high && value <= high * 1.001 {
        format!("{} is printed for {:.2}: this fio drops a carry", figure.text, value / unit)
    } else if basis == Basis::Rounded && value <= figure.high && !confirmed(direction, figure) {
        format!("{} may stand for up to {:.2}: this fio may drop a carry", figure.text, high / unit)
    } else {
        return None;
    };
    Some(Note { line: figure.line, kind: NoteKind::Carry, text })
}

/// Whether another figure of the same amount agrees with this one as it stands.
fn confirmed(direction: &Direction, figure: &Figure) -> bool {
    let agrees = |what: What| {
        direction.figure(what).is_some_and(|other| other.low <= figure.high && figure.low <= other.high)
    };
    match figure.what {
        What::Iops => {
            let bytes_an_io = direction.bw / figure.value;
            bytes_an_io > 0.0 && (2f64.powf(bytes_an_io.log2().round()) / bytes_an_io - 1.0).abs() < 0.01
        }
        What::Bw => agrees(What::BwOther),
        What::BwOther => agrees(What::Bw),
        What::Io => agrees(What::IoOther) || direction.runtime_ms > 0,
        _ => true,
    }
}
