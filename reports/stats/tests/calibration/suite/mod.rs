//! The acceptance simulations of the statistical method, A2 to A18, with fixed seeds.

mod report;
mod session;
mod simulate;
mod single;

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// Number of the target, as in "A2".
    pub(crate) id: &'static str,
    /// What was simulated.
    pub(crate) what: String,
    /// The share (or number) that came out.
    pub(crate) measured: f64,
    /// Smallest and largest value that pass.
    pub(crate) bounds: (f64, f64),
    /// Repetitions.
    pub(crate) reps: u32,
    /// Where the procedure as it is specified cannot meet the target: what it does instead.
    pub(crate) known: Option<Known>,
}

/// A target that the specified procedure cannot meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// The share that the procedure has, from a larger simulation of its own.
    pub(crate) share: f64,
    /// Why.
    pub(crate) why: &'static str,
}

impl Line {
    /// Whether the target is met.
    pub(crate) fn passes(&self) -> bool {
        (self.bounds.0..=self.bounds.1).contains(&self.measured)
    }

    /// Whether a missed target is missed by as much as is known and explained, to four standard errors.
    pub(crate) fn is_explained(&self) -> bool {
        self.known.is_some_and(|known| {
            let error = (known.share * (1.0 - known.share) / f64::from(self.reps)).sqrt();
            (self.measured - known.share).abs() <= 4.0 * error
        })
    }

    fn known(self, share: f64, why: &'static str) -> Self {
        Self { known: Some(Known { share, why }), ..self }
    }
}

/// How much to simulate: the part of the full number of repetitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort(pub(crate) f64);

impl Effort {
    fn reps(self, full: u32) -> u32 {
        ((f64::from(full) * self.0) as u32).max(20)
    }

    /// A share against its bounds. The targets hold as they are for the full number of repetitions, whose tolerance they include;
    /// with fewer, the bounds move out by four standard errors.
    fn line(self, id: &'static str, what: String, measured: f64, bounds: (f64, f64), reps: u32) -> Line {
        let slack = |p: f64| {
            let p = p.clamp(0.0, 1.0);
            if self.0 >= 1.0 { 0.0 } else { 4.0 * (p * (1.0 - p) / f64::from(reps)).sqrt() }
        };
        let bounds = (bounds.0 - slack(bounds.0), bounds.1 + slack(bounds.1));
        Line { id, what, measured, bounds, reps, known: None }
    }
}

/// All simulations, in the order of their targets; `each` sees every line as it is ready.
pub(crate) fn run(effort: Effort, mut each: impl FnMut(&Line)) -> Vec<Line> {
    type Check = fn(Effort) -> Vec<Line>;
    let checks: [Check; 12] = [
        single::false_positives,
        single::unequal_noise,
        single::drift,
        single::visits,
        single::refused,
        report::false_alarms,
        report::power_and_discoveries,
        single::power,
        session::same,
        session::adaptive,
        report::geomean_coverage,
        session::nightly,
    ];
    let mut lines = Vec::new();
    for check in checks {
        for line in check(effort) {
            each(&line);
            lines.push(line);
        }
    }
    lines
}
