//! What a kernel must have before a policy can be loaded, asked before anything is changed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use caps::{CapSet, Capability};
use model::Failure;

const SYSFS: &str = "/sys/kernel/sched_ext";

/// Says whether this kernel and this process can load a policy now; [`Failure::Machine`] with the remedy if not.
pub fn ready() -> Result<(), Failure> {
    has_sched_ext()?;
    privileged()?;
    match in_force()? {
        None => Ok(()),
        Some(name) => Err(Failure::Machine(format!(
            "the scheduler `{name}` is loaded already: end its program first (only one can be loaded at a time)"
        ))),
    }
}

/// The name of the sched_ext scheduler that is in force, ours (`rearguard`, `rearguard_cts`) or another's; `None` without one.
///
/// [`Failure::Machine`] where the kernel has no sched_ext.
pub fn in_force() -> Result<Option<String>, Failure> {
    has_sched_ext()?;
    let state = read("state")?.unwrap_or_default();
    // `root/ops` vanishes between the two questions if the scheduler does.
    match read("root/ops")? {
        Some(name) if state != "disabled" => Ok(Some(name)),
        _ => Ok(None),
    }
}

fn has_sched_ext() -> Result<(), Failure> {
    if Path::new(SYSFS).is_dir() {
        return Ok(());
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Err(Failure::Machine(format!(
        "this kernel ({}) has no sched_ext: boot one of 6.12 or newer built with CONFIG_SCHED_CLASS_EXT, or try the \
         policy with `--on sim` or in `rearguard lab`",
        release.trim()
    )))
}

fn privileged() -> Result<(), Failure> {
    let has = |capability| caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
    let all = has(Capability::CAP_SYS_ADMIN);
    if all || (has(Capability::CAP_BPF) && has(Capability::CAP_PERFMON)) {
        return Ok(());
    }
    Err(Failure::Machine(
        "loading a scheduler takes privileges: run it with sudo (or give it CAP_BPF and CAP_PERFMON)".into(),
    ))
}

/// A file of sched_ext, `None` where there is none at present.
fn read(name: &str) -> Result<Option<String>, Failure> {
    match fs::read_to_string(Path::new(SYSFS).join(name)) {
        Ok(text) => Ok(Some(text.trim().to_string())),
        // ENODEV: it went while we opened it.
        Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(19) => {
            Ok(None)
        }
        Err(error) => Err(Failure::Machine(format!("cannot read {SYSFS}/{name}: {error}"))),
    }
}
