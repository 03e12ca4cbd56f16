//! experiment.yaml: the top level, the schedule and the report.

use super::decode::{Decoder, Fields};
use super::diagnostic::{Diagnostics, Severity};
use super::kernel::KERNEL;
use super::keys::{Choice, Key, MapSpec, Shape};
use super::load::load;
use super::located::{Context, Located};
use super::scalar::{self, TextRule};
use super::source::Source;
use super::tree::{Node, Value};
use super::variant::{VARIANTS, variants};
use super::workload::{WORKLOAD, workloads};
use crate::{Cooldown, Experiment, Metric, Order, ReportSpec, Schedule, TargetName, Variant, VariantName};
use std::collections::HashSet;
use std::time::Duration;

pub(super) const HEADING: Shape = Shape::Text(TextRule::Heading);
pub(super) const METRIC: Shape = Shape::Choice(METRICS);
const MARGIN: Shape = Shape::Percent(50);
pub(super) const MARGINS: Shape = Shape::Table(TextRule::OptionName, &MARGIN);

pub(super) const EXPERIMENT: MapSpec = MapSpec {
    what: "an experiment",
    hint: None,
    keys: &[
        Key::required("name", Shape::Text(TextRule::Name), "A short name; runs are named after it."),
        Key::optional("title", Shape::Text(TextRule::Line), "One line for the head of the report."),
        Key::optional(
            "kernel",
            Shape::Map(&KERNEL),
            "Defaults for all variants; each may override any of them.",
        ),
        Key::required("variants", VARIANTS, "The kernels to compare, by the names that reports use."),
        Key::optional(
            "baseline",
            HEADING,
            "The variant that others are compared with; the first one by default.",
        ),
        Key::optional(
            "against",
            Shape::List(&Shape::List(&HEADING)),
            "Further pairs [candidate, reference] to judge, in the same family of tests.",
        ),
        Key::required(
            "boards",
            Shape::List(&Shape::Text(TextRule::Name)),
            "Names or tags from the lab file.",
        ),
        Key::optional("target", Shape::Text(TextRule::Line), "The disk that workloads use which name none."),
        Key::later("tuning", "A profile of settings that keep a board's speed steady."),
        Key::required(
            "workloads",
            Shape::List(&Shape::Map(&WORKLOAD)),
            "What is measured: fio jobs with a matrix.",
        ),
        Key::optional(
            "schedule",
            Shape::Map(&SCHEDULE),
            "How often things are measured, and in which order.",
        ),
        Key::optional("report", Shape::Map(&REPORT), "What the report judges and shows."),
    ],
};

pub(super) const SCHEDULE: MapSpec = MapSpec {
    what: "the schedule",
    hint: None,
    keys: &[
        Key::default("visits", Shape::Count(1, 1000), "8", "Boots of each variant on each board."),
        Key::default("trials", Shape::Count(1, 1000), "3", "Counted trials of each cell in each visit."),
        Key::default(
            "warmup",
            Shape::Count(0, 100),
            "1",
            "Trials of each cell before them that do not count.",
        ),
        Key::default("order", Shape::Choice(ORDERS), "random", "The order of variants within a round."),
        Key::optional("cooldown", Shape::Map(&COOLDOWN), "A pause before each trial; none by default."),
        Key::optional(
            "seed",
            Shape::Count(0, u64::MAX),
            "Fixes the random order; chosen and stored if absent.",
        ),
        Key::later("until", "Goes on until the question is decided."),
    ],
};

const COOLDOWN: MapSpec = MapSpec {
    what: "the cooldown",
    hint: None,
    keys: &[
        Key::default("seconds", Shape::Count(0, 3600), "0", "Seconds to wait before each trial."),
        Key::later("below", "Waits until the board is cooler than this."),
    ],
};

const ORDERS: &[Choice] = &[
    Choice::plain("random", "Shuffled anew in each round."),
    Choice::plain("abba", "As in the file and reversed, in turn: a drift along a straight line cancels out."),
    Choice::plain(
        "sequential",
        "All visits of one variant, then of the next: a drift looks like a difference.",
    ),
];

pub(super) const REPORT: MapSpec = MapSpec {
    what: "the report",
    hint: None,
    keys: &[
        Key::default("primary", METRIC, "iops", "The metric of the verdicts."),
        Key::optional(
            "metrics",
            Shape::List(&METRIC),
            "Metrics that the full report shows; iops, bw, cpu_per_io, clat_mean and clat_p99 by default.",
        ),
        Key::optional(
            "same_within",
            MARGINS,
            "Margins within which two variants count as the same, by metric; 2% by default, 3% for clat_p99, 10% for clat_p999.",
        ),
        Key::later("reply_to", "Message-id of the mail that the report answers."),
    ],
};

const METRICS: &[Choice] = &[
    Choice::plain("iops", "Completed I/Os a second."),
    Choice::plain("bw", "Bytes a second."),
    Choice::plain("cpu_per_io", "Board-wide busy CPU time an I/O."),
    Choice::plain("clat_mean", "Mean completion latency."),
    Choice::plain("clat_p50", "Median completion latency."),
    Choice::plain("clat_p99", "99th percentile of completion latency."),
    Choice::plain(
        "clat_p999",
        "99.9th percentile of completion latency; judged from 100,000 I/Os a visit on.",
    ),
];

/// Reads an experiment.
///
/// # Errors
/// All problems of the file, in the order of their places.
pub fn parse_experiment(source: &Source, context: &Context<'_>) -> Result<Located<Experiment>, Diagnostics> {
    let mut problems = Vec::new();
    let tree = load(source, &mut problems).map_err(|problem| Diagnostics(vec![*problem]))?;
    let mut decoder = Decoder::new(source, problems);
    let value = experiment(&mut decoder, &tree, context);
    conclude(source, tree, value, decoder)
}

/// A value without errors becomes a [`Located`] one.
pub(super) fn conclude<T>(
    source: &Source,
    tree: Node,
    value: Option<T>,
    mut decoder: Decoder<'_>,
) -> Result<Located<T>, Diagnostics> {
    let place = tree.owner;
    if value.is_none() {
        decoder.ensure_error(place);
    }
    let found = Diagnostics::tidy(decoder.finish());
    match value {
        Some(value) if !found.0.iter().any(|problem| problem.severity == Severity::Error) => {
            Ok(Located { value, warnings: found, source: source.clone(), tree })
        }
        _ => Err(found),
    }
}

fn experiment(decoder: &mut Decoder<'_>, tree: &Node, context: &Context<'_>) -> Option<Experiment> {
    let fields = decoder.fields(tree, &EXPERIMENT)?;
    let name = decoder.text(&fields, "name");
    let title = decoder.text(&fields, "title");
    let variants = variants(decoder, &fields, context);
    let names: Vec<&str> = fields.value("variants").map(keys_of).unwrap_or_default();
    let baseline = baseline(decoder, &fields, &names);
    let against = against(decoder, &fields, &names, baseline.as_ref());
    let boards = boards(decoder, &fields);
    let target = decoder.text(&fields, "target").map(TargetName);
    let has_target = fields.value("target").is_some();
    let workloads = workloads(decoder, &fields, has_target, context);
    let schedule = schedule(decoder, &fields);
    let report = report(decoder, &fields);
    Some(Experiment {
        name: name?,
        title,
        variants: variants.filter(|variants: &Vec<Variant>| !variants.is_empty())?,
        baseline: baseline?,
        against,
        boards,
        target,
        workloads,
        schedule: schedule?,
        report: report?,
    })
}

fn keys_of(node: &Node) -> Vec<&str> {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| entry.key.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn baseline(decoder: &mut Decoder<'_>, fields: &Fields<'_>, names: &[&str]) -> Option<VariantName> {
    match fields.value("baseline") {
        Some(node) => variant_name(decoder, node, names),
        None => names.first().map(|name| VariantName((*name).to_owned())),
    }
}

pub(super) fn variant_name(decoder: &mut Decoder<'_>, node: &Node, names: &[&str]) -> Option<VariantName> {
    let text = decoder.item(node, "a variant", |text| scalar::text(&HEADING, text))?;
    if names.contains(&text.as_str()) || is_step(&text, names) {
        return Some(VariantName(text));
    }
    decoder.unknown(node.span, &text, format!("no variant is named `{text}`"), names.iter().copied());
    None
}

/// `NAME base` and `NAME +2` name kernels of a ladder; that it has so many steps is known only later.
fn is_step(text: &str, names: &[&str]) -> bool {
    text.rsplit_once(' ').is_some_and(|(name, step)| {
        let number = step.strip_prefix('+').and_then(|number| number.parse::<u32>().ok());
        names.contains(&name) && (step == "base" || number.is_some_and(|number| number > 0))
    })
}

pub(super) fn against(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    names: &[&str],
    baseline: Option<&VariantName>,
) -> Vec<(VariantName, VariantName)> {
    let mut pairs = Vec::new();
    for item in fields.value("against").map(|node| decoder.list(node, "against")).unwrap_or_default() {
        let Value::Seq(pair) = &item.value else {
            decoder.wrong_kind(item, "an item of `against`", "a pair").hint =
                Some("write `[candidate, reference]`".into());
            continue;
        };
        let [candidate, reference] = pair.as_slice() else {
            decoder.error(item.span, format!("a pair has two variants, not {}", pair.len())).hint =
                Some("write `[candidate, reference]`".into());
            continue;
        };
        let pair = (variant_name(decoder, candidate, names), variant_name(decoder, reference, names));
        let (Some(candidate), Some(reference)) = pair else { continue };
        if candidate == reference {
            decoder.error(item.span, format!("`{candidate}` is compared with itself"));
        } else if pairs.contains(&(candidate.clone(), reference.clone())) {
            decoder.error(item.span, "this pair is listed twice");
        } else if Some(&reference) == baseline {
            let message = format!("`{candidate}` is compared with the baseline `{reference}` anyway");
            decoder.warning(item.span, message).hint = Some("remove this pair".into());
        } else {
            pairs.push((candidate, reference));
        }
    }
    pairs
}

fn boards(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<String> {
    let shape = Shape::Text(TextRule::Name);
    let mut boards: Vec<String> = Vec::new();
    for item in fields.value("boards").map(|node| decoder.list(node, "boards")).unwrap_or_default() {
        let Some(name) = decoder.item(item, "a board", |text| scalar::text(&shape, text)) else { continue };
        if boards.contains(&name) {
            decoder.error(item.span, format!("the board `{name}` is listed twice"));
        }
        boards.push(name);
    }
    boards
}

fn schedule(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Schedule> {
    let absent = Node::empty_map();
    let node = fields.value("schedule").unwrap_or(&absent);
    if node.is_nothing() {
        return None;
    }
    let fields = decoder.fields(node, &SCHEDULE)?;
    let visits = decoder.count32(&fields, "visits");
    let trials = decoder.count32(&fields, "trials");
    let warmup = decoder.count32(&fields, "warmup");
    let order = order(decoder, &fields);
    let cooldown = cooldown(decoder, &fields);
    let seed = decoder.count(&fields, "seed");
    if visits.is_some_and(|visits| visits < 4) {
        let span = fields.value("visits").map(|node| node.span).unwrap_or_default();
        decoder.warning(span, "with fewer than 4 visits hardly any difference can be shown").hint =
            Some("visits are the unit of replication: 8 is a good start".into());
    }
    Some(Schedule {
        visits: visits?,
        trials: trials?,
        warmup: warmup?,
        order: order?,
        cooldown: cooldown.unwrap_or_default(),
        seed,
    })
}

fn order(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Order> {
    let (name, _) = decoder.choice(fields, "order")?;
    let order =
        [Order::Random, Order::Abba, Order::Sequential].into_iter().find(|order| order.name() == name)?;
    if order == Order::Sequential {
        let span = fields.value("order").map(|node| node.span).unwrap_or_default();
        decoder
            .warning(
                span,
                "in sequential order a drift of the board cannot be told from a difference: no verdict",
            )
            .hint = Some("`random` or `abba` measures the variants in turn at the same cost".into());
    }
    Some(order)
}

fn cooldown(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<Cooldown> {
    let node = fields.value("cooldown").filter(|node| !node.is_nothing())?;
    let fields = decoder.fields(node, &COOLDOWN)?;
    decoder.count(&fields, "seconds").map(|seconds| Cooldown { pause: Duration::from_secs(seconds) })
}

fn report(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Option<ReportSpec> {
    let absent = Node::empty_map();
    let node = fields.value("report").unwrap_or(&absent);
    if node.is_nothing() {
        return None;
    }
    let fields = decoder.fields(node, &REPORT)?;
    let primary = decoder.choice(&fields, "primary").and_then(|(name, _)| metric(name));
    let mut metrics = metrics(decoder, &fields);
    let same_within = same_within(decoder, &fields);
    let primary = primary?;
    if !metrics.contains(&primary) {
        metrics.insert(0, primary);
    }
    Some(ReportSpec { primary, metrics, same_within })
}

pub(super) fn metric(name: &str) -> Option<Metric> {
    Metric::ALL.into_iter().find(|metric| metric.name() == name)
}

fn metrics(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<Metric> {
    let Some(node) = fields.value("metrics") else { return Metric::USUAL.to_vec() };
    let mut metrics = Vec::new();
    let mut seen = HashSet::new();
    for item in decoder.list(node, "metrics") {
        let Some((name, _)) = decoder.choose(item, "a metric", METRICS) else { continue };
        if !seen.insert(name) {
            decoder.error(item.span, format!("the metric `{name}` is listed twice"));
        }
        metrics.extend(metric(name));
    }
    metrics
}

pub(super) fn same_within(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<(Metric, f64)> {
    let Some(node) = fields.value("same_within") else { return Vec::new() };
    let mut margins = Vec::new();
    for entry in decoder.table(node, "same_within", &MARGINS) {
        let margin = decoder.item(&entry.value, "a margin", |text| scalar::percent(&MARGIN, text));
        match metric(&entry.key) {
            Some(metric) => margins.extend(margin.map(|margin| (metric, margin))),
            None => {
                let known = METRICS.iter().map(|choice| choice.name);
                decoder.unknown(entry.span, &entry.key, format!("no metric is named `{}`", entry.key), known);
            }
        }
    }
    margins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_metrics_is_complete() {
        let listed: Vec<&str> = METRICS.iter().map(|choice| choice.name).collect();
        assert_eq!(listed, Metric::ALL.map(Metric::name));
    }
}
