//! Every reference vector: the values of scipy, statsmodels, brute force and the reference procedure, at their stated tolerances.
#![allow(clippy::unwrap_used)]

mod support;

use kab_stats::bootstrap::{RatioOf, bca};
use kab_stats::counts::{Count, fisher};
use kab_stats::sequential::Sequential;
use kab_stats::{Interval, PValue, Scale, TTest};
use kab_stats::{change, combine, geomean, hl, multiplicity, permutation, ranks, t};
use serde_json::Value;
use std::collections::BTreeMap;
use support::{Tolerance, cell, floats, logs, variants, vectors};

#[test]
fn every_vector_passes() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for vector in vectors("vectors.json") {
        let kind = vector["kind"].as_str().unwrap().to_owned();
        *seen.entry(kind.clone()).or_default() += 1;
        let (input, expected) = (&vector["input"], &vector["expected"]);
        let check = Tolerance::new(&vector);
        match kind.as_str() {
            "mwu_exact" => mwu_exact(input, expected, &check),
            "welch" => welch(input, expected, &check),
            "block" => block(input, expected, &check),
            "signed_rank_exact" => {
                check.close("p", ranks::signed_rank(&floats(&input["d"])).get(), &expected["p"]);
            }
            "perm_exact" => perm_exact(input, expected, &check),
            "hl_two_sample" => {
                let found = hl::two_sample(&logs(&input["x"]), &logs(&input["y"]), 0.95).unwrap();
                check.close("est", found.estimate, &expected["est"]);
                check.interval("ci", found.interval, &expected["ci"]);
            }
            "bca" => bcas(input, expected, &check),
            "multiplicity" => multiplicities(input, expected, &check),
            "cauchy" => cauchy(input, expected, &check),
            "t_two_sided" => t_two_sided(input, expected, &check),
            "tost" => tost(input, expected, &check),
            "fisher" => fishers(input, expected, &check),
            "min_p" => min_p(input, expected, &check),
            "group_sequential" => group_sequential(input, expected, &check),
            "rank_cusum" => rank_cusum(input, expected, &check),
            "geomean" => geomeans(input, expected, &check),
            "report" => support::report(input, expected, &check),
            other => panic!("no test for kind {other}"),
        }
    }
    assert!(seen.len() >= 17 && seen["report"] >= 12, "the fixture is incomplete: {seen:?}");
}

/// More reports through the reference procedure: missing rounds, unpaired cells, measurement steps, constant and tied values, the
/// linear scale, robust intervals, likely verdicts, four variants, void trials.
#[test]
fn every_further_report_passes() {
    let reports = vectors("more_reports.json");
    assert_eq!(reports.len(), 25);
    for vector in reports {
        support::report(&vector["input"], &vector["expected"], &Tolerance::new(&vector));
    }
}

fn mwu_exact(input: &Value, expected: &Value, check: &Tolerance) {
    let (x, y) = (floats(&input["x"]), floats(&input["y"]));
    check.close("p", ranks::mann_whitney(&x, &y).get(), &expected["p"]);
    check.close("p swapped", ranks::mann_whitney(&y, &x).get(), &expected["p"]);
    if expected["U1"].is_number() {
        let both = [x.clone(), y].concat();
        let sum: usize = ranks::doubled_midranks(&both)[..x.len()].iter().sum();
        let u = sum as f64 / 2.0 - (x.len() * (x.len() + 1)) as f64 / 2.0;
        check.close("U1", u, &expected["U1"]);
    }
}

fn welch(input: &Value, expected: &Value, check: &Tolerance) {
    let test = |name: &str, x: Vec<f64>, y: Vec<f64>| {
        let found = t::welch(&x, &y).unwrap();
        t_test(name, &found, &expected[name], check);
        found
    };
    test("raw", floats(&input["x"]), floats(&input["y"]));
    let log = test("log", logs(&input["x"]), logs(&input["y"]));
    let percent = |x: f64| Scale::Log.to_percent(x);
    let interval = log.interval(0.95);
    let printed = Interval::new(percent(interval.low), percent(interval.high));
    check.close("log_pct est", percent(log.estimate), &expected["log_pct"]["est"]);
    check.interval("log_pct ci", Some(printed), &expected["log_pct"]["ci"]);
}

fn t_test(name: &str, found: &TTest, expected: &Value, check: &Tolerance) {
    check.close(&format!("{name} est"), found.estimate, &expected["est"]);
    check.close(&format!("{name} t"), found.estimate / found.se, &expected["t"]);
    check.close(&format!("{name} df"), found.df, &expected["df"]);
    check.maybe(&format!("{name} p"), found.p().map(PValue::get), &expected["p"]);
    check.interval(&format!("{name} ci"), Some(found.interval(0.95)), &expected["ci"]);
}

fn block(input: &Value, expected: &Value, check: &Tolerance) {
    let d: Vec<f64> = logs(&input["y"]).iter().zip(logs(&input["x"])).map(|(y, x)| y - x).collect();
    let found = t::paired(&d).unwrap();
    check.close("est", found.estimate, &expected["est"]);
    check.close("df", found.df, &expected["df"]);
    check.close("t", found.estimate / found.se, &expected["t"]);
    check.close("p_t", found.p().unwrap().get(), &expected["p_t"]);
    check.interval("ci", Some(found.interval(0.95)), &expected["ci"]);
    let p_rank = ranks::signed_rank(&d);
    check.close("p_signed_rank", p_rank.get(), &expected["p_signed_rank"]);
    let flips = permutation::sign_flip(&d).unwrap();
    check.close("p_sign_flip", flips.by_size.get(), &expected["p_sign_flip"]);
    let robust = hl::one_sample(&d, 0.95).unwrap();
    check.close("hl", robust.estimate, &expected["hl"]);
    check.interval("hl_ci", robust.interval, &expected["hl_ci"]);
    check.close("p_cauchy", combine::cauchy(&[found.p().unwrap(), p_rank]).get(), &expected["p_cauchy"]);
}

fn perm_exact(input: &Value, expected: &Value, check: &Tolerance) {
    let p = permutation::two_sample(&logs(&input["x"]), &logs(&input["y"])).unwrap();
    check.close("p_abs", p.by_size.get(), &expected["p_abs"]);
    check.close("p_scipy_2min", p.by_tails.get(), &expected["p_scipy_2min"]);
}

/// The vectors state how far off an end may be, as a part of the width, with 20,000 resamples or more.
fn bcas(input: &Value, expected: &Value, check: &Tolerance) {
    let (x, y) = (floats(&input["x"]), floats(&input["y"]));
    for (name, of) in expected.as_object().unwrap() {
        let ratio = match name.as_str() {
            "mean" => RatioOf::Means,
            "geomean" => RatioOf::GeometricMeans,
            "median" => RatioOf::Medians,
            other => panic!("no bootstrap of {other}"),
        };
        let found = bca(&x, &y, ratio, 0.95, (40_000, 1)).unwrap().interval.unwrap();
        let width = of["width"].as_f64().unwrap();
        check.part_of(width, &format!("{name} low"), found.low, &of["ci"][0]);
        check.part_of(width, &format!("{name} high"), found.high, &of["ci"][1]);
    }
}

fn multiplicities(input: &Value, expected: &Value, check: &Tolerance) {
    let ps: Vec<PValue> = floats(&input["p"]).into_iter().map(PValue::new).collect();
    let numbers = |ps: Vec<PValue>| ps.into_iter().map(PValue::get).collect::<Vec<f64>>();
    check.all_close("holm", &numbers(multiplicity::holm(&ps)), &expected["holm"]);
    check.all_close("bh", &numbers(multiplicity::benjamini_hochberg(&ps)), &expected["bh"]);
}

fn cauchy(input: &Value, expected: &Value, check: &Tolerance) {
    let sets = input["sets"].as_array().unwrap();
    let found: Vec<f64> = sets
        .iter()
        .map(|set| {
            let ps: Vec<PValue> = floats(set).into_iter().map(PValue::new).collect();
            combine::cauchy(&ps).get()
        })
        .collect();
    check.all_close("p", &found, &expected["p"]);
}

fn t_two_sided(input: &Value, expected: &Value, check: &Tolerance) {
    let ts = floats(&input["t"]);
    for (i, df) in floats(&input["df"]).into_iter().enumerate() {
        let ps: Vec<f64> = ts.iter().map(|v| t::two_sided_p(*v, df).get()).collect();
        check.all_close(&format!("p at df {df}"), &ps, &expected["p"][i]);
        check.close("q975", t::critical(0.05, df), &expected["q975"][i]);
    }
}

fn tost(input: &Value, expected: &Value, check: &Tolerance) {
    let delta = input["delta"].as_f64().unwrap();
    let zone = Interval::new((-delta).ln_1p(), delta.ln_1p());
    let test = t::welch(&logs(&input["x"]), &logs(&input["y"])).unwrap();
    let found = t::tost(&test, &zone).unwrap();
    check.close("p_lower", found.p_lower.get(), &expected["p_lower"]);
    check.close("p_upper", found.p_upper.get(), &expected["p_upper"]);
    check.close("p", found.p().get(), &expected["p"]);
    check.interval("ci95", Some(test.interval(0.95)), &expected["ci95"]);
    assert_eq!(Some(test.interval(0.95).is_inside(&zone)), expected["unchanged_ci95_rule"].as_bool());
}

fn fishers(input: &Value, expected: &Value, check: &Tolerance) {
    let found: Vec<f64> = input["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| {
            let n: Vec<u64> = table.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
            fisher(Count { hits: n[0], of: n[0] + n[1] }, Count { hits: n[2], of: n[2] + n[3] }).get()
        })
        .collect();
    check.all_close("p", &found, &expected["p"]);
}

fn min_p(input: &Value, expected: &Value, check: &Tolerance) {
    let sizes: Vec<usize> = floats(&input["n"]).into_iter().map(|n| n as usize).collect();
    let mwu: Vec<f64> = sizes.iter().map(|n| ranks::min_p_mann_whitney(*n, *n)).collect();
    let signed: Vec<f64> = sizes.iter().map(|n| ranks::min_p_signed_rank(*n)).collect();
    check.all_close("mwu", &mwu, &expected["mwu"]);
    check.all_close("signed_rank", &signed, &expected["signed_rank"]);
}

fn group_sequential(input: &Value, expected: &Value, check: &Tolerance) {
    let looks: Vec<u32> = floats(&input["looks"]).into_iter().map(|n| n as u32).collect();
    for (alpha, levels) in expected.as_object().unwrap() {
        let plan = Sequential::new(&looks, alpha.parse().unwrap()).unwrap();
        let ps: Vec<f64> = plan.nominal().iter().map(|n| n.p).collect();
        let zs: Vec<f64> = plan.nominal().iter().map(|n| n.z).collect();
        check.all_close(&format!("p at {alpha}"), &ps, &levels["p"]);
        check.all_close(&format!("z at {alpha}"), &zs, &levels["z"]);
    }
}

fn rank_cusum(input: &Value, expected: &Value, check: &Tolerance) {
    let x = floats(&input["x"]);
    let min_segment = input["minseg"].as_u64().unwrap() as usize;
    let found = change::rank_cusum(&x, min_segment).unwrap();
    check.close("stat", found.statistic, &expected["stat"]);
    assert_eq!(Some(found.k as u64), expected["k"].as_u64());
    let p = change::permutation_p(&x, min_segment, 20_000, 1).unwrap().get();
    check.within("p", p, &expected["p"], "p_abs");
}

fn geomeans(input: &Value, expected: &Value, check: &Tolerance) {
    let cells = input["cells"].as_array().unwrap();
    let inputs: Vec<_> = cells.iter().map(|c| cell(c, &variants(cells))).collect();
    let found = geomean(&inputs, (1, 0).into());
    if expected.is_null() {
        assert_eq!(found, None);
        return;
    }
    let found = found.unwrap();
    check.close("est", found.estimate, &expected["est"]);
    check.interval("ci", Some(found.interval), &expected["ci"]);
    check.maybe("p", found.p.map(PValue::get), &expected["p"]);
    check.all_close("g", &found.per_round, &expected["g"]);
    assert_eq!(Some(found.rounds as u64), expected["blocks"].as_u64());
    assert_eq!(found.cells, (0..inputs.len()).collect::<Vec<_>>());
}
