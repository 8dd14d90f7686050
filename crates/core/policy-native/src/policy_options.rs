//! What a policy is told when it starts: `struct rg_options`, as its code defines it.

use model::{Failure, Nanos, PolicySpec, scenario::Machine};

use crate::file_options::FileOptions;
use crate::table::{ORDER_ARRIVAL, Options};

/// The options of one of the project's policies, or the few of a policy in a file.
#[derive(Clone, Copy, Debug)]
pub enum PolicyOptions {
    /// One of the project's.
    BuiltIn(Options),
    /// One in a file.
    File(FileOptions),
}

impl PolicyOptions {
    /// The options of a policy by name, on a machine; `slice` is what the scenario asks for.
    ///
    /// [`Failure::Input`] for an unknown policy, option or value.
    pub fn parse(
        spec: &PolicySpec,
        machine: &Machine,
        slice: Option<Nanos>,
    ) -> Result<PolicyOptions, Failure> {
        if spec.file().is_some() {
            return FileOptions::parse(spec, machine, slice).map(PolicyOptions::File);
        }
        Options::parse(spec, machine, slice).map(PolicyOptions::BuiltIn)
    }

    /// The platform keeps quotas: it holds threads and has timers for groups.
    pub fn with_quotas(self) -> PolicyOptions {
        match self {
            PolicyOptions::BuiltIn(options) => {
                PolicyOptions::BuiltIn(Options { quotas: 1, ..options })
            }
            PolicyOptions::File(_) => self,
        }
    }

    /// Whether groups are held to their quotas.
    pub fn keeps_quotas(&self) -> bool {
        matches!(self, PolicyOptions::BuiltIn(options) if options.quotas == 1)
    }

    /// No group has a promise.
    pub fn without_promises(self) -> PolicyOptions {
        match self {
            PolicyOptions::BuiltIn(options) => {
                PolicyOptions::BuiltIn(Options { promises: 0, ..options })
            }
            PolicyOptions::File(_) => self,
        }
    }

    /// Whether groups may have promises.
    pub fn keeps_promises(&self) -> bool {
        matches!(self, PolicyOptions::BuiltIn(options) if options.promises == 1)
    }

    /// Whether threads stand by when their requests came, which the platform then says.
    pub fn asks_for_requests(&self) -> bool {
        matches!(self, PolicyOptions::BuiltIn(options) if options.order == ORDER_ARRIVAL)
    }

    /// As C sees them.
    pub fn as_bytes(&self) -> &[u8] {
        let (at, size) = match self {
            PolicyOptions::BuiltIn(options) => ((&raw const *options).cast(), size_of::<Options>()),
            PolicyOptions::File(plain) => ((&raw const *plain).cast(), size_of::<FileOptions>()),
        };
        // SAFETY: both are C structs of integers without gaps (`Policy::new` compares their sizes with C's),
        // for as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts(at, size) }
    }

    /// Of the machine.
    pub fn cpus(&self) -> u32 {
        match self {
            PolicyOptions::BuiltIn(options) => options.cpus,
            PolicyOptions::File(plain) => plain.cpus,
        }
    }

    /// The level of the domains that share a queue, 0 a CPU; `None`: a policy in a file makes its own.
    pub fn queue_level(&self) -> Option<usize> {
        match self {
            PolicyOptions::BuiltIn(options) => Some(options.queue as usize),
            PolicyOptions::File(_) => None,
        }
    }
}
