//! A look at the parts of a domain: how much each has to do (`update_sd_lb_stats()`).

use std::ops::Range;

use model::{CpuId, Nanos};

use super::super::Fair;
use super::super::average::{LOAD, RUNNABLE, RUNNING};
use super::super::timeline::Timeline;
use super::Idleness;
use crate::core::Core;

/// The capacity of one CPU in the averages' terms.
pub const CAPACITY: u64 = 1024;

/// How short of CPUs a part is, least first (`enum group_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// More could run.
    #[default]
    Spare,
    /// All CPUs have work, none has much too much.
    Full,
    /// More wants to run than fits.
    Overloaded,
}

/// One part of a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its CPUs.
    pub cpus: Range<u32>,
    /// Threads on its queues (`sum_nr_running`).
    pub threads: u32,
    /// Those of them that want to run (`sum_h_nr_running`).
    pub awake: u32,
    /// CPUs without work.
    pub idle: u32,
    /// The sum of its loads.
    pub load: u64,
    /// Of its capacity, what is used.
    pub used: u64,
    /// The sum of its runnable averages.
    pub runnable: u64,
    /// Whether one of its CPUs has two threads.
    pub crowded: bool,
    /// How short it is.
    pub pressure: Pressure,
}

impl Part {
    /// How many CPUs it has.
    pub fn size(&self) -> u32 {
        self.cpus.end - self.cpus.start
    }

    /// The capacity of its CPUs.
    pub fn capacity(&self) -> u64 {
        u64::from(self.size()) * CAPACITY
    }

    /// Load for each CPU (`avg_load`).
    pub fn density(&self) -> u64 {
        self.load * CAPACITY / self.capacity()
    }

    /// `group_is_overloaded()` and `group_has_capacity()`.
    fn classify(&self, imbalance_pct: u64) -> Pressure {
        let used_up = self.capacity() * 100 < self.used * imbalance_pct;
        let wanted = self.capacity() * imbalance_pct < self.runnable * 100;
        let roomy = self.capacity() * 100 > self.used * imbalance_pct;
        if self.threads > self.size() && (used_up || wanted) {
            Pressure::Overloaded
        } else if self.threads < self.size() || (!wanted && roomy) {
            Pressure::Spare
        } else {
            Pressure::Full
        }
    }

    /// Whether it is a better part to take from than `other` (`update_sd_pick_busiest()`).
    fn is_busier(&self, other: &Part) -> bool {
        if self.pressure != other.pressure {
            return self.pressure > other.pressure;
        }
        match self.pressure {
            Pressure::Overloaded => self.density() > other.density(),
            // All threads run; only to have somewhere to look.
            Pressure::Full => false,
            Pressure::Spare => (self.idle, other.threads) < (other.idle, self.threads),
        }
    }
}

/// A domain as one of its CPUs sees it.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The part around the CPU.
    pub local: Part,
    /// The other part that has most to give.
    pub busiest: Part,
    /// Load for each CPU of the domain.
    pub density: u64,
}

impl<T: Timeline> Fair<T> {
    /// Looks at a domain. `None`: no other part has a thread.
    pub(super) fn survey(
        &mut self,
        core: &Core,
        cpu: CpuId,
        level: usize,
        idleness: Idleness,
    ) -> Option<Survey> {
        let shape = self.balancer.levels[level].clone();
        let (mut local, mut busiest) = (Part::default(), None::<Part>);
        let (mut load, mut used, mut crowded) = (0, 0, false);
        for start in shape.domain(cpu).step_by(shape.part as usize) {
            let cpus = start..start + shape.part;
            let part = self.look_at(core, cpus.clone(), shape.imbalance_pct);
            load += part.load;
            used += part.used;
            crowded |= part.crowded;
            if cpus.contains(&cpu.0) {
                local = part;
            } else if part.awake > 0 && busiest.as_ref().is_none_or(|other| part.is_busier(other)) {
                busiest = Some(part);
            }
        }
        let llc_cpus = core.machine.cpus / core.machine.llcs;
        if idleness != Idleness::NewlyIdle && shape.span == llc_cpus {
            let tries = idle_tries(used, shape.span, shape.imbalance_pct);
            self.balancer.idle_tries[core.machine.llc_of(cpu) as usize] = tries;
        }
        if shape.span == core.machine.cpus {
            self.balancer.overload = crowded;
        }
        let density = load / u64::from(shape.span);
        busiest.map(|busiest| Survey { local, busiest, density })
    }

    fn look_at(&mut self, core: &Core, cpus: Range<u32>, imbalance_pct: u64) -> Part {
        let mut part = Part { cpus: cpus.clone(), ..Part::default() };
        for cpu in cpus.map(CpuId) {
            let root = self.tree.root(cpu);
            part.threads += root.queued;
            part.awake += root.runnable;
            part.crowded |= root.queued > 1;
            part.idle += u32::from(core.idle.contains(cpu));
            part.load += self.load(core.now, cpu);
            part.used += self.used(core.now, cpu);
            part.runnable += self.tree.level(core.now, cpu, RUNNABLE);
        }
        part.pressure = part.classify(imbalance_pct);
        part
    }

    /// The load of a CPU, sleepers of late included.
    pub(super) fn load(&mut self, now: Nanos, cpu: CpuId) -> u64 {
        self.tree.level(now, cpu, LOAD)
    }

    /// How much of a CPU's capacity is used.
    pub(super) fn used(&mut self, now: Nanos, cpu: CpuId) -> u64 {
        self.tree.level(now, cpu, RUNNING).min(CAPACITY)
    }
}

/// How many CPUs a waker looks at: fewer the busier the cache, none from about 85% on
/// (`update_idle_cpu_scan()`).
fn idle_tries(used: u64, cpus: u32, imbalance_pct: u64) -> u32 {
    let mean = used / u64::from(cpus);
    let busy = mean * mean * imbalance_pct * imbalance_pct / (10_000 * CAPACITY);
    (CAPACITY.saturating_sub(busy) * u64::from(cpus) / CAPACITY) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(threads: u32, used: u64, runnable: u64) -> Part {
        let mut part = Part { cpus: 0..2, threads, used, runnable, ..Part::default() };
        part.pressure = part.classify(117);
        part
    }

    #[test]
    fn pressure_needs_threads_and_time() {
        assert_eq!(part(1, 2048, 2048).pressure, Pressure::Spare);
        assert_eq!(part(2, 2048, 2048).pressure, Pressure::Full);
        assert_eq!(part(3, 2048, 3072).pressure, Pressure::Overloaded);
        assert_eq!(part(3, 900, 1000).pressure, Pressure::Spare);
    }

    #[test]
    fn the_busiest_has_most_load_or_fewest_idle_cpus() {
        let heavy = Part { load: 3_000, ..part(3, 2048, 3072) };
        assert!(heavy.is_busier(&Part { load: 2_000, ..heavy.clone() }));
        assert!(!heavy.is_busier(&heavy.clone()) && heavy.is_busier(&part(2, 2048, 2048)));
        let spare = part(1, 100, 100);
        assert!(spare.is_busier(&Part { idle: 1, ..spare.clone() }));
    }

    #[test]
    fn wakers_stop_looking_at_85_percent() {
        assert_eq!(idle_tries(0, 4, 117), 4);
        assert_eq!(idle_tries(4 * 512, 4, 117), 2);
        assert_eq!(idle_tries(4 * 820, 4, 117), 0);
        assert_eq!(idle_tries(64 * 820, 64, 117), 7);
    }
}
