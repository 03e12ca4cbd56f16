//! What a person sees while kab works: permanent lines for what happened, one moving line for what is under way.
//!
//! All of it goes to standard error. On a terminal the moving line is rewritten; elsewhere it is printed at most every
//! [`QUIET`], so that a log stays readable.

use crate::escape::{print_err, printable};
use indicatif::{ProgressBar, ProgressStyle};
use kab_engine::{Observer, Progress};
use kab_model::{Accel, BuildState, Event, Logged, Outcome, Plan, Run, VisitKey, VisitState};
use kab_plan::{estimate, outstanding_visits};
use kab_store::Durable;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Between two prints of the moving line where it cannot be rewritten.
const QUIET: Duration = Duration::from_secs(15);
/// A boot of an emulated board, until one was seen.
const BOOT_GUESS: Duration = Duration::from_secs(15);

/// The one place that writes progress.
#[derive(Debug)]
pub(crate) struct Lines {
    bar: Option<ProgressBar>,
    last: Mutex<Option<Instant>>,
}

impl Lines {
    /// For this process's standard error.
    pub(crate) fn new() -> Arc<Self> {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Arc::new(Self { bar, last: Mutex::new(None) })
    }

    /// A line that stays.
    pub(crate) fn say(&self, text: &str) {
        let text = printable(text);
        match &self.bar {
            Some(bar) => bar.suspend(|| print_err(&format!("{text}\n"))),
            None => print_err(&format!("{text}\n")),
        }
    }

    /// What is under way.
    pub(crate) fn show(&self, text: &str) {
        let text = printable(text);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
            return;
        }
        let mut last = lock(&self.last);
        if last.is_none_or(|last| last.elapsed() >= QUIET) {
            *last = Some(Instant::now());
            print_err(&format!("  {text}\n"));
        }
    }

    /// Nothing is under way any more.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.set_message("");
        }
        *lock(&self.last) = None;
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows a run, with the time left.
pub(crate) struct RunObserver {
    lines: Arc<Lines>,
    plan: Plan,
    pace: Mutex<Pace>,
    /// Whether events go to standard output, too.
    json: bool,
}

/// How long visits take, as seen by this process.
#[derive(Debug, Default)]
struct Pace {
    started: Option<Instant>,
    spent: Duration,
    visits: u32,
    outstanding: usize,
}

impl RunObserver {
    /// An observer of a run of this plan.
    pub(crate) fn new(lines: Arc<Lines>, plan: Plan) -> Self {
        Self { lines, plan, pace: Mutex::default(), json: false }
    }

    /// Prints each event as one line of JSON, too, as it stands in the run's log.
    pub(crate) fn with_events(self, json: bool) -> Self {
        Self { json, ..self }
    }

    fn happened(&self, event: &Event, run: &Run) {
        match event {
            Event::Built { variant, artifact, .. } => {
                let how = if artifact.cached {
                    "from the cache".to_owned()
                } else {
                    format!("built in {}", spoken(Duration::from_millis(artifact.build_ms)))
                };
                self.lines.say(&format!("kernel {:?}: {}, {how}", variant.0, artifact.release));
            }
            Event::BuildFailed { variant, error, .. } => {
                self.lines
                    .say(&format!("kernel {:?}: build failed; its visits are left out\n{error}", variant.0));
            }
            Event::Accelerated { board, accel, reason, .. } => {
                self.lines.say(&format!("board {board}: {} ({reason})", accel_name(*accel)));
            }
            Event::TrialEnded { trial, outcome, .. } if !matches!(outcome, Outcome::Ok) => {
                let reasons: Vec<String> = outcome.reasons().iter().map(ToString::to_string).collect();
                self.lines.say(&format!("{trial}: {}: {}", outcome.word(), reasons.join("; ")));
            }
            Event::VisitEnded { visit, .. } => self.visit_ended(visit, run),
            Event::VisitFailed { visit, reason, .. } => self.lines.say(&format!("{visit}: failed: {reason}")),
            Event::VisitVoided { visit, reason, .. } => {
                self.lines.say(&format!("{visit}: void, will be replaced: {reason}"));
            }
            Event::GaveUp { board, variant, reason } => {
                let whom =
                    variant.as_ref().map_or_else(String::new, |variant| format!(" variant {:?}", variant.0));
                self.lines.say(&format!("board {board}:{whom} given up: {reason}"));
            }
            _ => {}
        }
    }

    fn visit_ended(&self, key: &VisitKey, run: &Run) {
        let visit =
            run.boards.get(&key.board).and_then(|board| board.visits.iter().rfind(|visit| &visit.key == key));
        let Some(visit) = visit else { return };
        let boot = visit.proof.as_ref().map_or(0, |proof| proof.boot_ms);
        let ended = run.visits().filter(|visit| matches!(visit.state, VisitState::Ended)).count();
        let left = outstanding_visits(&self.plan, run);
        self.lines.say(&format!(
            "visit {ended} of {}: {key}: booted in {:.1} s, {} trials{}",
            ended + left,
            Duration::from_millis(boot).as_secs_f64(),
            visit.counted().count(),
            self.time_left().map_or_else(String::new, |left| format!("; {left} left")),
        ));
    }

    /// Whole visits to come, at the pace seen or, before that, at the plan's.
    fn time_left(&self) -> Option<String> {
        let pace = lock(&self.pace);
        if pace.outstanding == 0 {
            return None;
        }
        let each = if pace.visits > 0 {
            pace.spent / pace.visits
        } else {
            estimate(&self.plan, BOOT_GUESS).visit + BOOT_GUESS
        };
        let under_way = pace.started.map_or(Duration::ZERO, |started| started.elapsed());
        let outstanding = u32::try_from(pace.outstanding).unwrap_or(u32::MAX);
        Some(format!("about {}", spoken((each * outstanding).saturating_sub(under_way))))
    }

    fn keep_pace(&self, event: &Event, run: &Run) {
        let mut pace = lock(&self.pace);
        match event {
            Event::VisitStarted { .. } => pace.started = Some(Instant::now()),
            Event::VisitEnded { .. } | Event::VisitFailed { .. } | Event::VisitVoided { .. } => {
                if let Some(started) = pace.started.take() {
                    pace.spent += started.elapsed();
                    pace.visits += 1;
                }
            }
            _ => {}
        }
        pace.outstanding = outstanding_visits(&self.plan, run);
    }
}

impl Observer for RunObserver {
    fn event(&self, event: &Durable<Logged>, run: &Run) {
        if self.json
            && let Ok(line) = serde_json::to_string(&**event)
        {
            // Nobody may be listening any more; the log has it.
            let _ = crate::print_out(&format!("{line}\n"));
        }
        self.keep_pace(&event.event, run);
        self.happened(&event.event, run);
    }

    fn progress(&self, progress: Progress<'_>) {
        let building = matches!(progress, Progress::Building { .. });
        let text = match progress {
            Progress::Building { variant, line } => format!("kernel {:?}: {line}", variant.0),
            Progress::Preparing { board } => format!("board {board}: looking for the accelerator"),
            Progress::Waiting { owner } => format!("this host is busy measuring: {owner}"),
            Progress::OutOfTime { left } => {
                let visits = if left == 1 { "visit is" } else { "visits are" };
                let line =
                    format!("no time for another round: {left} {visits} left; the same command goes on");
                return self.lines.say(&line);
            }
            Progress::Booting { visit } => format!("{visit}: booting"),
            Progress::Running { trial, elapsed_ms, planned_ms } => {
                let planned = planned_ms.map_or_else(String::new, |planned| format!("/{}", planned / 1000));
                format!("{trial}: {}{planned} s", elapsed_ms / 1000)
            }
        };
        match self.time_left() {
            Some(left) if building => self.lines.show(&format!("[then {left} of measuring] {text}")),
            Some(left) => self.lines.show(&format!("[{left} left] {text}")),
            None => self.lines.show(&text),
        }
    }
}

/// An accelerator as people write it.
pub(crate) fn accel_name(accel: Accel) -> &'static str {
    match accel {
        Accel::Auto => "accelerator not decided",
        Accel::Tcg => "TCG",
        Accel::Kvm => "KVM",
    }
}

/// A duration as people say it: `45 s`, `12 min`, `3.5 h`.
pub(crate) fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{:.1} s", duration.as_secs_f64()),
        1..=99 => format!("{} s", duration.as_secs()),
        100..=5999 => format!("{} min", (duration.as_secs() + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// Whether a run's builds all succeeded.
pub(crate) fn all_built(run: &Run) -> bool {
    run.builds.values().all(|build| matches!(build, BuildState::Built(_)))
}

/// A panic while printing must not silence everything after it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spoken() {
        let cases =
            [(500, "0.5 s"), (1_000, "1 s"), (99_000, "99 s"), (150_000, "3 min"), (7_200_000, "2.0 h")];
        for (ms, text) in cases {
            assert_eq!(spoken(Duration::from_millis(ms)), text);
        }
    }
}
