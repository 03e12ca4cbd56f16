//! Reading the reference vectors: tolerances, cells, and the comparison of whole reports.

use kab_stats::{
    Better, CellInput, CellRule, CellVerdict, Gate, Interval, Method, NoVerdict, Pair, Row, Scale, ShownBy,
    Verdict, judge,
};
use serde_json::Value;
use std::path::Path;

/// All vectors of a fixture.
pub(crate) fn vectors(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(file["format"], 1);
    let Value::Array(vectors) = file["vectors"].take() else { panic!("vectors is not a list") };
    vectors
}

/// The numbers of a JSON list.
pub(crate) fn floats(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Their logarithms.
pub(crate) fn logs(list: &Value) -> Vec<f64> {
    floats(list).into_iter().map(f64::ln).collect()
}

/// Compares numbers at the tolerance that a vector states.
pub(crate) struct Tolerance {
    id: String,
    tolerance: Value,
}

impl Tolerance {
    pub(crate) fn new(vector: &Value) -> Self {
        Self { id: vector["id"].as_str().unwrap().to_owned(), tolerance: vector["tol"].clone() }
    }

    /// Within the relative or absolute tolerance of the vector.
    pub(crate) fn close(&self, what: &str, found: f64, expected: &Value) {
        let expected = expected.as_f64().unwrap_or_else(|| panic!("{} has no {what}", self.id));
        let relative = self.tolerance["rel"].as_f64();
        let absolute = self.tolerance["abs"].as_f64();
        assert!(relative.is_some() || absolute.is_some(), "{} states no tolerance", self.id);
        let slack = relative.map_or(0.0, |r| r * expected.abs()).max(absolute.unwrap_or(0.0));
        assert!((found - expected).abs() <= slack, "{} {what}: {found} for {expected}", self.id);
    }

    /// Within the absolute tolerance of this name.
    pub(crate) fn within(&self, what: &str, found: f64, expected: &Value, name: &str) {
        let slack = self.tolerance[name].as_f64().unwrap();
        let expected = expected.as_f64().unwrap();
        assert!((found - expected).abs() <= slack, "{} {what}: {found} for {expected}", self.id);
    }

    /// Within the tolerated part of `width`.
    pub(crate) fn part_of(&self, width: f64, what: &str, found: f64, expected: &Value) {
        let slack = width * self.tolerance["frac_of_width"].as_f64().unwrap();
        let expected = expected.as_f64().unwrap();
        assert!((found - expected).abs() <= slack, "{} {what}: {found} for {expected}", self.id);
    }

    pub(crate) fn all_close(&self, what: &str, found: &[f64], expected: &Value) {
        let expected = expected.as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{} {what}", self.id);
        for (found, expected) in found.iter().zip(expected) {
            self.close(what, *found, expected);
        }
    }

    /// An interval, or none on both sides.
    pub(crate) fn interval(&self, what: &str, found: Option<Interval>, expected: &Value) {
        let found = found.map(|i| vec![i.low, i.high]);
        match (found, expected.is_null()) {
            (None, true) => {}
            (Some(ends), false) => self.all_close(what, &ends, expected),
            (found, _) => panic!("{} {what}: {found:?} for {expected}", self.id),
        }
    }

    /// A number, or none on both sides.
    pub(crate) fn maybe(&self, what: &str, found: Option<f64>, expected: &Value) {
        match (found, expected.is_null()) {
            (None, true) => {}
            (Some(found), false) => self.close(what, found, expected),
            (found, _) => panic!("{} {what}: {found:?} for {expected}", self.id),
        }
    }
}

/// The variants of all cells: the baseline is variant 0, the others follow in order of name.
pub(crate) fn variants(cells: &[Value]) -> Vec<String> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let baseline = text(&cells[0]["baseline"]);
    let mut variants: Vec<String> =
        cells.iter().flat_map(|c| c["rows"].as_array().unwrap()).map(|r| text(&r["variant"])).collect();
    variants.push(baseline.clone());
    variants.sort_by_key(|v| (*v != baseline, v.clone()));
    variants.dedup();
    variants
}

/// A cell of a vector, with the names of [`variants`].
pub(crate) fn cell(value: &Value, variants: &[String]) -> CellInput {
    let rows = value["rows"].as_array().unwrap();
    let number = |v: &Value| v.as_u64().map(|n| u32::try_from(n).unwrap());
    let mut boots: Vec<&str> = Vec::new();
    for boot in rows.iter().map(|r| r["boot"].as_str().unwrap()) {
        if !boots.contains(&boot) {
            boots.push(boot);
        }
    }
    let rows = rows
        .iter()
        .map(|r| Row {
            variant: variants.iter().position(|v| *v == r["variant"]).unwrap(),
            round: number(&r["block"]),
            visit: u32::try_from(boots.iter().position(|boot| *boot == r["boot"]).unwrap()).unwrap(),
            seq: number(&r["seq"]),
            value: r["value"].as_f64().unwrap(),
            void: !r["valid"].as_bool().unwrap_or(true),
        })
        .collect();
    let scale = if value["scale"] == "log" { Scale::Log } else { Scale::Linear };
    let better = if value["better"] == "higher" { Better::Higher } else { Better::Lower };
    let margin = value["delta"].as_f64().unwrap();
    let rule = CellRule::new(scale, better, margin, value["quantum"].as_f64().unwrap_or(0.0)).unwrap();
    CellInput { rule, rows }
}

/// Runs a report and compares every field of every result.
pub(crate) fn report(input: &Value, expected: &Value, check: &Tolerance) {
    let cells = input["cells"].as_array().unwrap();
    let variants = variants(cells);
    let inputs: Vec<CellInput> = cells.iter().map(|c| cell(c, &variants)).collect();
    let pairs: Vec<Pair> = (1..variants.len()).map(|v| (v, 0).into()).collect();
    let verdicts = judge(&inputs, &pairs);
    let results = expected["results"].as_array().unwrap();
    // The reference has no result where a cell knows nothing of a variant; here that is a verdict, too.
    let told = |v: &&CellVerdict| inputs[v.cell].rows.iter().any(|r| r.variant == v.pair.candidate);
    assert_eq!(verdicts.iter().filter(told).count(), results.len(), "{}", check.id);
    for result in results {
        let cell = result["cell"].as_u64().unwrap() as usize;
        let variant = variants.iter().position(|v| *v == result["variant"]).unwrap();
        let found = verdicts.iter().find(|v| v.cell == cell && v.pair.candidate == variant).unwrap();
        same_result(found, result, check);
    }
}

fn same_result(found: &CellVerdict, expected: &Value, check: &Tolerance) {
    let evidence = &found.evidence;
    let id = &check.id;
    assert_eq!(word(found.verdict), expected["verdict"], "{id}");
    assert_eq!(note(found), expected["notes"], "{id}");
    let method = match evidence.method() {
        None => "none",
        Some(Method::BlockT) => "block-t",
        Some(Method::WelchT) => "welch-t",
    };
    assert_eq!(method, expected["method"], "{id}");
    assert_eq!(serde_json::json!([evidence.visits.1, evidence.visits.0]), expected["n"], "{id}");
    check.maybe("est", evidence.estimate, &expected["est"]);
    let test = evidence.test.as_ref();
    check.interval("ci", test.map(|t| t.interval), &expected["ci"]);
    check.maybe("p_t", test.and_then(|t| t.p_t).map(|p| p.get()), &expected["p_t"]);
    check.maybe("p_rank", test.and_then(|t| t.p_rank).map(|p| p.get()), &expected["p_rank"]);
    check.maybe("p", test.and_then(|t| t.p).map(|p| p.get()), &expected["p"]);
    check.maybe("p_holm", evidence.p_holm.map(|p| p.get()), &expected["p_holm"]);
    check.maybe("q_bh", evidence.q_bh.map(|p| p.get()), &expected["q_bh"]);
    let robust = test.and_then(|t| t.robust);
    check.maybe("hl", robust.map(|r| r.estimate), &expected["hl"]);
    check.interval("hl_ci", robust.and_then(|r| r.interval), &expected["hl_ci"]);
    let shown = evidence.shown.filter(|s| s.by == ShownBy::HodgesLehmann).map(|_| "hodges-lehmann");
    assert_eq!(shown, expected["shown"].as_str(), "{id}");
}

/// The reference's word for a verdict.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "IMPROVED",
        Verdict::Worse => "REGRESSED",
        Verdict::LikelyBetter => "LIKELY IMPROVED",
        Verdict::LikelyWorse => "LIKELY REGRESSED",
        Verdict::Same => "UNCHANGED",
        Verdict::Undecided => "INCONCLUSIVE",
        Verdict::NoVerdict(_) => "NO VERDICT",
        Verdict::Identical => "IDENTICAL",
    }
}

/// The reference's notes for a verdict.
fn note(found: &CellVerdict) -> Value {
    let constant = found.evidence.test.is_some_and(|t| t.p_t.is_none());
    let note = match found.verdict {
        Verdict::NoVerdict(NoVerdict::Gate(Gate::Missing { .. } | Gate::TooFewVisits)) => "units",
        Verdict::NoVerdict(NoVerdict::Gate(Gate::TooManyVoid)) => "invalid",
        Verdict::NoVerdict(NoVerdict::Gate(Gate::Order)) => "order",
        Verdict::NoVerdict(NoVerdict::Gate(Gate::BadValue(_))) => "bad",
        Verdict::NoVerdict(NoVerdict::Undefined) => "constant",
        _ if constant => "constant",
        _ => return Value::Array(Vec::new()),
    };
    serde_json::json!([note])
}
