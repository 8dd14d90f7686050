//! The tables of a sweep: those of its points below each other, and what the grid varies in front.

use std::path::Path;

use columnar::{Columns, Format, Options, RecordBatch, Table, beside, stack};
use model::Failure;
use report::document::PolicyResult;
use report::{Document, Tables};
use serde_json::json;
use toml_edit::Value;

use crate::point::Work;
use crate::{Plan, Point, SWEEP_SCHEMA, Store};

/// The tables of a comparison that a sweep has, too.
const TABLES: [&str; 3] = ["programs", "groups", "policies"];

/// The tables of all points that are finished, in the order of the plan: the same rows wherever and
/// whenever they ran. None without points.
pub fn tables(plan: &Plan, points: &[Point], store: &Store) -> Vec<Table> {
    let documents = points.iter().filter_map(|point| {
        let Work::Scenario { scenario, .. } = &point.work else { return None };
        let results = results(point, store)?;
        let (scenario, arm) = (scenario.name.clone(), plan.on().to_string());
        Some((point, Document { scenario, arm, results, ..Document::default() }.tables()))
    });
    let documents: Vec<(&Point, Vec<Table>)> = documents.collect();
    TABLES.iter().filter_map(|name| table(name, &plan.keys(), &documents)).collect()
}

/// What a point found on its arm: pooled over its seeds, then seed by seed.
pub fn results(point: &Point, store: &Store) -> Option<Vec<PolicyResult>> {
    serde_json::from_str(&store.get(&point.id)?).ok()
}

/// Writes tables into a folder.
pub fn write(folder: &Path, tables: &[Table]) -> Result<(), Failure> {
    tables.iter().try_for_each(|table| {
        let path = folder.join(format!("{}.parquet", table.name));
        let batches = std::iter::once(table.batch.clone());
        columnar::write(&path, Format::Parquet, Options::default(), table.batch.schema(), batches)
            .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
    })
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
    let note =
        json!({ "table": name, "document": SWEEP_SCHEMA, "version": env!("CARGO_PKG_VERSION") });
    let batch = beside(&varied(keys, &rows), &results);
    Some(Table { name, batch }.with_note(report::TABLES_SCHEMA, &note.to_string()))
}

/// The point's id, and a column for each key that the plan varies: numbers where all values are, words
/// otherwise.
fn varied(keys: &[&str], rows: &[&Point]) -> RecordBatch {
    let columns = Columns::of(rows).text("point", |point| Some(&point.id));
    let all = keys.iter().fold(columns, |columns, name| {
        let value = |point: &&Point| -> Option<Value> {
            point.values.iter().find(|(key, _)| key == name)?.1.parse().ok()
        };
        let is_number = |point: &&Point| value(point).is_none_or(|one| as_number(&one).is_some());
        if rows.iter().all(is_number) {
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
