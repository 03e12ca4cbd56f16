//! Random sessions: `log y = effect + visit + drift + noise`, and shares over many of them.

use kab_stats::change::Pcg;
use kab_stats::{Better, CellInput, CellRule, Row, Scale};
use std::f64::consts::TAU;
use std::num::NonZero;
use std::thread;

/// Normal and uniform numbers.
pub(super) struct Random(Pcg);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Pcg::new(seed))
    }

    /// Uniform in (0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / 4_294_967_296.0
    }

    /// Standard normal (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    /// Student's t with 3 degrees of freedom, scaled to a variance of 1.
    fn t3(&mut self) -> f64 {
        let square: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / square.sqrt()
    }
}

/// Shape of the noise of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Normal,
    /// 5 % of trials at -20 %.
    Outliers,
    /// 30 % of trials at -8 %.
    Bimodal,
    T3,
    /// Autocorrelation 0.6 from visit to visit.
    Ar,
}

/// The noise of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    pub(super) shape: Shape,
    /// Deviation of a trial.
    pub(super) trial: f64,
    /// Deviation between visits.
    pub(super) visit: f64,
    /// Deviation of a trial of the candidate, as a multiple.
    pub(super) ratio: f64,
    /// Linear drift over the session.
    pub(super) drift: f64,
}

impl Noise {
    pub(super) const fn new(shape: Shape, trial: f64) -> Self {
        Self { shape, trial, visit: 0.0, ratio: 1.0, drift: 0.0 }
    }

    fn draw(&self, random: &mut Random, deviation: f64) -> f64 {
        match self.shape {
            Shape::T3 => deviation * random.t3(),
            Shape::Outliers if random.uniform() < 0.05 => deviation * random.normal() + 0.8_f64.ln(),
            Shape::Bimodal if random.uniform() < 0.3 => deviation * random.normal() + 0.92_f64.ln(),
            Shape::Ar => 0.0,
            _ => deviation * random.normal(),
        }
    }
}

/// How the visits of a session are ordered and told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// Shuffled in rounds, and the rounds are known.
    Rounds,
    /// Shuffled in rounds, but the analysis does not know.
    Unblocked,
    /// All of the reference, then all of the candidate.
    Sequential,
}

/// The visits of a session: variant, round, and what all cells share.
pub(super) struct Session {
    visits: Vec<(usize, u32, f64)>,
    layout: Layout,
}

impl Session {
    pub(super) fn new(random: &mut Random, rounds: u32, layout: Layout) -> Self {
        let mut order: Vec<(usize, u32)> = Vec::new();
        for round in 0..rounds {
            let first = usize::from(random.uniform() < 0.5);
            order.extend([(first, round), (1 - first, round)]);
        }
        if layout == Layout::Sequential {
            order.sort_unstable();
        }
        let visits = order.into_iter().map(|(variant, round)| (variant, round, random.normal())).collect();
        Self { visits, layout }
    }

    /// One cell of the session. `shared` is the part of the variance between visits that all cells have in common.
    pub(super) fn cell(
        &self,
        random: &mut Random,
        noise: &Noise,
        trials: u32,
        effect: f64,
        shared: f64,
    ) -> CellInput {
        let last = (self.visits.len() - 1).max(1) as f64;
        let mut chain = random.normal();
        let mut rows = Vec::new();
        for (visit, &(variant, round, common)) in (0_u32..).zip(&self.visits) {
            chain = 0.6 * chain + 0.8 * random.normal();
            let own = random.normal();
            let correlated = if noise.shape == Shape::Ar { noise.trial * chain } else { 0.0 };
            let level = effect * variant as f64
                + noise.visit * (shared.sqrt() * common + (1.0 - shared).sqrt() * own)
                + noise.drift * f64::from(visit) / last
                + correlated;
            let deviation = noise.trial * if variant == 1 { noise.ratio } else { 1.0 };
            for _ in 0..trials {
                let value = (level + noise.draw(random, deviation)).exp();
                let (round, seq) = match self.layout {
                    Layout::Rounds => (Some(round), Some(visit)),
                    Layout::Unblocked => (None, None),
                    Layout::Sequential => (Some(round), Some(visit)),
                };
                rows.push(Row { variant, round, visit, seq, value, void: false });
            }
        }
        CellInput { rule: rule(), rows }
    }
}

/// Throughput with a margin of 2 %.
pub(super) fn rule() -> CellRule {
    CellRule::new(Scale::Log, Better::Higher, 0.02, 0.0).expect("a valid rule")
}

/// Means of what `sample` returns, over `reps` repetitions. Each repetition has its own stream, so the result is the same for any
/// number of threads.
pub(super) fn means<const N: usize>(
    reps: u32,
    seed: u64,
    sample: impl Fn(&mut Random) -> [f64; N] + Sync,
) -> [f64; N] {
    let threads = thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let part = &|thread: u32| {
        let mut sums = [0.0; N];
        for rep in (thread..reps).step_by(threads as usize) {
            let mut random = Random::new(mix(mix(seed) ^ u64::from(rep)));
            let values = sample(&mut random);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sums
    };
    let parts: Vec<[f64; N]> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|t| scope.spawn(move || part(t))).collect();
        handles.into_iter().map(|h| h.join().expect("a simulation does not panic")).collect()
    });
    std::array::from_fn(|i| parts.iter().map(|p| p[i]).sum::<f64>() / f64::from(reps))
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): streams of one congruential generator are only unrelated when their seeds
/// differ in all bits.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 1 for true.
pub(super) fn one(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
