//! The privilege to put programs into the kernel.

use caps::{CapSet, Capability};
use model::Failure;

/// Whether this process may put programs into the kernel; [`Failure::Machine`] with the remedy if not.
pub fn privileged(what: &str) -> Result<(), Failure> {
    let has = |capability| caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
    let all = has(Capability::CAP_SYS_ADMIN);
    if all || (has(Capability::CAP_BPF) && has(Capability::CAP_PERFMON)) {
        return Ok(());
    }
    Err(Failure::Machine(format!(
        "{what} takes privileges: run it with sudo (or give it CAP_BPF and CAP_PERFMON)"
    )))
}
