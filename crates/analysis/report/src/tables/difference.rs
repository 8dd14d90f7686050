//! The table of two results held against each other.

use columnar::{Columns, RecordBatch};

use super::estimates::{estimate, rows};
use crate::difference::{Change, Difference, FigureChange};

/// A row for each figure of each service.
pub fn batches(difference: &Difference) -> Vec<(&'static str, RecordBatch)> {
    let rows: Vec<(&Change, &FigureChange)> = rows(&difference.changes, |change| &change.figures);
    let columns = Columns::of(&rows)
        .text("service_before", |row| Some(&row.0.before))
        .text("service_after", |row| Some(&row.0.after))
        .text("figure", |row| Some(&row.1.figure))
        .text("answer", |row| row.1.answer.map(model::Answer::word));
    let columns = estimate(columns, "before", "", |row| row.1.before);
    let columns = estimate(columns, "after", "", |row| row.1.after);
    vec![("differences", estimate(columns, "ratio", "", |row| row.1.ratio).batch())]
}
