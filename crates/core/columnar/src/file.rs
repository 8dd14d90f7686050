//! Tables as files, the same bytes for the same rows.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnPath;

use crate::text;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet: compact.
    Parquet,
    /// Arrow's file format, as it lies in memory: read without decoding.
    Arrow,
    /// Comma-separated text (RFC 4180), a line a row below the names of the columns; nothing for null.
    Csv,
}

impl Format {
    /// What names of such files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Csv => "csv",
        }
    }
}

/// How values are packed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whole numbers as packed differences, which suits stamps and ids in their order. Parquet only.
    pub differences: bool,
}

/// Writes batches of one schema to a file, each a row group of its own: whole, or not at all.
pub fn write(
    path: &Path,
    format: Format,
    options: Options,
    schema: SchemaRef,
    batches: impl Iterator<Item = RecordBatch>,
) -> io::Result<()> {
    fileio::replace_with(path, |mut out| fill(&mut out, format, options, schema, batches))
}

/// What a Parquet file notes under a key; `None` where it notes nothing there.
pub fn note(path: &Path, key: &str) -> io::Result<Option<String>> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(io::Error::other)?;
    let notes = reader.metadata().file_metadata().key_value_metadata();
    let found = notes.and_then(|notes| notes.iter().find(|note| note.key == key));
    Ok(found.and_then(|note| note.value.clone()))
}

/// The bytes of a file that holds one batch.
pub fn encode(batch: &RecordBatch, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    let batches = std::iter::once(batch.clone());
    fill(&mut bytes, format, Options::default(), batch.schema(), batches)
        .expect("columns of plain types, written to memory");
    bytes
}

fn fill(
    out: &mut (impl Write + Send),
    format: Format,
    options: Options,
    schema: SchemaRef,
    batches: impl Iterator<Item = RecordBatch>,
) -> io::Result<()> {
    match format {
        Format::Parquet => parquet(out, options, schema, batches).map_err(io::Error::other),
        Format::Arrow => arrow(out, schema, batches).map_err(io::Error::other),
        Format::Csv => text::csv(out, &schema, batches).map_err(io::Error::other),
    }
}

fn parquet(
    out: impl Write + Send,
    options: Options,
    schema: SchemaRef,
    batches: impl Iterator<Item = RecordBatch>,
) -> Result<(), ParquetError> {
    // The columns' own types say everything, and a schema in a second encoding would have to agree with them.
    let options = ArrowWriterOptions::new()
        .with_properties(properties(options, &schema).build())
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(out, schema, options)?;
    for batch in batches {
        writer.write(&batch)?;
        writer.flush()?;
    }
    writer.close().map(|_| ())
}

fn properties(options: Options, schema: &SchemaRef) -> WriterPropertiesBuilder {
    let notes = schema.metadata().iter();
    let notes = notes.map(|(key, word)| KeyValue::new(key.clone(), word.clone())).collect();
    let mut builder = WriterProperties::builder().set_key_value_metadata(Some(notes));
    let is_number = |kind: &DataType| *kind == DataType::Int64;
    let numbers = schema.fields().iter().filter(|field| is_number(field.data_type()));
    for field in numbers.filter(|_| options.differences) {
        let path = ColumnPath::from(field.name().as_str());
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder
}

fn arrow(
    out: impl Write,
    schema: SchemaRef,
    mut batches: impl Iterator<Item = RecordBatch>,
) -> Result<(), ArrowError> {
    let mut writer = FileWriter::try_new(out, &schema)?;
    batches.try_for_each(|batch| writer.write(&batch))?;
    writer.finish()
}
