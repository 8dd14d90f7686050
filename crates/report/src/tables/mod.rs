//! Documents as tables, a row a thing: for data frames and databases. `docs/results.md` lists every column.

mod compare;
mod estimates;
mod ideal;

use columnar::{RecordBatch, Table};
use serde_json::json;

use crate::{Document, Ideal};

/// What the notes of tables begin with; it changes when a column changes its meaning.
pub const TABLES_SCHEMA: &str = "rearguard.tables/1";

/// A document that has tables.
pub trait Tables {
    /// All of them, those without rows too.
    fn tables(&self) -> Vec<Table>;
}

impl Tables for Document {
    fn tables(&self) -> Vec<Table> {
        let about = About { schema: &self.schema, version: &self.version, command: &self.command };
        compare::batches(self).into_iter().map(|(name, batch)| about.table(name, batch)).collect()
    }
}

impl Tables for Ideal {
    fn tables(&self) -> Vec<Table> {
        let about = About { schema: &self.schema, version: &self.version, command: &self.command };
        ideal::batches(self).into_iter().map(|(name, batch)| about.table(name, batch)).collect()
    }
}

/// What a table says of its document.
struct About<'a> {
    schema: &'a str,
    version: &'a str,
    command: &'a [String],
}

impl About<'_> {
    fn table(&self, name: &'static str, batch: RecordBatch) -> Table {
        let note = json!({
            "table": name, "document": self.schema, "version": self.version, "command": self.command
        });
        Table { name, batch }.with_note(TABLES_SCHEMA, &note.to_string())
    }
}
