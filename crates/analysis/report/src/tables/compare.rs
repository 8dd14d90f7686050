//! The tables of a comparison. Each begins with what a row is about, so that tables of several documents can
//! be put together.

use columnar::{Columns, RecordBatch};

use super::estimates::{estimate, program, rows, tail};
use crate::Document;
use crate::document::{
    CcdfPoint, GroupResult, LagSample, PolicyResult, ProgramResult, ShareSample, Verdict,
};

/// A row: the policy's result, and what is in it.
type Row<'a, T> = (&'a PolicyResult, T);

/// Every table, by name.
pub fn batches(document: &Document) -> Vec<(&'static str, RecordBatch)> {
    vec![
        ("policies", policies(document)),
        ("programs", programs(document)),
        ("groups", groups(document)),
        ("verdicts", verdicts(document)),
        ("curves", curves(document)),
        ("shares", shares(document)),
        ("lags", lags(document)),
    ]
}

fn keyed<'a, 'r, T>(document: &Document, rows: &'a [Row<'r, T>]) -> Columns<'a, Row<'r, T>> {
    Columns::of(rows)
        .text("scenario", |_| Some(&document.scenario))
        .text("arm", |_| Some(&document.arm))
        .text("policy", |row| Some(&row.0.policy))
        .seed("seed", |row| row.0.seed)
}

fn policies(document: &Document) -> RecordBatch {
    let rows = rows(&document.results, |_| [()]);
    keyed(document, &rows)
        .text("kernel", |row| row.0.kernel.as_deref())
        .number("switches", |row| row.0.switches)
        .number("migrations", |row| row.0.migrations)
        .float("pulls_per_s", |row| row.0.pulls_per_s)
        .float("idle_share", |row| row.0.idle_share)
        .float("others_share", |row| row.0.others_share)
        .float("threads_lag_min_s", |row| row.0.threads_lag_s.min)
        .float("threads_lag_max_s", |row| row.0.threads_lag_s.max)
        .float("fairness_min", |row| row.0.fairness.min)
        .float("fairness_max", |row| row.0.fairness.max)
        .batch()
}

fn programs(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&ProgramResult>> = rows(&document.results, |result| &result.programs);
    let columns = keyed(document, &rows)
        .text("program", |row| Some(&row.1.name))
        .text("kind", |row| Some(&row.1.kind))
        .number("rounds", |row| row.1.rounds);
    let columns = estimate(columns, "round", "_ns", |row| row.1.round_ns.unwrap_or_default());
    program(columns, |row| row.1).batch()
}

fn groups(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&GroupResult>> = rows(&document.results, |result| &result.groups);
    keyed(document, &rows)
        .text("group", |row| Some(&row.1.name))
        .number("weight", |row| row.1.weight)
        .float("due_share", |row| row.1.due_share)
        .float("share", |row| row.1.share)
        .batch()
}

fn verdicts(document: &Document) -> RecordBatch {
    let rows: Vec<(&Document, &Verdict)> =
        document.verdicts.iter().map(|verdict| (document, verdict)).collect();
    let columns = Columns::of(&rows)
        .text("scenario", |row| Some(&row.0.scenario))
        .text("arm", |row| Some(&row.0.arm))
        .text("metric", |row| Some(&row.1.metric))
        .text("program", |row| row.1.program.as_deref())
        .text("a", |row| Some(&row.1.a))
        .text("b", |row| Some(&row.1.b))
        .text("answer", |row| Some(row.1.answer.word()));
    estimate(columns, "ratio", "", |row| row.1.ratio).batch()
}

/// A point of a curve, and the curve's owner.
pub type Point<'a> = (&'a ProgramResult, &'static str, &'a CcdfPoint);

fn curves(document: &Document) -> RecordBatch {
    let rows: Vec<Row<Point>> =
        rows(&document.results, |result| result.programs.iter().flat_map(points));
    let columns = keyed(document, &rows)
        .text("program", |row| Some(&row.1.0.name))
        .text("curve", |row| Some(row.1.1));
    tail(columns, |row| row.1.2).batch()
}

/// The points of a program's curve, and of the ideal's.
pub fn points(program: &ProgramResult) -> impl Iterator<Item = Point<'_>> {
    let measured = program.ccdf.iter().map(|point| ("measured", point));
    let ideal = program.ideal_ccdf.iter().map(|point| ("ideal", point));
    measured.chain(ideal).map(move |(curve, point)| (program, curve, point))
}

fn shares(document: &Document) -> RecordBatch {
    let rows: Vec<Row<(&GroupResult, &ShareSample)>> =
        rows(&document.results, |result| result.groups.iter().flat_map(samples));
    keyed(document, &rows)
        .text("group", |row| Some(&row.1.0.name))
        .number("at_ns", |row| Some(row.1.1.at_ns))
        .float("share", |row| Some(row.1.1.share))
        .batch()
}

fn samples(group: &GroupResult) -> impl Iterator<Item = (&GroupResult, &ShareSample)> {
    group.share_samples.iter().map(move |sample| (group, sample))
}

fn lags(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&LagSample>> = rows(&document.results, |result| &result.lag_samples);
    keyed(document, &rows)
        .number("at_ns", |row| Some(row.1.at_ns))
        .float("lag_min_s", |row| Some(row.1.min_s))
        .float("lag_max_s", |row| Some(row.1.max_s))
        .batch()
}
