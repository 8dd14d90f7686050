//! A policy's code: the programs in this executable, or a policy in a file, compiled with the same adapter.

mod compile;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use model::{Failure, PolicySpec};

/// An object has no more bytes.
const MOST: u64 = 64 << 20;

/// BPF programs of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Those of all the project's policies.
    BuiltIn,
    /// An object with the same programs and maps.
    Object(&'static [u8]),
}

impl Code {
    /// The code of a policy by name, compiled here where the name is that of a file
    /// ([`PolicySpec::file`]).
    ///
    /// [`Failure::Input`] where the file is not a policy, with what the compiler says; [`Failure::Machine`]
    /// without compilers.
    pub fn of(policy: &PolicySpec) -> Result<Code, Failure> {
        match policy.file() {
            None => Ok(Code::BuiltIn),
            Some(path) => compile::object(path).map(Code::object),
        }
    }

    /// What another process left in a file, which root takes as it takes a policy.
    ///
    /// [`Failure::Input`] where it cannot be read, or root must not run it.
    pub fn read(path: &Path) -> Result<Code, Failure> {
        policy_native::trusted("object", path, MOST).map(Code::object)
    }

    /// What another process compiled. It stays in memory: an object is loaded again when CPUs are added to
    /// the machine.
    pub fn object(bytes: Vec<u8>) -> Code {
        Code::Object(bytes.leak())
    }

    /// The object, for another process; `None`: every executable of the project has it.
    pub fn bytes(self) -> Option<&'static [u8]> {
        match self {
            Code::BuiltIn => None,
            Code::Object(bytes) => Some(bytes),
        }
    }

    /// Opens bindings on this code: the one that they ask for by [`chosen`].
    pub(crate) fn during<R>(self, open: impl FnOnce() -> R) -> R {
        CODE.set(self);
        let opened = open();
        CODE.set(Code::BuiltIn);
        opened
    }
}

thread_local! {
    static CODE: Cell<Code> = const { Cell::new(Code::BuiltIn) };
}

/// The object to bind: called by the bindings, with the one that they were made of.
pub(crate) fn chosen(own: &'static [u8]) -> &'static [u8] {
    let built_in = || if has_old_verifier() { old() } else { own };
    CODE.get().bytes().unwrap_or_else(built_in)
}

/// The object for kernels that [have an old verifier](has_old_verifier).
fn old() -> &'static [u8] {
    const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/old.bpf.o.gz"));
    static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut object = Vec::new();
        GzDecoder::new(PACKED).read_to_end(&mut object).expect("the build has packed it");
        object
    });
    &OBJECT
}

/// Whether this kernel's verifier compares registers that nothing reads any more, as it does before 6.15: it
/// refuses the plain programs as too large.
fn has_old_verifier() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    is_before(&release, [6, 15])
}

/// Whether a release is older; one that is no release is not.
fn is_before(release: &str, version: [u32; 2]) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => [major, minor] < version,
        _ => false,
    }
}
