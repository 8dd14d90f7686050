//! The tables of papers' figures.

use columnar::{Columns, RecordBatch};

use super::estimates::{rows, tail};
use super::ideal::queue;
use crate::document::CcdfPoint;
use crate::paper::{Agreement, PaperClaim, PaperFigure, PaperValue};
use crate::{Curve, Series, SeriesChart};

/// A row: the figure, and what is in it.
type Row<'a, T> = (&'a PaperFigure, T);

/// Every table, by name: the figures below each other.
pub fn batches(figures: &[PaperFigure]) -> Vec<(&'static str, RecordBatch)> {
    vec![
        ("values", values(figures)),
        ("claims", claims(figures)),
        ("notes", notes(figures)),
        ("queues", queues(figures)),
        ("curves", curves(figures)),
        ("series", series(figures)),
    ]
}

fn keyed<'a, 'r, T>(rows: &'a [Row<'r, T>]) -> Columns<'a, Row<'r, T>> {
    Columns::of(rows)
        .text("paper", |row| Some(&row.0.paper))
        .text("figure", |row| Some(&row.0.figure))
        .text("section", |row| Some(&row.0.section))
        .text("title", |row| Some(&row.0.title))
}

/// The word that the document has for it.
fn key(agreement: Agreement) -> Option<String> {
    serde_json::to_value(agreement).ok()?.as_str().map(str::to_string)
}

fn values(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<&PaperValue>> = rows(figures, |figure| &figure.values);
    keyed(&rows)
        .text("what", |row| Some(&row.1.what))
        .float("ours", |row| row.1.ours)
        .float("papers", |row| row.1.paper)
        .float("papers_to", |row| row.1.to)
        .text("from", |row| Some(&row.1.from))
        .float("ratio", |row| row.1.ratio)
        .text("agreement", |row| key(row.1.agreement))
        .text("why", |row| Some(&row.1.why))
        .batch()
}

fn claims(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<&PaperClaim>> = rows(figures, |figure| &figure.claims);
    keyed(&rows)
        .text("says", |row| Some(&row.1.says))
        .text("from", |row| Some(&row.1.from))
        .text("test", |row| Some(&row.1.test))
        .float("left", |row| row.1.left)
        .float("right", |row| row.1.right)
        .text("agreement", |row| key(row.1.agreement))
        .text("why", |row| Some(&row.1.why))
        .batch()
}

/// What was assumed, and what is missing.
fn notes(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<(&str, &String)>> = rows(figures, |figure| {
        let assumed = figure.assumptions.iter().map(|words| ("assumption", words));
        assumed.chain(figure.missing.iter().map(|words| ("missing", words)))
    });
    keyed(&rows).text("kind", |row| Some(row.1.0)).text("note", |row| Some(row.1.1)).batch()
}

fn queues(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<&Curve>> = rows(figures, |figure| &figure.curves);
    let columns = keyed(&rows).seed("seed", |row| row.0.seed);
    queue(columns, |row| row.1).batch()
}

fn curves(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<(&Curve, &CcdfPoint)>> = rows(figures, |figure| {
        let curves = figure.curves.iter();
        curves.flat_map(|curve| curve.ccdf.iter().map(move |point| (curve, point)))
    });
    tail(keyed(&rows).text("queue", |row| Some(&row.1.0.name)), |row| row.1.1).batch()
}

/// A point of a line of a chart.
type Drawn<'a> = (&'a SeriesChart, &'a Series, (f64, f64));

/// The points of charts, in the units of their axes.
fn series(figures: &[PaperFigure]) -> RecordBatch {
    let rows: Vec<Row<Drawn>> =
        rows(figures, |figure| figure.chart.as_ref().into_iter().flat_map(drawn));
    keyed(&rows)
        .text("series", |row| Some(&row.1.1.name))
        .text("x_axis", |row| Some(&row.1.0.x))
        .float("x", |row| Some(row.1.2.0))
        .text("y_axis", |row| Some(&row.1.0.y))
        .float("y", |row| Some(row.1.2.1))
        .batch()
}

fn drawn(chart: &SeriesChart) -> impl Iterator<Item = Drawn<'_>> {
    let lines = chart.series.iter();
    let points = lines.flat_map(|line| line.points.iter().map(move |point| (line, *point)));
    points.map(move |(line, point)| (chart, line, point))
}
