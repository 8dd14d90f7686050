//! Latencies and stamps from Python: lists, NumPy arrays, Arrow arrays and other objects that expose their
//! memory or can be walked.

use model::Nanos;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::failure::wrong;

/// Whole nanoseconds, none of them negative.
pub struct Samples(pub Vec<Nanos>);

impl<'py> FromPyObject<'_, 'py> for Samples {
    type Error = PyErr;

    fn extract(from: Borrowed<'_, 'py, PyAny>) -> PyResult<Samples> {
        if let Ok(buffer) = PyBuffer::<i64>::get(&from) {
            let all = buffer.to_vec(from.py())?.into_iter();
            return all.map(signed).collect::<PyResult<_>>().map(Samples);
        }
        if let Ok(buffer) = PyBuffer::<u64>::get(&from) {
            let all = buffer.to_vec(from.py())?;
            return Ok(Samples(all.into_iter().map(Nanos).collect()));
        }
        let one = |item: PyResult<Bound<PyAny>>| {
            let item = item?;
            let plain = item.call_method0("as_py").unwrap_or(item);
            signed(plain.extract()?)
        };
        from.try_iter()?.map(one).collect::<PyResult<_>>().map(Samples)
    }
}

fn signed(ns: i64) -> PyResult<Nanos> {
    let negative = |_| wrong(format!("{ns}: expected nanoseconds from 0 on"));
    u64::try_from(ns).map(Nanos).map_err(negative)
}
