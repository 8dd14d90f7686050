//! This machine: its kernel, its CPUs, and which of them a run uses.

use std::fs;

use model::Nanos;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::utsname::uname;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// /proc/stat counts in hundredths of a second on every Linux.
const TICK: Nanos = Nanos::from_millis(10);

/// A CPU and the core that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub id: usize,
    /// (Package, core); CPUs with the same one are SMT siblings.
    pub core: (u32, u32),
}

/// Which CPUs a run uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The generator's own.
    pub generator: usize,
    /// The scenario's, in ascending order.
    pub scenario: Vec<usize>,
}

impl Placement {
    /// The first CPU for the generator (interrupts arrive there, too) and `count` others for the scenario.
    /// Each is a core of its own, and not the generator's, as far as the machine has them. `None`: too few
    /// CPUs.
    pub fn choose(cpus: &[Cpu], count: usize) -> Option<Placement> {
        let (generator, others) = cpus.split_first()?;
        let thread_of_core = |cpu: &Cpu| {
            let earlier = others.iter().take_while(|other| other.id != cpu.id);
            earlier.filter(|other| other.core == cpu.core).count()
        };
        let mut others = others.to_vec();
        let rank = |cpu: &Cpu| (cpu.core == generator.core, thread_of_core(cpu), cpu.id);
        let mut ranked: Vec<_> = others.drain(..).map(|cpu| (rank(&cpu), cpu.id)).collect();
        ranked.sort_unstable();
        let mut scenario: Vec<usize> = ranked.get(..count)?.iter().map(|(_, id)| *id).collect();
        scenario.sort_unstable();
        Some(Placement { generator: generator.id, scenario })
    }
}

/// The CPUs that the calling thread may use.
pub fn cpus() -> Vec<Cpu> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_else(|_| CpuSet::new());
    let ids = (0..CpuSet::count()).filter(|&id| allowed.is_set(id).unwrap_or(false));
    ids.map(|id| Cpu { id, core: core_of(id) }).collect()
}

/// A machine that does not tell its topology is taken for one without SMT.
fn core_of(id: usize) -> (u32, u32) {
    let read = |what| -> Option<u32> {
        let path = format!("/sys/devices/system/cpu/cpu{id}/topology/{what}");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    read("physical_package_id").zip(read("core_id")).unwrap_or((u32::MAX, id as u32))
}

/// The kernel's release, `6.18.44`.
pub fn release() -> Option<String> {
    Some(uname().ok()?.release().to_str()?.to_string())
}

/// The processor's name.
pub fn cpu_model() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split(':').nth(1)?.trim().to_string())
}

/// The time that these CPUs have been idle since boot, to 10 ms a CPU; `None` where the kernel does not tell.
pub fn idle(cpus: &[usize]) -> Option<Nanos> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let ticks: u64 = cpus.iter().map(|&cpu| idle_ticks(&stat, cpu)).sum::<Option<u64>>()?;
    Some(Nanos(ticks * TICK.0))
}

/// Idle and waiting for I/O, which is idle too: the fourth and fifth number of a CPU's line.
fn idle_ticks(stat: &str, cpu: usize) -> Option<u64> {
    let name = format!("cpu{cpu}");
    let line = stat.lines().find(|line| line.split(' ').next() == Some(&name))?;
    let mut numbers = line.split_whitespace().skip(4).map(|number| number.parse::<u64>().ok());
    Some(numbers.next()?? + numbers.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cores: &[u32]) -> Vec<Cpu> {
        cores.iter().enumerate().map(|(id, &core)| Cpu { id, core: (0, core) }).collect()
    }

    #[test]
    fn the_scenario_gets_cores_of_its_own_where_there_are_enough() {
        let choose = |cores: &[u32], count| Placement::choose(&machine(cores), count);
        let scenario = |cores: &[u32], count| choose(cores, count).unwrap().scenario;
        assert_eq!(scenario(&[0, 1], 1), [1]);
        assert_eq!(scenario(&[0, 0, 1, 1, 2, 2], 2), [2, 4], "siblings are neighbours");
        assert_eq!(scenario(&[0, 1, 2, 0, 1, 2], 2), [1, 2], "siblings are far");
        assert_eq!(scenario(&[0, 0, 1, 1], 3), [1, 2, 3], "the generator's sibling comes last");
        assert_eq!(choose(&[0, 1], 2), None);
        assert_eq!(choose(&[], 1), None);
    }

    #[test]
    fn idle_time_is_read_from_the_right_line() {
        let stat = "cpu  9 9 9 9 9\ncpu1 1 2 3 40 5 6\ncpu10 1 1 1 700 1 1\n";
        assert_eq!(idle_ticks(stat, 1), Some(45));
        assert_eq!(idle_ticks(stat, 10), Some(701));
        assert_eq!(idle_ticks(stat, 2), None);
    }
}
