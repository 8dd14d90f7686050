//! What a policy is told when it starts: `struct rg_options`, as its code defines it.

use model::{Failure, Nanos, PolicySpec, scenario::Machine};

use crate::file;
use crate::options::Options;
use crate::plain::Plain;

/// The options of one of the project's policies, or the few of a policy in a file.
#[derive(Clone, Copy, Debug)]
pub enum Chosen {
    /// One of the project's.
    Own(Options),
    /// One in a file.
    Plain(Plain),
}

impl Chosen {
    /// The options of a policy by name, on a machine; `slice` is what the scenario asks for.
    ///
    /// [`Failure::Input`] for an unknown policy, option or value.
    pub fn parse(
        spec: &PolicySpec,
        machine: &Machine,
        slice: Option<Nanos>,
    ) -> Result<Chosen, Failure> {
        if file::source(&spec.name).is_some() {
            return Plain::parse(spec, machine, slice).map(Chosen::Plain);
        }
        Options::parse(spec, machine, slice).map(Chosen::Own)
    }

    /// As C sees them.
    pub fn as_bytes(&self) -> &[u8] {
        let (at, size) = match self {
            Chosen::Own(options) => ((&raw const *options).cast(), size_of::<Options>()),
            Chosen::Plain(plain) => ((&raw const *plain).cast(), size_of::<Plain>()),
        };
        // SAFETY: both are C structs of integers without gaps (`Policy::new` compares their sizes with C's), for as long as `self` is
        // borrowed.
        unsafe { std::slice::from_raw_parts(at, size) }
    }

    /// Of the machine.
    pub fn cpus(&self) -> u32 {
        match self {
            Chosen::Own(options) => options.cpus,
            Chosen::Plain(plain) => plain.cpus,
        }
    }
}
