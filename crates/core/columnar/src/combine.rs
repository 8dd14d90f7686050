//! Tables put together.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use arrow_select::concat::concat_batches;

/// The rows of batches of one kind below each other, without what each noted; `None` where there is no batch.
pub fn stack(batches: &[RecordBatch]) -> Option<RecordBatch> {
    let schema = Arc::new(Schema::new(batches.first()?.schema_ref().fields().clone()));
    Some(concat_batches(&schema, batches).expect("batches with the same columns"))
}

/// The columns of two batches with as many rows beside each other.
pub fn beside(left: &RecordBatch, right: &RecordBatch) -> RecordBatch {
    let both = [left, right];
    let fields = both.iter().flat_map(|batch| batch.schema_ref().fields().iter().cloned());
    let columns = both.iter().flat_map(|batch| batch.columns().iter().cloned());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.collect()).expect("as many rows on both sides")
}
