//! What a kernel must have before a policy can be loaded, asked before anything is changed.

use std::fs;

use bpf::privileged;
use model::Failure;

/// Says whether this kernel and this process can load a policy now; [`Failure::Machine`] with the remedy if
/// not.
pub fn ready() -> Result<(), Failure> {
    has_sched_ext()?;
    privileged("loading a scheduler")?;
    match in_force()? {
        None => Ok(()),
        Some(name) => Err(Failure::Machine(format!(
            "the scheduler `{name}` is loaded already: end its program first (only one can be loaded at a time)"
        ))),
    }
}

/// The name of the sched_ext scheduler that is loaded, ours (`rearguard`, `rearguard_cts`) or another's;
/// `None` without one.
///
/// [`Failure::Machine`] where the kernel has no sched_ext.
pub fn in_force() -> Result<Option<String>, Failure> {
    has_sched_ext()?;
    sched_ext::loaded()
        .map_err(|error| Failure::Machine(format!("cannot read /sys/kernel/sched_ext: {error}")))
}

fn has_sched_ext() -> Result<(), Failure> {
    if sched_ext::exists() {
        return Ok(());
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Err(Failure::Machine(format!(
        "this kernel ({}) has no sched_ext: boot one of 6.12 or newer built with CONFIG_SCHED_CLASS_EXT, or try the \
         policy with `--on sim` or in `rearguard lab`",
        release.trim()
    )))
}
