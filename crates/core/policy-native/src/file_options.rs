//! What a policy in a file of its own is told: `struct rg_options` of `policy/defaults.h`.

use model::{Failure, Nanos, PolicySpec, scenario::Machine};

use crate::options::{checked_slice, default_slice, slice_of};

/// The same few options for every such policy.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    slice_ns: u64,
    pub(crate) cpus: u32,
    unused: u32,
}

impl FileOptions {
    /// [`Failure::Input`] for any option but `slice`.
    pub fn parse(
        spec: &PolicySpec,
        machine: &Machine,
        slice: Option<Nanos>,
    ) -> Result<FileOptions, Failure> {
        if let Some(key) = spec.options.keys().find(|key| *key != "slice") {
            return Err(Failure::Input(format!(
                "policy `{spec}`: a policy in a file has one option, slice; leave `{key}` out"
            )));
        }
        let given = spec.options.get("slice").map(|value| slice_of(value)).transpose()?;
        let slice = given.map(Nanos).or(slice).unwrap_or(default_slice());
        Ok(FileOptions { slice_ns: checked_slice(slice)?.0, cpus: machine.cpus, unused: 0 })
    }
}
