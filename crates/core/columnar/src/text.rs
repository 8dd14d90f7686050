//! Tables as comma-separated text.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use csv::Writer;

/// Writes the names of the columns, then a line a row. Doubles have the fewest digits that read back as the
/// same number, null is an empty cell, and so is an empty word.
pub fn csv(
    out: impl Write,
    schema: &SchemaRef,
    batches: impl Iterator<Item = RecordBatch>,
) -> Result<(), csv::Error> {
    let mut writer = Writer::from_writer(out);
    writer.write_record(schema.fields().iter().map(|field| field.name()))?;
    for batch in batches {
        for row in 0..batch.num_rows() {
            writer.write_record(batch.columns().iter().map(|column| cell(column, row)))?;
        }
    }
    writer.flush().map_err(csv::Error::from)
}

/// A cell of the types that [`crate::Columns`] makes.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        _ => column.as_string::<i32>().value(row).to_string(),
    }
}
