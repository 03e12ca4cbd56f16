//! Bandwidth against IOPS times block size, and columns that fit each other's numbers.

use crate::finding::{Draft, Grade, Rule};
use crate::labels::{self, Label, Metric};
use crate::number::{self, Number};
use crate::ranges::is_central;
use crate::table::Table;
use std::collections::BTreeMap;

/// Two means that agree this well belong together; they are means of different samples.
const FITS: f64 = 0.015;

/// From here on it is an error.
const CONTRADICTS: f64 = 0.03;

/// IOPS and bandwidth of the same thing.
#[derive(Clone, Debug)]
struct Pair {
    table: usize,
    /// What else tells them apart, so that only like lanes are compared.
    key: String,
    name: String,
    iops: (usize, f64, Number),
    bw: (usize, f64, Number),
    /// Factor from the printed number to the unit that was read.
    scale: f64,
    binary: bool,
    block: Option<f64>,
}

/// How bandwidth was counted.
#[derive(Clone, Copy, Debug)]
struct Convention {
    block: f64,
    /// 1 as labelled, or what 1024 for 1000 makes of it.
    factor: f64,
}

/// What contradicts. `blocks` are the block sizes that commands in the text name.
pub(crate) fn check(tables: &[Table], blocks: &[f64]) -> Vec<Draft> {
    let pairs: Vec<Pair> = tables.iter().enumerate().flat_map(|(index, table)| pairs(index, table)).collect();
    let mut found = Vec::new();
    let stated = stated(&pairs, blocks);
    let blocks = &stated[..];
    let Some((factor, sure)) = convention(&pairs, blocks) else { return found };
    let sized: Vec<(&Pair, f64)> =
        pairs.iter().filter_map(|pair| Some((pair, block(pair, blocks, factor, &pairs)?))).collect();
    let mut done = vec![false; sized.len()];
    for (index, (pair, block)) in sized.iter().enumerate() {
        let convention = Convention { block: *block, factor: factor_of(pair, factor) };
        let other = Convention { factor: factor_of(pair, 2.0), ..convention };
        let wrong =
            off(pair, pair, convention) >= CONTRADICTS && (sure || off(pair, pair, other) >= CONTRADICTS);
        if done[index] || !wrong {
            continue;
        }
        let partner = sized.iter().enumerate().find(|(other, (candidate, other_block))| {
            *other != index
                && !done[*other]
                && (candidate.table, &candidate.key) == (pair.table, &pair.key)
                && off(pair, candidate, convention) < FITS
                && off(candidate, pair, convention) < FITS
                && off(candidate, candidate, Convention { block: *other_block, ..convention }) >= CONTRADICTS
        });
        let table = &tables[pair.table];
        if let Some((other, (candidate, _))) = partner {
            done[other] = true;
            found.push(exchanged(table, pair, candidate, convention));
        } else {
            let like: Vec<&Pair> = sized
                .iter()
                .map(|(pair, _)| *pair)
                .filter(|other| (other.table, &other.key) == (pair.table, &pair.key))
                .collect();
            let mut draft = contradiction(table, pair, &like, convention);
            if !sure && pair.block.is_none() {
                // Nothing fits the block size of the command: perhaps it is that of another test.
                draft.grade = Grade::Warning;
            }
            found.push(draft);
        }
    }
    found
}

/// The block sizes that commands name, else the one that labels of some tables name.
fn stated(pairs: &[Pair], blocks: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = pairs.iter().filter_map(|pair| pair.block).collect();
    sizes.dedup();
    if blocks.is_empty() && sizes.len() == 1 { sizes } else { blocks.to_vec() }
}

/// One value on its way to a pair.
#[derive(Clone, Debug)]
struct Half {
    line: usize,
    scale: f64,
    number: Number,
    name: String,
    label: Label,
    /// Words of the side that names the metric.
    own: String,
    /// Where a block size may stand.
    context: String,
}

/// Place in the table, and what else tells values apart.
type Place = (usize, usize, String);

fn pairs(index: usize, table: &Table) -> Vec<Pair> {
    let mut iops: BTreeMap<Place, Half> = BTreeMap::new();
    let mut bandwidths = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        for (column, value) in cells.values.iter().enumerate() {
            let Some((place, half)) = value.as_ref().and_then(|number| half(table, row, column, number))
            else {
                continue;
            };
            match half.label.metric {
                Some(Metric::Iops) => {
                    iops.insert(place, half);
                }
                // Without a unit it is not known what the number counts.
                Some(Metric::Bw) if half.number.scaled || half.label.scale.is_some() => {
                    bandwidths.push((place, half));
                }
                _ => {}
            }
        }
    }
    let pair = |(place, bw): (Place, Half)| {
        let iops = iops.get(&place)?;
        Some(Pair {
            table: index,
            key: bw.own,
            name: iops.name.clone(),
            iops: (iops.line, iops.number.value * iops.scale, iops.number.clone()),
            bw: (bw.line, bw.number.value * bw.scale, bw.number.clone()),
            scale: bw.scale,
            binary: bw.label.binary || bw.number.text.contains("iB"),
            block: labels::block_size(&bw.context),
        })
    };
    bandwidths.into_iter().filter_map(pair).collect()
}

fn half(table: &Table, row: usize, column: usize, number: &Number) -> Option<(Place, Half)> {
    let label = table.label(row, column);
    if !is_central(&label) {
        return None;
    }
    let (cells, name) = (&table.rows[row], table.column(column));
    let by_row = table.row_label(row).metric.is_some();
    let place = if by_row { (0, column + 1) } else { (row + 1, 0) };
    let own = if by_row { table.row_label(row).clone() } else { Label::read(&name) };
    let half = Half {
        line: cells.line,
        scale: if number.scaled { 1.0 } else { label.scale.unwrap_or(1.0) },
        number: number.clone(),
        context: format!("{} {name} {}", cells.label, table.heading),
        name: if by_row { name } else { cells.label.clone() },
        own: own.rest.join(" "),
        label: label.clone(),
    };
    Some(((place.0, place.1, label.rest.join(" ")), half))
}

/// Relative distance of the bandwidth of one from what the IOPS of another make.
fn off(bw: &Pair, iops: &Pair, convention: Convention) -> f64 {
    let expected = iops.iops.1 * convention.block;
    let found = bw.bw.1 * convention.factor;
    if expected <= 0.0 || found <= 0.0 { 0.0 } else { (found / expected - 1.0).abs() - slack(bw, iops) }
}

/// What the digits leave open.
fn slack(bw: &Pair, iops: &Pair) -> f64 {
    let part = |number: &Number| if number.value == 0.0 { 0.0 } else { (number.half / number.value).abs() };
    part(&bw.bw.2) + part(&iops.iops.2)
}

/// Whether `MB` is 10^6 or 2^20 bytes here: what most pairs say, and whether any does. Nothing where no block size is known.
fn convention(pairs: &[Pair], blocks: &[f64]) -> Option<(f64, bool)> {
    let fitting = |factor: f64| {
        let fits = |pair: &&Pair| {
            let block = block(pair, blocks, factor, pairs);
            // Exchanged ones say as well how they were counted.
            let like = |other: &&Pair| (other.table, &other.key) == (pair.table, &pair.key);
            block.is_some_and(|block| {
                let convention = Convention { block, factor: factor_of(pair, factor) };
                pairs.iter().filter(like).any(|other| off(pair, other, convention) < FITS)
            })
        };
        pairs.iter().filter(fits).count()
    };
    let (plain, binary) = (fitting(1.0), fitting(2.0));
    let (best, factor) = if binary > plain { (binary, 2.0) } else { (plain, 1.0) };
    let said = pairs.iter().all(|pair| pair.block.is_some()) || blocks.len() == 1;
    // A few that fit make the others stand out.
    match best {
        0 => said.then_some((1.0, false)),
        best => (best * 2 >= pairs.len()).then_some((factor, true)),
    }
}

/// 1, or 1024 for 1000 as often as the unit has it.
fn factor_of(pair: &Pair, convention: f64) -> f64 {
    if convention == 1.0 || pair.binary {
        return 1.0;
    }
    let scale = if pair.bw.2.scaled { scale_of(&pair.bw.2.text) } else { pair.scale };
    (1.024_f64).powf(scale.log10() / 3.0)
}

fn scale_of(text: &str) -> f64 {
    let word = text.trim_start_matches(|c: char| !c.is_alphabetic());
    number::unit(word).map_or(1.0, |(scale, _)| scale)
}

/// The block size that a pair names, or the commands, or, where nothing does, the power of two that most pairs agree on.
fn block(pair: &Pair, blocks: &[f64], convention: f64, pairs: &[Pair]) -> Option<f64> {
    let factor = factor_of(pair, convention);
    let nearest = |sizes: &[f64]| {
        let distance = |size: &f64| off(pair, pair, Convention { block: *size, factor }).abs();
        sizes.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    if pair.block.is_some() {
        return pair.block;
    }
    if !blocks.is_empty() {
        return nearest(blocks);
    }
    let powers: Vec<f64> = (9..=22).map(|power| f64::from(1_u32 << power)).collect();
    let votes = |size: f64| {
        let fits = |pair: &&Pair| {
            off(pair, pair, Convention { block: size, factor: factor_of(pair, convention) }) < FITS
        };
        pairs.iter().filter(fits).count()
    };
    let best = powers.iter().copied().max_by_key(|size| votes(*size))?;
    (votes(best) >= 3 && votes(best) * 2 >= pairs.len()).then_some(best)
}

fn expected(pair: &Pair, convention: Convention) -> String {
    let scale = if pair.bw.2.scaled { scale_of(&pair.bw.2.text) } else { pair.scale };
    number::show_to(pair.iops.1 * convention.block / convention.factor / scale, 2)
}

fn how(pair: &Pair, convention: Convention) -> String {
    let unit = if convention.factor == 1.0 { "" } else { " in units of 1024" };
    format!("{} x {} bytes = {}{unit}", pair.iops.2.text, convention.block, expected(pair, convention))
}

fn place(table: &Table) -> String {
    let place = table.place();
    if place.is_empty() { place } else { format!("{place}: ") }
}

fn exchanged(table: &Table, one: &Pair, other: &Pair, convention: Convention) -> Draft {
    let message = format!(
        "{}the bandwidths of {} ({}) and {} ({}) look exchanged: each fits the IOPS of the other",
        place(table),
        one.name,
        one.bw.2.text,
        other.name,
        other.bw.2.text
    );
    let lines = [one.bw.0, one.iops.0];
    Draft::new(Grade::Error, Rule::ColumnsExchanged, lines, message)
        .expected(format!(
            "{} {}, {} {}",
            one.name,
            expected(one, convention),
            other.name,
            expected(other, convention)
        ))
        .check(format!("{}; check the other rows of these columns, too", how(one, convention)))
}

fn contradiction(table: &Table, pair: &Pair, like: &[&Pair], convention: Convention) -> Draft {
    let change = (pair.bw.1 * convention.factor / (pair.iops.1 * convention.block) - 1.0) * 100.0;
    let fits = like.iter().find(|other| other.name != pair.name && off(pair, other, convention) < FITS);
    let hint = fits.map_or(String::new(), |other| format!("; it fits the IOPS of {}", other.name));
    let message = format!(
        "{}{}: the bandwidth {} is {change:+.1}% off what {} IOPS make{hint}",
        place(table),
        pair.name,
        pair.bw.2.text,
        pair.iops.2.text
    );
    Draft::new(Grade::Error, Rule::BandwidthIops, [pair.bw.0, pair.iops.0], message)
        .expected(expected(pair, convention))
        .check(how(pair, convention))
}
