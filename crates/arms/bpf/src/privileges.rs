//! The privilege to put programs into the kernel, and nothing beyond it.

use caps::errors::CapsError;
use caps::{CapSet, Capability, CapsHashSet};
use model::Failure;

/// What putting programs into the kernel takes.
const PROGRAMS: [Capability; 2] = [Capability::CAP_BPF, Capability::CAP_PERFMON];
/// What giving another process's threads a scheduling class takes.
pub const CLASSES: Capability = Capability::CAP_SYS_NICE;
/// What looking at the sockets of other users' processes takes.
pub const SOCKETS: Capability = Capability::CAP_SYS_PTRACE;
/// What writing into another user's folder takes.
pub const FILES: Capability = Capability::CAP_DAC_OVERRIDE;

/// Gives up, in this thread and those that it starts, all capabilities but those that programs in the kernel
/// take, and `more`. [`Failure::Machine`] if the kernel refuses.
pub fn keep_least(more: &[Capability]) -> Result<(), Failure> {
    give_up(more)
        .map_err(|error| Failure::Machine(format!("capabilities cannot be given up: {error}")))
}

fn give_up(more: &[Capability]) -> Result<(), CapsError> {
    let effective = caps::read(None, CapSet::Effective)?;
    let mut wanted: CapsHashSet = PROGRAMS.iter().chain(more).copied().collect();
    if !PROGRAMS.iter().all(|capability| effective.contains(capability)) {
        wanted.insert(Capability::CAP_SYS_ADMIN); // stands for both
    }
    // The bounding set is what execve may bring back.
    if effective.contains(&Capability::CAP_SETPCAP) {
        let supported = caps::runtime::thread_all_supported();
        supported.difference(&wanted).try_for_each(|c| caps::drop(None, CapSet::Bounding, *c))?;
    }
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        let kept = caps::read(None, set)?.intersection(&wanted).copied().collect();
        caps::set(None, set, &kept)?;
    }
    Ok(())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> CapsHashSet {
        let sets = [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted];
        sets.iter().flat_map(|set| caps::read(None, *set).unwrap()).collect()
    }

    /// In a thread of its own: capabilities are a thread's. The control is the set before.
    #[test]
    fn what_is_not_needed_is_given_up_for_good() {
        std::thread::spawn(|| {
            let before = held();
            keep_least(&[]).unwrap();
            let wanted: CapsHashSet = PROGRAMS.into_iter().collect();
            if before.is_superset(&wanted) {
                assert_eq!(held(), wanted);
                assert!(
                    before.len() <= wanted.len()
                        || caps::raise(None, CapSet::Effective, CLASSES).is_err()
                );
            }
            assert!(held().is_subset(&before));
        })
        .join()
        .unwrap();
    }
}
