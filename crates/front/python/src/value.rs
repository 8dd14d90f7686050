//! Python's values as TOML's.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml_edit::{Array, InlineTable, Value};

use crate::failure::wrong;

/// A value of a scenario's key.
pub fn toml(from: &Bound<PyAny>) -> PyResult<Value> {
    // A bool is an int, too.
    if from.is_instance_of::<PyBool>() {
        return Ok(Value::from(from.extract::<bool>()?));
    }
    if from.is_instance_of::<PyInt>() {
        let too_large = |_| wrong(format!("{from}: expected a number of at most 64 bits"));
        return from.extract::<i64>().map(Value::from).map_err(too_large);
    }
    if from.is_instance_of::<PyFloat>() {
        return Ok(Value::from(from.extract::<f64>()?));
    }
    if from.is_instance_of::<PyString>() {
        return Ok(Value::from(from.extract::<String>()?));
    }
    if from.is_instance_of::<PyList>() || from.is_instance_of::<PyTuple>() {
        let items = from.try_iter()?.map(|item| toml(&item?));
        return Ok(Value::Array(items.collect::<PyResult<Array>>()?));
    }
    if let Ok(entries) = from.cast::<PyDict>() {
        let entry = |(key, value): (Bound<PyAny>, Bound<PyAny>)| {
            Ok((key.extract::<String>()?, toml(&value)?))
        };
        let table = entries.iter().map(entry).collect::<PyResult<InlineTable>>()?;
        return Ok(Value::InlineTable(table));
    }
    // NumPy's scalars and others that are numbers without being Python's own.
    if let Ok(plain) = from.call_method0("item") {
        return toml(&plain);
    }
    let kind = from.get_type();
    Err(wrong(format!(
        "{from}: a {kind} is no value of a scenario; expected a text, a number, a list or a dict"
    )))
}
