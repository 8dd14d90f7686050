//! From rows to columns.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};

/// The columns that have been made of some rows.
pub struct Columns<'a, T> {
    rows: &'a [T],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, T> Columns<'a, T> {
    /// No column yet.
    pub fn of(rows: &'a [T]) -> Columns<'a, T> {
        Columns { rows, fields: Vec::new(), arrays: Vec::new() }
    }

    /// Whole numbers up to 2^63 - 1; `None` and what is above is null.
    pub fn number(self, name: &str, of: impl Fn(&T) -> Option<u64>) -> Self {
        let cells = self.rows.iter().map(|row| of(row).and_then(|n| i64::try_from(n).ok()));
        let array: Int64Array = cells.collect();
        self.with(name, DataType::Int64, Arc::new(array))
    }

    /// Seeds, which take all 64 bits.
    pub fn seed(self, name: &str, of: impl Fn(&T) -> Option<u64>) -> Self {
        let array: UInt64Array = self.rows.iter().map(of).collect();
        self.with(name, DataType::UInt64, Arc::new(array))
    }

    /// Numbers that need not be whole; `None` is null.
    pub fn float(self, name: &str, of: impl Fn(&T) -> Option<f64>) -> Self {
        let array: Float64Array = self.rows.iter().map(of).collect();
        self.with(name, DataType::Float64, Arc::new(array))
    }

    /// Yes or no; `None` is null.
    pub fn flag(self, name: &str, of: impl Fn(&T) -> Option<bool>) -> Self {
        let array: BooleanArray = self.rows.iter().map(of).collect();
        self.with(name, DataType::Boolean, Arc::new(array))
    }

    /// Words; `None` is null.
    pub fn text<'b, W: AsRef<str>>(self, name: &str, of: impl Fn(&'b T) -> Option<W>) -> Self
    where
        'a: 'b,
    {
        let array: StringArray = self.rows.iter().map(of).collect();
        self.with(name, DataType::Utf8, Arc::new(array))
    }

    /// The columns side by side.
    pub fn batch(self) -> RecordBatch {
        let schema = Arc::new(Schema::new(self.fields));
        RecordBatch::try_new(schema, self.arrays).expect("a cell a row in every column")
    }

    fn with(mut self, name: &str, kind: DataType, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, kind, true));
        self.arrays.push(array);
        self
    }
}
