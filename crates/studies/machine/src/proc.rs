//! Processes and threads, as /proc shows them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;

use crate::class::Class;
use crate::cpus::Cpus;
use crate::platform::Platform;

/// Threads of the kernel that may not be moved (`PF_NO_SETAFFINITY` of its sched.h).
const BOUND: u64 = 0x0400_0000;
/// Threads of the kernel (`PF_KTHREAD`).
const KERNEL: u64 = 0x0020_0000;

/// A thread or process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The parent process.
    pub parent: i32,
    /// Clock ticks from boot to its start: with the number, its identity.
    pub start: u64,
    /// `None`: a class that we do not put threads into.
    pub class: Option<Class>,
    flags: u64,
}

impl Task {
    /// A process, by its first thread; `None` once that has ended.
    pub fn of_process(platform: &dyn Platform, process: i32) -> Option<Task> {
        Task::parse(&platform.read(&format!("/proc/{process}/stat")).ok()?)
    }

    /// A thread; `None` once it has ended.
    pub fn of_thread(platform: &dyn Platform, process: i32, thread: i32) -> Option<Task> {
        Task::parse(&platform.read(&format!("/proc/{process}/task/{thread}/stat")).ok()?)
    }

    fn parse(stat: &str) -> Option<Task> {
        // The name in brackets may hold brackets and blanks; the state, field 3, follows it.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        // One that has ended, and whose parent has not asked yet, has nothing left to change.
        if matches!(field(3)?, "Z" | "X") {
            return None;
        }
        let (policy, priority) = (field(41)?.parse().ok()?, field(40)?.parse().ok()?);
        Some(Task {
            parent: field(4)?.parse().ok()?,
            start: field(22)?.parse().ok()?,
            class: Class::from_kernel(policy, priority, field(19)?.parse().ok()?),
            flags: field(9)?.parse().ok()?,
        })
    }

    /// Whether it is a thread of the kernel that may be moved to other CPUs.
    pub fn is_movable_kernel_thread(&self) -> bool {
        self.flags & KERNEL != 0 && self.flags & BOUND == 0
    }
}

/// All processes.
pub fn processes(platform: &dyn Platform) -> io::Result<Vec<i32>> {
    Ok(platform.list("/proc")?.iter().filter_map(|name| name.parse().ok()).collect())
}

/// The threads of a process; none, if it has ended.
pub fn threads(platform: &dyn Platform, process: i32) -> Vec<i32> {
    let names = platform.list(&format!("/proc/{process}/task")).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// These processes and all that descend from them.
pub fn families(platform: &dyn Platform, roots: &[i32]) -> io::Result<Vec<i32>> {
    let all = processes(platform)?;
    let parents: BTreeMap<i32, i32> = all
        .iter()
        .filter_map(|process| Some((*process, Task::of_process(platform, *process)?.parent)))
        .collect();
    let belongs = |process: &i32| {
        let mut at = *process;
        // A parent is always older, so there is no circle; numbers that were used again could make one.
        for _ in 0..parents.len() {
            if roots.contains(&at) {
                return true;
            }
            match parents.get(&at) {
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    Ok(parents.keys().copied().filter(belongs).collect())
}

/// The CPUs that a thread, or `self`, may use.
pub fn affinity(platform: &dyn Platform, thread: impl Display) -> Option<Cpus> {
    let status = platform.read(&format!("/proc/{thread}/status")).ok()?;
    Cpus::read_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

/// The cgroup (version 2) of a process, or of `self`: `/` or `/system.slice/web.service`.
pub fn group(platform: &dyn Platform, process: impl Display) -> Option<String> {
    let groups = platform.read(&format!("/proc/{process}/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(group.trim_end_matches(" (deleted)").to_string())
}

/// What tells this boot of the machine from others.
pub fn boot(platform: &dyn Platform) -> io::Result<String> {
    Ok(platform.read("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}
