//! Tables as Arrow hands them around inside of a process: the PyCapsule interface.

use std::ffi::CStr;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table. Whatever reads Arrow takes it without a copy: `pyarrow.table(t)`, `polars.DataFrame(t)`,
/// `pandas.DataFrame.from_arrow(t)`.
#[pyclass(frozen, module = "rearguard")]
pub struct Table(columnar::Table);

impl From<columnar::Table> for Table {
    fn from(table: columnar::Table) -> Table {
        Table(table)
    }
}

#[pymethods]
impl Table {
    /// What a row is about.
    #[getter]
    fn name(&self) -> &str {
        self.0.name
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        let batch = &self.0.batch;
        format!(
            "<rearguard.Table {}: {} rows, {} columns>",
            self.0.name,
            batch.num_rows(),
            batch.num_columns()
        )
    }

    /// The rows as an Arrow stream. The columns keep their types: a wish for others may go unheard, as the
    /// interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batch: RecordBatch = self.0.batch.clone();
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    /// The names and types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.batch.schema_ref().as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}
