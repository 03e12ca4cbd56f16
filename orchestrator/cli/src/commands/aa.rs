//! `kab aa`: one kernel against itself.

use crate::exit::{Exit, Failure, lab, usage};
use crate::places::Places;
use clap::Args;
use kab_model::{Plan, Run};
use kab_report::{ENOUGH, Noise, noise};
use kab_stats::aa::WARN_SHARE;
use kab_store::Store;
use std::fmt::Write;

/// How noisy a run's boards are, and whether the verdicts' tests hold on them: boots of one kernel against each other
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kab aa last\n  kab aa 7f3a9c --rounds 25    what 25 rounds would show\n  kab aa last --json\n\n\
                  The baseline's boots are split at random into two halves, 200 times; nothing differs, so that about 5 % of the \
                  splits should have p <= .05."
)]
pub(crate) struct Aa {
    /// First digits of the run's id, or `last`.
    run: String,
    #[command(flatten)]
    shown: Shown,
}

/// How noise is shown.
#[derive(Args, Debug)]
pub(crate) struct Shown {
    /// Rounds of the next run [default: those of this one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    rounds: Option<u32>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

/// Of the splits: the same on every call.
const SEED: u64 = 21;

pub(crate) fn aa(command: &Aa, places: &Places) -> Result<Exit, Failure> {
    let reader = Store::new(&places.runs).find(&command.run).map_err(usage)?;
    let run = reader.run().map_err(lab)?;
    let id = &reader.header().id;
    let Some(plan) = &run.plan else {
        let message = format!("run {id} has figures that somebody posted, and no boots");
        return Err(Failure::new(Exit::Usage, message));
    };
    let found = measured(&run, plan);
    if found.is_empty() {
        let message = format!("run {id} has no variant with two boots that count: noise shows between boots");
        return Err(Failure::new(Exit::Usage, message));
    }
    print(&command.shown, &found, plan, &id.to_string())
}

/// The noise of a run in its primary metric.
pub(crate) fn measured(run: &Run, plan: &Plan) -> Vec<Noise> {
    noise(run, plan, plan.report.primary, SEED)
}

/// Prints noise of a run with this plan and id.
pub(crate) fn print(shown: &Shown, found: &[Noise], plan: &Plan, id: &str) -> Result<Exit, Failure> {
    let planned = plan.boards.iter().map(|board| board.rounds.len()).max().unwrap_or(0);
    let rounds = shown.rounds.map_or(planned, |rounds| usize::try_from(rounds).unwrap_or(usize::MAX));
    crate::print_out(&match shown.json {
        true => json(found, rounds)?,
        false => text(found, rounds, id, plan.report.primary.name()),
    })?;
    Ok(Exit::Done)
}

fn json(found: &[Noise], rounds: usize) -> Result<String, Failure> {
    let cells: Vec<serde_json::Value> = found
        .iter()
        .map(|noise| {
            let mut value = serde_json::to_value(noise).unwrap_or_default();
            value["visible_percent"] = serde_json::json!(noise.visible(rounds));
            value
        })
        .collect();
    let all = serde_json::json!({"version": 1, "rounds": rounds, "cells": cells});
    serde_json::to_string_pretty(&all).map(|text| text + "\n").map_err(lab)
}

fn text(found: &[Noise], rounds: usize, id: &str, metric: &str) -> String {
    let mut out = format!("{metric} of run {id}: boots of one kernel against each other\n");
    let mut board = "";
    let width = found.iter().map(|noise| noise.label.chars().count()).max().unwrap_or(0);
    for noise in found {
        if noise.board != board {
            board = &noise.board;
            let head = format!("{rounds} rounds see");
            let _ = writeln!(out, "\n{board}\n{:width$}  boots   noise  {head:>14}  p <= .05", "");
        }
        let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}%"));
        let (visible, share) =
            (percent(noise.visible(rounds)), percent(noise.significant.map(|share| share * 100.0)));
        let deviation = format!("{:.2}%", noise.deviation_percent);
        let warn = if noise.is_suspicious() { "  !" } else { "" };
        let _ = writeln!(
            out,
            "{:width$}  {:>5}  {deviation:>6}  {visible:>14}  {share:>8}{warn}",
            noise.label, noise.boots
        );
    }
    let suspicious = found.iter().filter(|noise| noise.is_suspicious()).count();
    out.push_str(
        "\nnoise: standard deviation of a boot. see: the change that so many rounds\nshow four times out of five, for one test \
         alone.\n",
    );
    if found.iter().any(|noise| noise.baseline_boots < ENOUGH) {
        let _ = writeln!(
            out,
            "p <= .05: share of splits, which needs six boots of the baseline and\nsays little below {ENOUGH}."
        );
    }
    if suspicious > 0 {
        let _ = writeln!(
            out,
            "! In {suspicious} of {} tests over {:.0}% of the splits have p <= .05, where\n5% are expected: the noise is not \
             what the verdicts assume.",
            found.len(),
            WARN_SHARE * 100.0
        );
    }
    out
}
