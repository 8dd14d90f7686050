//! A table of rows written as a Parquet file, column by column.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::SCHEMA;

/// Rows that are in memory as columns at a time.
const ROW_GROUP: usize = 1 << 17;

/// A column, and how a row gives its value; `None` is null.
pub struct Column<'a, T> {
    name: &'static str,
    cell: Cell<'a, T>,
}

type Of<'a, T, V> = Box<dyn Fn(&T) -> Option<V> + 'a>;

enum Cell<'a, T> {
    Number(Of<'a, T, u64>),
    Text(Of<'a, T, String>),
}

/// A column of whole numbers.
pub fn number<'a, T>(name: &'static str, of: impl Fn(&T) -> Option<u64> + 'a) -> Column<'a, T> {
    Column { name, cell: Cell::Number(Box::new(of)) }
}

/// A column of words.
pub fn text<'a, T>(name: &'static str, of: impl Fn(&T) -> Option<String> + 'a) -> Column<'a, T> {
    Column { name, cell: Cell::Text(Box::new(of)) }
}

/// Writes a table; `header` goes into the file's metadata.
pub fn write<T>(path: &Path, columns: &[Column<T>], rows: &[T], header: &str) -> io::Result<()> {
    fill(File::create(path)?, columns, rows, header).map_err(io::Error::other)
}

fn fill<T>(
    file: File,
    columns: &[Column<T>],
    rows: &[T],
    header: &str,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("trace").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, properties(columns, header))?;
    for rows in rows.chunks(ROW_GROUP) {
        let mut group = writer.next_row_group()?;
        for column in columns {
            if let Some(mut into) = group.next_column()? {
                column.put(&mut into, rows)?;
                into.close()?;
            }
        }
        group.close()?;
    }
    writer.close().map(|_| ())
}

fn field<T>(column: &Column<T>) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match column.cell {
        Cell::Number(_) => (Physical::INT64, ConvertedType::NONE),
        Cell::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
    };
    let builder = Type::primitive_type_builder(column.name, physical);
    let builder = builder.with_converted_type(converted).with_repetition(Repetition::OPTIONAL);
    Ok(Arc::new(builder.build()?))
}

/// Numbers as packed differences, which suits stamps and ids; words by a dictionary.
fn properties<T>(columns: &[Column<T>], header: &str) -> Arc<WriterProperties> {
    let header = KeyValue::new(SCHEMA.to_string(), Some(header.to_string()));
    let mut builder = WriterProperties::builder().set_key_value_metadata(Some(vec![header]));
    for column in columns.iter().filter(|column| matches!(column.cell, Cell::Number(_))) {
        let path = ColumnPath::from(column.name);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Arc::new(builder.build())
}

impl<T> Column<'_, T> {
    fn put(&self, into: &mut SerializedColumnWriter, rows: &[T]) -> Result<(), ParquetError> {
        match &self.cell {
            Cell::Number(of) => {
                let (values, levels) = split(rows, |row| of(row).map(|value| value as i64));
                into.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Cell::Text(of) => {
                let word = |row: &T| of(row).map(|value| ByteArray::from(value.into_bytes()));
                let (values, levels) = split(rows, word);
                into.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        Ok(())
    }
}

/// The values that there are, and for each row whether there is one.
fn split<T, V>(rows: &[T], of: impl Fn(&T) -> Option<V>) -> (Vec<V>, Vec<i16>) {
    let cells: Vec<Option<V>> = rows.iter().map(of).collect();
    let levels = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    (cells.into_iter().flatten().collect(), levels)
}
