//! Findings by index become data by name.

use super::VERSION;
use super::data::*;
use crate::findings::{Board, Cell, CellMetric, Change, Findings, Group, Mean, Seen, Tally, Variant};
use crate::posted::PostedFacts;
use kab_model::{Metric, PostedValues};

/// The whole report.
pub(super) fn data(findings: &Findings) -> Data {
    let names = Names(findings);
    Data {
        format: "kab-report".to_owned(),
        version: VERSION,
        run: run(findings),
        variants: findings.variants.iter().map(|variant| names.described(variant)).collect(),
        baseline: findings.variants.get(findings.baseline).map(|variant| variant.name.clone()),
        pairs: (0..findings.pairs.len())
            .map(|pair| {
                let (candidate, reference) = names.pair(pair);
                PairData { candidate, reference }
            })
            .collect(),
        metrics: metrics(findings),
        boards: findings.boards.iter().map(|board| names.board(board)).collect(),
        method: method(findings),
        posted: findings.posted.as_ref().map(posted),
    }
}

fn posted(facts: &PostedFacts) -> PostedData {
    let values = match facts.values {
        PostedValues::Averages => "averages",
        PostedValues::Trials => "trials",
        PostedValues::Boots => "boots",
        PostedValues::Rounds => "rounds",
    };
    PostedData { source: facts.source.clone(), values: values.to_owned(), notes: facts.notes.clone() }
}

/// A metric's name with its unit.
pub(super) fn metric_name(metric: Metric) -> String {
    match metric {
        Metric::Iops => "iops".to_owned(),
        Metric::Bw => "bw_bytes_per_s".to_owned(),
        Metric::CpuPerIo => "cpu_ns_per_io".to_owned(),
        Metric::ClatMean | Metric::ClatP50 | Metric::ClatP99 | Metric::ClatP999 => {
            format!("{}_ns", metric.name())
        }
    }
}

fn run(findings: &Findings) -> RunData {
    RunData {
        id: findings.meta.run_id.clone(),
        data_digest: findings.meta.data_digest.clone(),
        kab_version: findings.meta.kab_version.clone(),
        experiment: findings.name.clone(),
        title: findings.title.clone(),
        experiment_digest: findings.experiment_digest.clone(),
        finished: findings.progress.finished,
        visits_done: findings.progress.done,
        visits_planned: findings.progress.planned,
    }
}

fn metrics(findings: &Findings) -> Vec<MetricData> {
    let families = std::iter::once(&findings.primary).chain(&findings.exploratory);
    families
        .enumerate()
        .map(|(at, family)| MetricData {
            metric: metric_name(family.metric),
            primary: at == 0,
            better: if family.metric.higher_is_better() { "higher" } else { "lower" }.to_owned(),
            same_within_pct: 100.0 * family.margin,
            comparisons: family.comparisons,
        })
        .collect()
}

fn method(findings: &Findings) -> MethodData {
    let method = &findings.method;
    MethodData {
        rounds: method.rounds,
        order: method.order.name().to_owned(),
        seed: method.seed,
        trials: method.trials,
        warmup: method.warmup,
        cooldown_ms: method.cooldown_ms,
        fio_versions: method.fio_versions.clone(),
        fio_commands: method.commands.clone(),
        compilers: method.compilers.clone(),
    }
}

/// Names for the indices of findings.
struct Names<'a>(&'a Findings);

impl Names<'_> {
    fn variant(&self, index: usize) -> String {
        self.0.variants[index].name.clone()
    }

    fn pair(&self, index: usize) -> (String, String) {
        let (candidate, reference) = self.0.pairs[index];
        (self.variant(candidate), self.variant(reference))
    }

    fn described(&self, variant: &Variant) -> VariantData {
        VariantData {
            name: variant.name.clone(),
            letter: variant.letter.clone(),
            reference: variant.reference.clone(),
            describe: variant.describe.clone(),
            commit: variant.commit.clone(),
            release: variant.release.clone(),
            on_top_of: variant.on_top_of.map(|base| self.variant(base)),
            identical_to: variant.same_as.map(|same| self.variant(same)),
            patches: variant.patches.clone(),
            build_error: variant.build_error.clone(),
        }
    }

    fn board(&self, board: &Board) -> BoardData {
        let ending = |(at, tally): (usize, &Tally)| ending(self.variant(at), tally);
        BoardData {
            name: board.name.clone(),
            endings: board.tallies.iter().enumerate().map(ending).collect(),
            cells: board.cells.iter().map(|cell| self.cell(cell)).collect(),
            summaries: board.groups.iter().map(|group| self.summary(group)).collect(),
        }
    }

    fn cell(&self, cell: &Cell) -> CellData {
        let details = cell.details.iter().enumerate();
        CellData {
            id: cell.id.clone(),
            label: cell.label.clone(),
            metrics: cell.metrics.iter().map(|metric| self.metric(metric)).collect(),
            fio_cpu: details
                .map(|(at, detail)| FioCpuData {
                    variant: self.variant(at),
                    usr_pct: detail.usr_pct,
                    sys_pct: detail.sys_pct,
                })
                .collect(),
            posted: cell
                .posted
                .iter()
                .map(|row| PostedRowData { name: row.name.clone(), texts: row.texts.clone() })
                .collect(),
        }
    }

    fn metric(&self, metric: &CellMetric) -> CellMetricData {
        CellMetricData {
            metric: metric_name(metric.metric),
            variants: (0..metric.means.len()).map(|at| self.value(metric, at)).collect(),
            changes: metric.changes.iter().enumerate().map(|(at, change)| self.change(at, change)).collect(),
        }
    }

    fn value(&self, metric: &CellMetric, at: usize) -> ValueData {
        let (state, mean) = match metric.means[at] {
            Mean::Value(value) => ("value", Some(value)),
            Mean::Failed => ("failed", None),
            Mean::Missing => ("missing", None),
        };
        let boots = &metric.boots[at];
        let interval = boots.interval.filter(|_| mean.is_some());
        ValueData {
            variant: self.variant(at),
            state: state.to_owned(),
            mean,
            ci95_low: interval.map(|(low, _)| low),
            ci95_high: interval.map(|(_, high)| high),
            visits: boots
                .values
                .iter()
                .map(|boot| VisitData {
                    visit: boot.visit,
                    round: boot.round,
                    value: boot.value,
                    trials: boot.trials.clone(),
                    noted_trials: boot.noted,
                })
                .collect(),
        }
    }

    fn change(&self, pair: usize, change: &Change) -> ChangeData {
        let (candidate, reference) = self.pair(pair);
        ChangeData {
            candidate,
            reference,
            verdict: change.verdict.word().to_owned(),
            why: change.why.clone(),
            change_pct: change.percent,
            ci95_low_pct: change.interval.map(|(low, _)| low),
            ci95_high_pct: change.interval.map(|(_, high)| high),
            by_ranks: change.robust,
            p: change.p.map(|p| p.raw),
            p_holm: change.p.map(|p| p.holm),
            q_benjamini_hochberg: change.p.map(|p| p.benjamini_hochberg),
            candidate_visits: change.visits.0,
            reference_visits: change.visits.1,
            more_rounds: change.more_rounds,
        }
    }

    fn summary(&self, group: &Group) -> SummaryData {
        let geomeans = group.geomean.iter().enumerate().filter_map(|(pair, geomean)| {
            let ((candidate, reference), geomean) = (self.pair(pair), (*geomean)?);
            Some(GeomeanData {
                candidate,
                reference,
                change_pct: geomean.percent,
                ci95_low_pct: geomean.interval.map(|(low, _)| low),
                ci95_high_pct: geomean.interval.map(|(_, high)| high),
                cells: geomean.cells,
            })
        });
        let cpu = group.cpu_per_io.iter().flat_map(|cpu| cpu.values.iter().enumerate());
        SummaryData {
            workload: group.name.clone(),
            geomeans: geomeans.collect(),
            cpu_per_io: cpu
                .filter_map(|(at, value)| {
                    Some(CpuData { variant: self.variant(at), cpu_ns_per_io: (*value)? })
                })
                .collect(),
        }
    }
}

fn ending(variant: String, tally: &Tally) -> EndingData {
    let count = |seen: &[Seen]| seen.iter().map(|seen| seen.count).sum();
    let kinds = [
        ("failed_boot", &tally.boot_failures),
        ("crash", &tally.crashes),
        ("void_visit", &tally.void_visits),
        ("noted_trial", &tally.noted),
        ("failed_trial", &tally.failed),
        ("void_trial", &tally.void),
    ];
    let reason = |(ending, seen): (&str, &Seen)| ReasonData {
        ending: ending.to_owned(),
        rule: seen.rule.clone(),
        detail: seen.detail.clone(),
        count: seen.count,
    };
    EndingData {
        variant,
        visits: tally.visits,
        failed_boots: count(&tally.boot_failures),
        crashes: count(&tally.crashes),
        void_visits: count(&tally.void_visits),
        trials: tally.trials,
        noted_trials: tally.noted_trials,
        failed_trials: tally.failed_trials,
        void_trials: tally.void_trials,
        reasons: kinds
            .into_iter()
            .flat_map(|(kind, seen)| seen.iter().map(move |seen| (kind, seen)))
            .map(reason)
            .collect(),
    }
}
