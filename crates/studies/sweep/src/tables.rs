//! The tables of a sweep: those of its points below each other, and what the grid varies in front.

use columnar::{Columns, RecordBatch, Table, beside, stack};
use report::{Document, Tables};
use serde_json::json;
use toml_edit::Value;

use crate::point::PointResult;
use crate::{ENGINE, Point, SWEEP_SCHEMA};

/// The tables of a comparison that a sweep has, too.
const TABLES: [&str; 3] = ["programs", "groups", "policies"];

/// Tables of finished points; none without points.
pub fn tables(keys: &[&str], found: Vec<(&Point, PointResult)>) -> Vec<Table> {
    let documents: Vec<(&Point, Vec<Table>)> =
        found.into_iter().map(|(point, kept)| (point, document(kept).tables())).collect();
    TABLES.iter().filter_map(|name| table(name, keys, &documents)).collect()
}

fn document(kept: PointResult) -> Document {
    let PointResult { scenario, results, .. } = kept;
    Document { scenario, arm: "sim".to_string(), results, ..Document::default() }
}

fn table(name: &'static str, keys: &[&str], all: &[(&Point, Vec<Table>)]) -> Option<Table> {
    let of_point = |tables: &[Table]| {
        tables.iter().find(|table| table.name == name).map(|table| table.batch.clone())
    };
    let parts: Vec<(&Point, RecordBatch)> =
        all.iter().filter_map(|(point, tables)| Some((*point, of_point(tables)?))).collect();
    let rows: Vec<&Point> = parts
        .iter()
        .flat_map(|(point, batch)| std::iter::repeat_n(*point, batch.num_rows()))
        .collect();
    let results = stack(&parts.into_iter().map(|(_, batch)| batch).collect::<Vec<_>>())?;
    let note = json!({ "table": name, "document": SWEEP_SCHEMA, "version": ENGINE });
    let batch = beside(&varied(keys, &rows), &results);
    Some(Table { name, batch }.with_note(report::TABLES_SCHEMA, &note.to_string()))
}

/// The point's id, and a column for each key that the grid varies: numbers where all values are, words
/// otherwise.
fn varied(keys: &[&str], rows: &[&Point]) -> RecordBatch {
    let columns = Columns::of(rows).text("point", |point| Some(&point.id));
    let all = (0..keys.len()).fold(columns, |columns, at| {
        let value = |point: &&Point| point.values[at].1.parse::<Value>().ok();
        let name = keys[at];
        if rows.iter().all(|point| value(point).as_ref().and_then(as_number).is_some()) {
            columns.float(name, |point| as_number(&value(point)?))
        } else {
            columns.text(name, |point| Some(word(&value(point)?)))
        }
    });
    all.batch()
}

fn as_number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
