//! Documents as tables, a row a thing: for data frames and databases. `docs/reference/results.md` lists every
//! column.

mod cluster;
mod compare;
mod difference;
mod estimates;
mod explain;
mod ideal;
mod measured;
mod paper;

use columnar::{RecordBatch, Table};
use serde_json::json;

use crate::difference::Difference;
use crate::explain::Explained;
use crate::overhead::Overhead;
use crate::stages::StagesDocument;
use crate::{ClusterRun, Document, FanOut, Ideal, Measured, PaperFigure, Saturated};

/// What the notes of tables begin with; it changes when a column changes its meaning.
pub const TABLES_SCHEMA: &str = "rearguard.tables/1";

/// A document that has tables.
pub trait Tables {
    /// All of them, those without rows too.
    fn tables(&self) -> Vec<Table>;
}

/// Documents say alike what they are, what wrote them, and the command.
macro_rules! tables {
    ($($document:ty: $batches:path),* $(,)?) => {
        $(impl Tables for $document {
            fn tables(&self) -> Vec<Table> {
                let (schema, version) = (&self.schema, &self.version);
                let about = About { schema, version, command: &self.command };
                $batches(self).into_iter().map(|(name, batch)| about.table(name, batch)).collect()
            }
        })*
    };
}

tables!(
    Document: compare::batches,
    Difference: difference::batches,
    Ideal: ideal::batches,
    ClusterRun: cluster::batches,
    FanOut: cluster::fan_out,
    Measured: measured::batches,
    Saturated: measured::saturated,
    Explained: explain::batches,
    StagesDocument: explain::stages,
    Overhead: explain::overhead,
);

/// Figures, the first of which says for all what wrote them; none have no tables.
impl Tables for Vec<PaperFigure> {
    fn tables(&self) -> Vec<Table> {
        let Some(PaperFigure { schema, version, command, .. }) = self.first() else {
            return Vec::new();
        };
        let about = About { schema, version, command };
        let all = paper::batches(self).into_iter();
        all.map(|(name, batch)| about.table(name, batch)).collect()
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
