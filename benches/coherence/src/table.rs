//! Counts as the tables of a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::counter::{CAUSES, Cause, Counts, LineCounter};
use crate::watched::Watched;

/// The first lines.
pub const HEAD: &str = "| machine | policy | switches a ms | lines a switch | lines a wake-up | lines a tick | lock: times a switch, accesses, most | machine-wide line written most, a ms |
|---|---|---|---|---|---|---|---|
";

/// Lines within a cache, between caches of a node, and between nodes.
fn lines(counts: &Counts) -> String {
    let each = |fetched: u64| fetched as f64 / counts.times.max(1) as f64;
    let [cache, node, machine] = counts.fetched.map(each);
    format!("{cache:.1} / {node:.1} / {machine:.1}")
}

/// A row for a run.
pub fn row(machine: &str, policy: &str, watched: &Watched, counter: &LineCounter) -> String {
    let [switches, wakes, ticks] = &counter.counts;
    let holds = &counter.holds;
    let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let wide = match counter.machine_wide().first() {
        Some((line, times)) => {
            let written = *times as f64 / counter.millis();
            format!("{written:.2}: {}", fields(watched, counter, *line))
        }
        None => "none".to_string(),
    };
    format!(
        "| {machine} | {policy} | {:.1} | {} | {} | {} | {:.1}, {:.0}, {} | {wide} |\n",
        switches.times as f64 / counter.millis(),
        lines(switches),
        lines(wakes),
        lines(ticks),
        per(holds.times, switches.times),
        per(holds.accesses, holds.times),
        holds.most,
    )
}

/// What lies on a line and is written there, the most often first.
fn fields(watched: &Watched, counter: &LineCounter, line: crate::counter::LineId) -> String {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for ((_, byte), times) in &counter.taken[&line] {
        *names.entry(watched.field(line.0, *byte)).or_default() += times;
    }
    sorted(names)
        .into_iter()
        .take(3)
        .map(|(name, _)| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn sorted(names: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut names: Vec<(String, u64)> = names.into_iter().collect();
    names.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), name.clone()));
    names
}

/// Which fields are behind the lines, and from which lines of the source they were wanted first.
pub fn detail(watched: &Watched, counter: &LineCounter, most: usize) -> String {
    let mut out = String::new();
    for (cause, counts) in CAUSES.iter().zip(&counter.counts) {
        writeln!(out, "{cause:?}: {} times, {} accesses", counts.times, counts.accesses)
            .expect("a string");
        let mut fields: BTreeMap<String, BTreeMap<usize, u64>> = BTreeMap::new();
        for ((_, (kind, byte, from)), times) in of(counter, *cause) {
            let sources = fields.entry(watched.field(*kind, *byte)).or_default();
            *sources.entry(*from).or_default() += times;
        }
        let sums = fields.iter().map(|(name, from)| (name.clone(), from.values().sum())).collect();
        for (name, times) in sorted(sums).into_iter().take(most) {
            let each = times as f64 / counts.times.max(1) as f64;
            writeln!(out, "  {each:7.3} {name:<40} {}", source(watched, &fields[&name]))
                .expect("a string");
        }
    }
    out.push_str("machine-wide lines, times written a ms\n");
    for (line, times) in counter.machine_wide().into_iter().take(most) {
        let written = times as f64 / counter.millis();
        writeln!(out, "  {written:7.3} {} {}", line.1, fields(watched, counter, line))
            .expect("a string");
    }
    out
}

fn of(
    counter: &LineCounter,
    cause: Cause,
) -> impl Iterator<Item = (&(Cause, crate::counter::Place), &u64)> {
    counter.places.iter().filter(move |((of, _), _)| *of == cause)
}

fn source(watched: &Watched, from: &BTreeMap<usize, u64>) -> String {
    let mut places: Vec<(usize, u64)> = from.iter().map(|(at, times)| (*at, *times)).collect();
    places.sort_by_key(|(at, times)| (std::cmp::Reverse(*times), *at));
    let first: Vec<usize> = places.iter().take(3).map(|(at, _)| *at).filter(|at| *at > 0).collect();
    let names = watched.object.lines(&first);
    first.iter().map(|at| names.get(at).cloned().unwrap_or_default()).collect::<Vec<_>>().join(" ")
}
