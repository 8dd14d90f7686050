//! The tables of a comparison. Each begins with what a row is about, so that tables of several documents can be put together.

use columnar::{Columns, RecordBatch};

use super::estimates::{estimate, program, tail};
use crate::Document;
use crate::document::{
    CcdfPoint, GroupResult, LagSample, PolicyResult, ProgramResult, ShareSample, Verdict,
};

/// A row: the document, the policy's result, and what is in it.
type Row<'a, T> = (&'a Document, &'a PolicyResult, T);

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

/// A row for each part of each result.
fn rows<'a, T: 'a, I: IntoIterator<Item = T>>(
    document: &'a Document,
    parts: impl Fn(&'a PolicyResult) -> I,
) -> Vec<Row<'a, T>> {
    let of = |result| parts(result).into_iter().map(move |part| (document, result, part));
    document.results.iter().flat_map(of).collect()
}

fn keyed<'a, 'r, T>(rows: &'a [Row<'r, T>]) -> Columns<'a, Row<'r, T>> {
    Columns::of(rows)
        .text("scenario", |row| Some(&row.0.scenario))
        .text("arm", |row| Some(&row.0.arm))
        .text("policy", |row| Some(&row.1.policy))
        .seed("seed", |row| row.1.seed)
}

fn policies(document: &Document) -> RecordBatch {
    let rows = rows(document, |_| [()]);
    keyed(&rows)
        .text("kernel", |row| row.1.kernel.as_deref())
        .number("switches", |row| row.1.switches)
        .number("migrations", |row| row.1.migrations)
        .float("pulls_per_s", |row| row.1.pulls_per_s)
        .float("idle_share", |row| row.1.idle_share)
        .float("threads_lag_min_s", |row| row.1.threads_lag_s.min)
        .float("threads_lag_max_s", |row| row.1.threads_lag_s.max)
        .float("fairness_min", |row| row.1.fairness.min)
        .float("fairness_max", |row| row.1.fairness.max)
        .batch()
}

fn programs(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&ProgramResult>> = rows(document, |result| &result.programs);
    let columns = keyed(&rows)
        .text("program", |row| Some(&row.2.name))
        .text("kind", |row| Some(&row.2.kind))
        .number("rounds", |row| row.2.rounds);
    program(columns, |row| row.2).batch()
}

fn groups(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&GroupResult>> = rows(document, |result| &result.groups);
    keyed(&rows)
        .text("group", |row| Some(&row.2.name))
        .number("weight", |row| row.2.weight)
        .float("due_share", |row| row.2.due_share)
        .float("share", |row| row.2.share)
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

/// A point of a curve, and whose.
pub type Point<'a> = (&'a ProgramResult, &'static str, &'a CcdfPoint);

fn curves(document: &Document) -> RecordBatch {
    let rows: Vec<Row<Point>> = rows(document, |result| result.programs.iter().flat_map(points));
    let columns =
        keyed(&rows).text("program", |row| Some(&row.2.0.name)).text("curve", |row| Some(row.2.1));
    tail(columns, |row| row.2.2).batch()
}

/// The points of a program's curve, and of the ideal's.
pub fn points(program: &ProgramResult) -> impl Iterator<Item = Point<'_>> {
    let measured = program.ccdf.iter().map(|point| ("measured", point));
    let ideal = program.ideal_ccdf.iter().map(|point| ("ideal", point));
    measured.chain(ideal).map(move |(curve, point)| (program, curve, point))
}

fn shares(document: &Document) -> RecordBatch {
    let rows: Vec<Row<(&GroupResult, &ShareSample)>> =
        rows(document, |result| result.groups.iter().flat_map(samples));
    keyed(&rows)
        .text("group", |row| Some(&row.2.0.name))
        .number("at_ns", |row| Some(row.2.1.at_ns))
        .float("share", |row| Some(row.2.1.share))
        .batch()
}

fn samples(group: &GroupResult) -> impl Iterator<Item = (&GroupResult, &ShareSample)> {
    group.share_samples.iter().map(move |sample| (group, sample))
}

fn lags(document: &Document) -> RecordBatch {
    let rows: Vec<Row<&LagSample>> = rows(document, |result| &result.lag_samples);
    keyed(&rows)
        .number("at_ns", |row| Some(row.2.at_ns))
        .float("lag_min_s", |row| Some(row.2.min_s))
        .float("lag_max_s", |row| Some(row.2.max_s))
        .batch()
}
