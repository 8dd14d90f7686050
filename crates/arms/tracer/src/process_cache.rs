//! What threads are: process, name, group. Looked up while they live.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use bpf::now;
use cgroup::Names;
use model::event::Process;
use model::{CpuId, Nanos, printable};
use nix::time::ClockId;

use super::lives::{Lives, TICK, Told, is_same, number_of};
use super::recording::Seen;

/// Set in the number of a thread that is outside of this process's PID namespace: /proc does not know it.
const OUTSIDE: u32 = 1 << 31;
/// The flag of the kernel's own threads (include/linux/sched.h), as /proc/PID/stat shows flags.
const PF_KTHREAD: u32 = 0x0020_0000;
/// That of a process that was forked and has become no program of its own since (exec).
const PF_FORKNOEXEC: u32 = 0x0000_0040;

/// What /proc says of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessInfo {
    /// The process.
    pub process: u32,
    /// The process's name.
    pub name: String,
    /// The path of its group (cgroup), without the leading `/`; empty: the root.
    pub group: String,
    /// The unit, container or pod that it belongs to, or the kernel, where that is known.
    pub owner: Option<String>,
    /// The CPUs that it may run on when it was met.
    pub cpus: Vec<CpuId>,
    /// Where the process comes from.
    pub origin: Origin,
}

/// Where a process comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The process that started it, or that it was given to when that one ended; 0: unknown.
    pub parent: u32,
    /// Whether it is still the program of its parent (fork without exec).
    pub is_fork: bool,
}

/// What the kernel's own threads belong to.
const KERNEL: &str = "the kernel";

impl ProcessInfo {
    /// Whether it is of the kernel.
    pub fn is_kernels(&self) -> bool {
        self.owner.as_deref() == Some(KERNEL)
    }

    /// A process that one of its threads forked.
    pub fn forked(self, process: u32) -> ProcessInfo {
        let origin = Origin { parent: self.process, is_fork: true };
        ProcessInfo { process, origin, ..self }
    }

    /// What there is to say of a thread's process; `None`: it ended before the lookup.
    pub fn process(info: Option<&ProcessInfo>, thread: u32) -> Process {
        match info {
            Some(info) => Process {
                name: format!("{}[{}]", info.name, info.process),
                group: Some(info.group.clone()).filter(|group| !group.is_empty()),
                owner: info.owner.clone(),
                descends: false,
            },
            None => {
                let what = if thread & OUTSIDE != 0 { "outside" } else { "thread" };
                let name = format!("{what}[{}]", number_of(thread));
                Process { name, group: None, owner: None, descends: false }
            }
        }
    }
}

/// Every thread that was looked up, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessCache {
    pub lives: BTreeMap<u32, Lives>,
    /// Where processes come from that started others, and may have had no CPU themselves.
    pub ancestors: BTreeMap<u32, Origin>,
    /// Threads that are looked up again: after how many looks, and how many are left until then.
    young: BTreeMap<u32, (u32, u32)>,
    /// What their groups are.
    names: Names,
}

/// A thread is looked up again after 1, 3, 7, 15 and 31 looks: most programs that are started take the place
/// of their starter (exec) in that time.
const LAST_WAIT: u32 = 16;

impl ProcessCache {
    /// Looks up the thread that was seen, if it is new. The number of one that ended may be given again.
    pub fn note(&mut self, seen: &Seen) {
        if self.lives.entry(seen.thread).or_default().note(seen) {
            self.look_up(seen.thread);
            self.young.insert(seen.thread, (1, 1));
        }
    }

    /// Looks up again those that are new.
    pub fn look_again(&mut self) {
        let mut due = Vec::new();
        self.young.retain(|thread, (wait, left)| {
            *left -= 1;
            if *left > 0 {
                return true;
            }
            due.push(*thread);
            (*wait, *left) = (2 * *wait, 2 * *wait);
            *wait <= LAST_WAIT
        });
        due.into_iter().for_each(|thread| self.look_up(thread));
    }

    /// Looks up a thread, again if it is known: a program may have put another in its place (exec). One that
    /// has ended stays as it was.
    pub fn look_up(&mut self, thread: u32) {
        if thread == 0 || thread & OUTSIDE != 0 {
            return;
        }
        let (Ok(at), Some(started)) = (now(), started(thread)) else { return };
        let Some(info) = self.read(thread) else { return };
        // The number may have been given to another thread meanwhile.
        if self::started(thread).is_some_and(|again| is_same(again, started)) {
            self.lives.entry(thread).or_default().tell(Told { at, started, info });
        }
    }

    /// What /proc says of the thread that has a number now.
    fn read(&mut self, thread: u32) -> Option<ProcessInfo> {
        let status = text(thread, "status")?;
        let fact = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let process = fact("Tgid:").and_then(|id| id.trim().parse().ok())?;
        let cpus = fact("Cpus_allowed_list:").and_then(cpus).unwrap_or_default();
        let (flags, origin) = stat(process)?;
        let groups = text(process, "cgroup").unwrap_or_default();
        let group = printable(group_of(&groups));
        let is_kernels = flags & PF_KTHREAD != 0;
        let owner = if is_kernels { Some(KERNEL.to_string()) } else { self.owner(&groups) };
        self.climb(origin.parent);
        let name = printable(text(process, "comm").unwrap_or_default().trim());
        Some(ProcessInfo { process, name, group, owner, cpus, origin })
    }

    /// Looks up where a process comes from, and its parent, and so on, once each.
    fn climb(&mut self, mut process: u32) {
        while process > 1 && !self.ancestors.contains_key(&process) {
            let Some((_, origin)) = stat(process) else { return };
            self.ancestors.insert(process, origin);
            process = origin.parent;
        }
    }

    fn owner(&mut self, groups: &str) -> Option<String> {
        self.names.of(units_of(groups)).map(ToString::to_string)
    }
}

/// The flags of a process, and where it comes from.
fn stat(process: u32) -> Option<(u32, Origin)> {
    let stat = text(process, "stat")?;
    // The name may have spaces and brackets in it.
    let field =
        |at: usize| stat.rsplit_once(')')?.1.split_whitespace().nth(at)?.parse::<u32>().ok();
    let (parent, flags) = (field(1)?, field(6)?);
    let program = |one: u32| fs::read_link(format!("/proc/{one}/exe")).ok();
    // One that was given to another process is no fork of that.
    let is_same = || program(process).is_some_and(|own| program(parent) == Some(own));
    Some((flags, Origin { parent, is_fork: flags & PF_FORKNOEXEC != 0 && is_same() }))
}

/// A file of /proc. A name may be no UTF-8.
fn text(id: u32, what: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{id}/{what}")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// When the thread that has a number now was started, on the clock of records.
fn started(thread: u32) -> Option<Nanos> {
    let stat = text(thread, "stat")?;
    // The name may have spaces and brackets in it; the 22nd field is the moment.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let clock = |clock: ClockId| clock.now().map(Duration::from);
    // What the machine slept is in the moment and not in records.
    let awake = clock(ClockId::CLOCK_MONOTONIC).ok()?;
    let slept = clock(ClockId::CLOCK_BOOTTIME).ok()?.saturating_sub(awake);
    Some(Nanos(ticks.saturating_mul(TICK.0)).saturating_sub(Nanos(slept.as_nanos() as u64)))
}

/// A list of the kernel's, such as `0-3,8`; `None` where it is not one.
fn cpus(list: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        cpus.extend(CpuId::range(range)?.map(CpuId));
    }
    Some(cpus)
}

/// The group that shares CPU time: of version 2 of groups, or where that is the root, of the first version's
/// cpu controller.
fn group_of(text: &str) -> &str {
    below_the_root(text, &["", "cpu"])
}

/// The group that says what a process belongs to: where version 2 is the root, systemd has its units in a
/// hierarchy of its own.
fn units_of(text: &str) -> &str {
    below_the_root(text, &["", "name=systemd", "cpu"])
}

/// The first of these hierarchies in which a process is not at the root, by a controller (`cgroups(7)`); that
/// of version 2 has none.
fn below_the_root<'a>(text: &'a str, hierarchies: &[&str]) -> &'a str {
    let path = |wanted: &&str| {
        text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
            controllers.split(',').any(|one| one == *wanted).then_some(path)
        })
    };
    hierarchies.iter().filter_map(path).find(|path| !path.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Duration;

    use super::super::lives::tell_apart;
    use super::super::recording::{Kind, Starter};
    use super::*;

    /// The shell is met, and another program takes its place.
    #[test]
    fn a_program_that_takes_the_place_of_its_starter_is_met_by_its_own_name() {
        let shell = Command::new("sh").args(["-c", "sleep 0.3; exec sleep 60"]).spawn();
        let mut shell = shell.expect("it is everywhere");
        let mut cache = ProcessCache::default();
        let thread = shell.id();
        let by = Starter { thread: 1, is_same_process: false };
        let kind = Kind::Wake { target: 0, throttled_by: None, started_by: Some(by) };
        let mut seen = [Seen { at: crate::now().expect("a clock"), cpu: 0, thread, kind }];
        cache.note(&seen[0]);
        let mut name =
            |cache: &ProcessCache| tell_apart(&mut seen, &cache.lives)[&thread].name.clone();
        let first = name(&cache);
        while std::fs::read_to_string(format!("/proc/{thread}/comm")).is_ok_and(|n| n != "sleep\n")
        {
            sleep(Duration::from_millis(10));
        }
        assert_ne!(first, "sleep", "the control: once is too early");
        (0..31).for_each(|_| cache.look_again());
        let second = name(&cache);
        assert!(cache.young.is_empty());
        shell.kill().and_then(|()| shell.wait()).expect("it is ours");
        cache.look_up(thread);
        assert_eq!((second.as_str(), name(&cache).as_str()), ("sleep", "sleep"));
    }

    #[test]
    fn a_list_of_cpus_is_read_whole_or_not_at_all() {
        assert_eq!(cpus("\t0-2,8\n"), Some([0, 1, 2, 8].map(CpuId).to_vec()));
        assert_eq!(cpus("\n"), Some(Vec::new()));
        assert_eq!(cpus("0-x"), None);
    }

    #[test]
    fn a_group_is_known_in_both_versions() {
        assert_eq!(group_of("0::/system.slice/a.service\n"), "system.slice/a.service");
        assert_eq!(group_of("4:cpu,cpuacct:/limited\n1:cpuset:/x\n0::/\n"), "limited");
        assert_eq!(group_of("1:cpuset:/x\n0::/\n"), "");
    }

    #[test]
    fn a_unit_is_known_in_both_versions() {
        assert_eq!(units_of("0::/system.slice/a.service\n"), "system.slice/a.service");
        let hybrid = "9:name=systemd:/system.slice/a.service\n4:cpu,cpuacct:/system.slice\n0::/\n";
        assert_eq!(units_of(hybrid), "system.slice/a.service");
        assert_eq!(units_of("9:name=systemd:/\n4:cpu:/docker/x\n0::/\n"), "docker/x");
        assert_eq!(units_of("1:cpuset:/x\n0::/\n"), "");
    }

    #[test]
    fn threads_of_the_kernel_are_told_from_others() {
        // kthreadd has the number 2 in the first namespace, and in no other.
        let is_kernels = |id| stat(id).is_some_and(|(flags, _)| flags & PF_KTHREAD != 0);
        if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
            assert!(is_kernels(2));
        }
        assert!(!is_kernels(std::process::id()), "the control");
    }
}
