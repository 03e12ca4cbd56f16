//! experiment.yaml: fio jobs and their matrices.

use super::decode::{Decoder, Fields, list};
use super::keys::{Key, MapSpec, Shape};
use super::located::Context;
use super::scalar::{self, TextRule};
use super::source::Span;
use super::tree::{Entry, Node, Value};
use crate::{FioOption, MatrixMap, TargetName, Workload};
use std::collections::HashMap;

/// Cells of one workload. Each costs minutes in every visit, so more is a slip of the pen.
const MAX_CELLS: usize = 1000;

const VALUE: Shape = Shape::Text(TextRule::CommandLine);
pub(super) const OPTIONS: Shape = Shape::Table(TextRule::OptionName, &VALUE);
const AXES: Shape = Shape::Table(TextRule::OptionName, &Shape::List(&VALUE));

pub(super) const WORKLOAD: MapSpec = MapSpec {
    what: "a workload",
    hint: Some("fio options stand under `fio:` or, with lists of values, under `matrix:`"),
    keys: &[
        Key::required("name", Shape::Text(TextRule::Name), "A short name for tables."),
        Key::required("fio", OPTIONS, "The fio options common to all cells, as fio takes them."),
        Key::optional(
            "matrix",
            Shape::OneOrMore(&AXES),
            "fio options with lists of values: every combination is one cell. A list of such maps joins their cells.",
        ),
        Key::optional(
            "exclude",
            Shape::OneOrMore(&OPTIONS),
            "Cells whose options contain all pairs of one of these maps are left out.",
        ),
        Key::optional(
            "target",
            Shape::Text(TextRule::Line),
            "The disk; the experiment's `target` by default.",
        ),
        Key::later("include", "Cells besides those of the matrix."),
        Key::later("job", "A raw fio job file."),
        Key::later("targets", "Several disks at once."),
        Key::later("per_target", "One job group a target."),
        Key::later("precondition", "A job that prepares the disk."),
        Key::later("steady_state", "Waits until the disk is in a steady state."),
    ],
};

/// All workloads in the order of the file.
pub(super) fn workloads(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    has_target: bool,
    context: &Context<'_>,
) -> Vec<Workload> {
    let Some(node) = fields.value("workloads") else { return Vec::new() };
    let mut names: HashMap<String, Span> = HashMap::new();
    let mut workloads = Vec::new();
    for item in decoder.list(node, "workloads") {
        let Some(fields) = decoder.fields(item, &WORKLOAD) else { continue };
        let name = decoder.text(&fields, "name");
        if let (Some(name), Some(node)) = (&name, fields.value("name")) {
            match names.get(name) {
                Some(first) => {
                    decoder.repeated(node.span, &format!("two workloads are named `{name}`"), *first);
                }
                None => {
                    names.insert(name.clone(), node.span);
                }
            }
        }
        if fields.value("target").is_none() && !has_target {
            let place = fields.value("name").map_or(item.owner, |name| name.span);
            decoder.error(place, "this workload has no target").hint =
                Some("write `target:` here, or once at the top level".into());
        }
        workloads.extend(workload(decoder, &fields, name, context));
    }
    workloads
}

fn workload(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    name: Option<String>,
    context: &Context<'_>,
) -> Option<Workload> {
    let fio = fields.value("fio").map(|node| options(decoder, node, "fio", context)).unwrap_or_default();
    let matrix = matrix(decoder, fields, context);
    let exclude = exclude(decoder, fields, &matrix);
    let target = decoder.text(fields, "target").map(TargetName);
    Some(Workload { name: name?, fio, matrix, exclude, target })
}

/// A map of fio options to texts.
pub(super) fn options(
    decoder: &mut Decoder<'_>,
    node: &Node,
    name: &str,
    context: &Context<'_>,
) -> Vec<FioOption> {
    let mut options = Vec::new();
    for entry in decoder.table(node, name, &OPTIONS) {
        not_reserved(decoder, entry, context);
        if matches!(entry.value.value, Value::Seq(_)) {
            decoder
                .error(
                    entry.value.span,
                    format!("the fio option `{}` has one value here, not a list", entry.key),
                )
                .hint = Some("lists of values stand under `matrix:`".into());
            continue;
        }
        options.extend(option(decoder, entry));
    }
    options
}

fn option(decoder: &mut Decoder<'_>, entry: &Entry) -> Option<FioOption> {
    if entry.value.is_nothing() {
        decoder.error(entry.span, format!("the fio option `{}` has no value", entry.key)).hint =
            Some(format!("for a switch write `{}: 1`", entry.key));
        return None;
    }
    let what = format!("the fio option `{}`", entry.key);
    let value = decoder.parsed(&entry.value, &what, value)?;
    Some(FioOption { name: entry.key.clone(), value })
}

/// Text as it is, but for the truth values of YAML, which fio does not know.
fn value(text: &str) -> Result<String, scalar::Problem> {
    match text {
        "true" => Ok("1".to_owned()),
        "false" => Ok("0".to_owned()),
        text => scalar::text(&VALUE, text),
    }
}

fn not_reserved(decoder: &mut Decoder<'_>, entry: &Entry, context: &Context<'_>) {
    if let Some(reason) = (context.reserved)(&entry.key) {
        decoder.error(entry.span, format!("the fio option `{}` is set by kab itself", entry.key)).hint =
            Some(reason.to_owned());
    }
}

fn matrix(decoder: &mut Decoder<'_>, fields: &Fields<'_>, context: &Context<'_>) -> Vec<MatrixMap> {
    let Some(node) = fields.value("matrix") else { return Vec::new() };
    let fio = fields.value("fio");
    let mut maps = Vec::new();
    for map in decoder.one_or_more(node, "matrix") {
        let mut axes = Vec::new();
        for entry in decoder.table(map, "matrix", &AXES) {
            not_reserved(decoder, entry, context);
            if let Some(first) = fio.and_then(|fio| fio.entry(&entry.key)) {
                let message = format!("the option `{}` stands in the matrix and in `fio`", entry.key);
                decoder.repeated(entry.span, &message, first.span);
            }
            axes.push((entry.key.clone(), axis(decoder, entry)));
        }
        maps.push(MatrixMap { axes });
    }
    let sizes =
        maps.iter().map(|map| map.axes.iter().fold(1usize, |n, (_, values)| n.saturating_mul(values.len())));
    let cells = sizes.fold(0usize, usize::saturating_add);
    if cells > MAX_CELLS {
        decoder.error(node.owner, format!("this matrix has {cells} cells, more than {MAX_CELLS}"));
    }
    maps
}

fn axis(decoder: &mut Decoder<'_>, entry: &Entry) -> Vec<String> {
    if entry.value.is_nothing() {
        decoder.error(entry.span, format!("`{}` has no values", entry.key));
        return Vec::new();
    }
    let what = format!("a value of `{}`", entry.key);
    let mut values: HashMap<String, Span> = HashMap::new();
    let mut ordered = Vec::new();
    for item in decoder.list(&entry.value, &entry.key) {
        let Some(value) = decoder.item(item, &what, value) else { continue };
        if let Some(first) = values.insert(value.clone(), item.span) {
            decoder.repeated(item.span, &format!("the value `{value}` is listed twice"), first);
        }
        ordered.push(value);
    }
    ordered
}

fn exclude(decoder: &mut Decoder<'_>, fields: &Fields<'_>, matrix: &[MatrixMap]) -> Vec<Vec<FioOption>> {
    let Some(node) = fields.value("exclude") else { return Vec::new() };
    let mut maps = Vec::new();
    for map in decoder.one_or_more(node, "exclude") {
        let mut pairs = Vec::new();
        for entry in decoder.table(map, "exclude", &OPTIONS) {
            let Some(pair) = option(decoder, entry) else { continue };
            excludes_something(decoder, entry, &pair, matrix);
            pairs.push(pair);
        }
        maps.push(pairs);
    }
    maps
}

/// A pair that no axis has leaves nothing out, which is never what its author meant.
fn excludes_something(decoder: &mut Decoder<'_>, entry: &Entry, pair: &FioOption, matrix: &[MatrixMap]) {
    let axes = || matrix.iter().flat_map(|map| &map.axes);
    let values: Vec<&str> = axes()
        .filter(|(name, _)| *name == pair.name)
        .flat_map(|(_, values)| values)
        .map(String::as_str)
        .collect();
    if !axes().any(|(name, _)| *name == pair.name) {
        let names: Vec<&str> = axes().map(|(name, _)| name.as_str()).collect();
        let message = format!("`{}` is no option of the matrix, so this leaves out nothing", pair.name);
        decoder.unknown(entry.span, &pair.name, message, names);
    } else if !values.contains(&pair.value.as_str()) {
        let message = format!("`{}` never is `{}`, so this leaves out nothing", pair.name, pair.value);
        decoder.error(entry.value.span, message).hint = Some(format!("its values: {}", list(&values)));
    }
}
