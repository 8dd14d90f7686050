//! Tables of results: made of rows, column by column, and written as Parquet, Arrow or CSV files.
//!
//! Knows nothing of what the tables hold: the owner of results says which columns they make.
#![forbid(unsafe_code)]

mod columns;
mod combine;
mod file;
mod text;

use std::collections::HashMap;

pub use arrow_array::RecordBatch;
pub use columns::Columns;
pub use combine::{beside, stack};
pub use file::{Format, Options, encode, note, write};

/// A table with its name, which is also the stem of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What a row is about: `programs`.
    pub name: &'static str,
    /// Columns and values.
    pub batch: RecordBatch,
}

impl Table {
    /// The same with a word about the whole table, which its files keep.
    pub fn with_note(self, key: &str, word: &str) -> Table {
        // One key alone: several have no order of their own, and files would differ from run to run.
        let note = HashMap::from([(key.to_string(), word.to_string())]);
        let schema = self.batch.schema_ref().as_ref().clone().with_metadata(note);
        let (_, columns, _) = self.batch.into_parts();
        let batch = RecordBatch::try_new(schema.into(), columns).expect("the columns it had");
        Table { name: self.name, batch }
    }
}
