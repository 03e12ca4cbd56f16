//! table.yaml: figures that somebody posted, for `kab runs import --table`.

use super::decode::{Decoder, Fields};
use super::diagnostic::Diagnostics;
use super::experiment::{HEADING, MARGINS, METRIC, against, conclude, metric, same_within, variant_name};
use super::figure::{self, Figure};
use super::keys::{Choice, Key, MapSpec, Shape};
use super::load::load;
use super::located::Located;
use super::scalar::{self, TextRule};
use super::source::Source;
use super::tree::{Entry, Node, Value};
use crate::{Metric, Posted, PostedBoard, PostedCell, PostedRow, PostedValues, ReportSpec, VariantName};

const LINE: Shape = Shape::Text(TextRule::Line);
const COMMAND: Shape = Shape::Text(TextRule::CommandLine);
const FIGURES: Shape = Shape::List(&Shape::OneOrMore(&LINE));
const ROWS: Shape = Shape::Table(TextRule::Line, &FIGURES);
const CELLS: Shape = Shape::Table(TextRule::Line, &ROWS);
const BOARDS: Shape = Shape::Table(TextRule::Line, &Shape::Map(&BOARD));

pub(super) const TABLE: MapSpec = MapSpec {
    what: "a table of posted figures",
    hint: None,
    keys: &[
        Key::required("name", Shape::Text(TextRule::Name), "A short name for the list of runs."),
        Key::optional("title", LINE, "One line for the head of the report."),
        Key::optional("source", COMMAND, "Where the figures are from: subject, date, message-id."),
        Key::required(
            "variants",
            Shape::List(&HEADING),
            "The columns: every list of figures below has one item for each, in this order.",
        ),
        Key::optional(
            "baseline",
            HEADING,
            "The variant that others are compared with; the first one by default.",
        ),
        Key::optional(
            "against",
            Shape::List(&Shape::List(&HEADING)),
            "Further pairs [candidate, reference] to compare.",
        ),
        Key::default("values", Shape::Choice(VALUES), "averages", "What the figures are."),
        Key::required("boards", BOARDS, "The boards with their tests, by name."),
        Key::optional("commands", Shape::OneOrMore(&COMMAND), "The commands that made the figures."),
        Key::optional("notes", Shape::OneOrMore(&COMMAND), "What else was said with the figures."),
        Key::optional(
            "primary",
            METRIC,
            "The metric of the report; the first that all tests have by default.",
        ),
        Key::optional(
            "same_within",
            MARGINS,
            "Margins within which two variants count as the same, by metric; 2% by default, 3% for clat_p99.",
        ),
    ],
};

const BOARD: MapSpec = MapSpec {
    what: "a board",
    hint: Some("the figures of its tests stand under `tests:`"),
    keys: &[
        Key::optional("about", COMMAND, "What the board is."),
        Key::required(
            "tests",
            CELLS,
            "The rows of each test by name: `iops`, `bw (MB/s)`, `clat_mean (us)`, `clat_p50`, `clat_p99`, `clat_p999` and `cpu_per_io (us)` \
             are compared, any other row is shown as it is. A row has one figure a variant, or a list of them; `-` where \
             nothing was posted.",
        ),
    ],
};

const VALUES: &[Choice] = &[
    Choice::plain("averages", "One figure a variant: nothing is known of the noise, so there is no verdict."),
    Choice::plain("trials", "Repetitions, perhaps all of one boot: there is no verdict."),
    Choice::plain("boots", "One figure a boot, in unknown order."),
    Choice::plain(
        "rounds",
        "One figure a boot; the first of all variants were made together, then the second, …",
    ),
];

/// Reads a table of posted figures.
///
/// # Errors
/// All problems of the file, in the order of their places.
pub fn parse_table(source: &Source) -> Result<Located<Posted>, Diagnostics> {
    let mut problems = Vec::new();
    let tree = load(source, &mut problems).map_err(|problem| Diagnostics(vec![*problem]))?;
    let mut decoder = Decoder::new(source, problems);
    let value = table(&mut decoder, &tree, source);
    conclude(source, tree, value, decoder)
}

fn table(decoder: &mut Decoder<'_>, tree: &Node, source: &Source) -> Option<Posted> {
    let fields = decoder.fields(tree, &TABLE)?;
    let name = decoder.text(&fields, "name");
    let variants = variants(decoder, &fields);
    let names: Vec<&str> = variants.iter().map(|variant| variant.0.as_str()).collect();
    let baseline = match fields.value("baseline") {
        Some(node) => variant_name(decoder, node, &names),
        None => variants.first().cloned(),
    };
    let more = against(decoder, &fields, &names, baseline.as_ref());
    let values = values(decoder, &fields);
    let boards = boards(decoder, &fields, names.len(), values);
    let report = report(decoder, &fields, &boards);
    let title = decoder.text(&fields, "title");
    let from = decoder.text(&fields, "source");
    let commands = texts(decoder, &fields, "commands");
    let notes = texts(decoder, &fields, "notes");
    let baseline = baseline?;
    let others = variants.iter().filter(|variant| **variant != baseline);
    let pairs = others.map(|variant| (variant.clone(), baseline.clone())).chain(more).collect();
    Some(Posted {
        name: name?,
        title,
        source: from,
        variants,
        baseline,
        pairs,
        values,
        boards,
        commands,
        notes,
        report: report?,
        digest: blake3::hash(source.text().as_bytes()).to_hex().to_string(),
    })
}

fn variants(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> Vec<VariantName> {
    let mut variants: Vec<VariantName> = Vec::new();
    for item in fields.value("variants").map(|node| decoder.list(node, "variants")).unwrap_or_default() {
        let Some(name) = decoder.item(item, "a variant", |text| scalar::text(&HEADING, text)) else {
            continue;
        };
        if variants.iter().any(|known| known.0 == name) {
            decoder.error(item.span, format!("the variant `{name}` is listed twice"));
        }
        variants.push(VariantName(name));
    }
    variants
}

fn values(decoder: &mut Decoder<'_>, fields: &Fields<'_>) -> PostedValues {
    match decoder.choice(fields, "values").map(|(name, _)| name) {
        Some("trials") => PostedValues::Trials,
        Some("boots") => PostedValues::Boots,
        Some("rounds") => PostedValues::Rounds,
        _ => PostedValues::Averages,
    }
}

fn texts(decoder: &mut Decoder<'_>, fields: &Fields<'_>, name: &str) -> Vec<String> {
    let items = fields.value(name).map(|node| decoder.one_or_more(node, name)).unwrap_or_default();
    items
        .iter()
        .filter_map(|item| {
            decoder.item(item, &format!("an item of `{name}`"), |text| scalar::text(&COMMAND, text))
        })
        .collect()
}

fn boards(
    decoder: &mut Decoder<'_>,
    fields: &Fields<'_>,
    count: usize,
    values: PostedValues,
) -> Vec<PostedBoard> {
    let Some(node) = fields.value("boards") else { return Vec::new() };
    let mut boards = Vec::new();
    for entry in decoder.table(node, "boards", &BOARDS) {
        let Some(fields) = decoder.fields(&entry.value, &BOARD) else { continue };
        let about = decoder.text(&fields, "about");
        let mut cells = Vec::new();
        if let Some(tests) = fields.value("tests") {
            for test in decoder.table(tests, "tests", &CELLS) {
                let rows = decoder.table(&test.value, &test.key, &ROWS);
                let rows = rows.iter().filter_map(|row| self::row(decoder, row, count, values)).collect();
                cells.push(PostedCell { label: test.key.clone(), rows });
            }
        }
        boards.push(PostedBoard { name: entry.key.clone(), about, cells });
    }
    boards
}

/// One row: as many items as there are variants, each a figure or a list of figures.
fn row(decoder: &mut Decoder<'_>, entry: &Entry, count: usize, values: PostedValues) -> Option<PostedRow> {
    let figure = match figure::of(&entry.key) {
        Ok(figure) => figure,
        Err(problem) => {
            decoder.error(entry.span, format!("the row `{}` {}", entry.key, problem.message)).hint =
                problem.hint;
            return None;
        }
    };
    let items = decoder.list(&entry.value, &entry.key);
    if items.len() != count && !items.is_empty() {
        let message = format!("`{}` does not have one figure for each of {count} variants", entry.key);
        decoder.error(entry.value.span, message).hint =
            Some(format!("it has {}; write `-` where nothing was posted", items.len()));
        return None;
    }
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    for item in items {
        let (told, read) = item_of(decoder, item, &entry.key, figure.as_ref(), values);
        texts.push(told);
        numbers.push(read);
    }
    let metric = figure.map(|figure| figure.metric);
    let numbers = if metric.is_some() { numbers } else { Vec::new() };
    Some(PostedRow { name: entry.key.clone(), metric, texts, numbers })
}

fn item_of(
    decoder: &mut Decoder<'_>,
    item: &Node,
    name: &str,
    figure: Option<&Figure>,
    values: PostedValues,
) -> (Vec<String>, Vec<f64>) {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    let several = matches!(&item.value, Value::Seq(items) if items.len() > 1);
    if several && values == PostedValues::Averages && figure.is_some() {
        decoder.error(item.span, format!("several figures in `{name}`, where `values` are averages")).hint =
            Some("say what they are: `values: trials`, `values: boots` or `values: rounds`".into());
    }
    for value in decoder.one_or_more(item, name) {
        let what = format!("a figure of `{name}`");
        let Some(text) = decoder.item(value, &what, |text| scalar::text(&LINE, text)) else { continue };
        if text == "-" {
            continue;
        }
        if let Some(figure) = figure {
            numbers.extend(decoder.item(value, &what, |text| figure.number(text)));
        }
        texts.push(text);
    }
    (texts, numbers)
}

fn report(decoder: &mut Decoder<'_>, fields: &Fields<'_>, boards: &[PostedBoard]) -> Option<ReportSpec> {
    let cells = || boards.iter().flat_map(|board| &board.cells);
    let has = |metric: &Metric| cells().any(|cell| cell.metric(*metric).is_some());
    let all_have = |metric: &Metric| cells().all(|cell| cell.metric(*metric).is_some());
    let asked = fields.value("primary").is_some();
    let chosen = decoder.choice(fields, "primary").and_then(|(name, _)| metric(name));
    let same_within = same_within(decoder, fields);
    if let (Some(chosen), Some(node)) = (chosen, fields.value("primary"))
        && !has(&chosen)
    {
        let known: Vec<&str> = Metric::ALL.iter().filter(|metric| has(metric)).map(|m| m.name()).collect();
        decoder.unknown(node.span, chosen.name(), format!("no test has a row `{}`", chosen.name()), known);
    }
    let found = || Metric::ALL.into_iter().find(all_have).or_else(|| Metric::ALL.into_iter().find(has));
    let primary = if asked { chosen } else { found() };
    if primary.is_none() && !asked && cells().next().is_some() && decoder.count_errors() == 0 {
        let place = fields.value("boards").map(|node| node.owner).unwrap_or_default();
        decoder.error(place, "no row can be compared").hint =
            Some("name at least one row `iops`, `bw (MB/s)`, `clat_mean (us)` or `clat_p99 (us)`".into());
    }
    let metrics = Metric::ALL.into_iter().filter(|metric| Some(*metric) != primary && has(metric));
    let primary = primary?;
    Some(ReportSpec { primary, metrics: std::iter::once(primary).chain(metrics).collect(), same_within })
}
