//! A look at the parts of a domain: how much each has to do (`update_sd_lb_stats()`).
//!
//! The kernel sums over every CPU. Here the counts of threads are at hand ([`super::super::census`]) and the
//! averages of a part are summed only where the decision can depend on them. A part with fewer threads than
//! CPUs has room at any load.

use std::ops::Range;

use model::{CpuId, Nanos};

use super::super::Fair;
use super::super::average::{LOAD, RUNNABLE, RUNNING};
use super::super::census::Count;
use super::super::domains::{Level, block};
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
    /// The sum of its loads; 0 unless it was looked at closely, like the two below.
    pub load: u64,
    /// Of its capacity, what is used.
    pub used: u64,
    /// The sum of its runnable averages.
    pub runnable: u64,
    /// Whether one of its CPUs has two threads.
    pub crowded: bool,
    /// CPUs that a real-time thread holds. They have no capacity for others (`scale_rt_capacity()`, whose
    /// average over time this stands for).
    pub held: u32,
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
        (u64::from(self.size() - self.held) * CAPACITY).max(1)
    }

    /// Whether it has fewer threads than CPUs: then [`Pressure::Spare`], whatever its averages.
    fn has_room(&self) -> bool {
        self.threads < self.size()
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
        } else if self.has_room() || (!wanted && roomy) {
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
        let llc_cpus = core.machine.cpus / core.machine.llcs;
        let for_wakers = idleness != Idleness::NewlyIdle && shape.span == llc_cpus;
        let mut local = self.look_at(core, level, shape.part(cpu), for_wakers);
        let (mut busiest, mut used, mut crowded) = (None::<Part>, 0, false);
        for start in shape.domain(cpu).step_by(shape.part as usize) {
            let is_local = start == local.cpus.start;
            let part = if is_local {
                local.clone()
            } else {
                self.look_at(core, level, start..start + shape.part, for_wakers)
            };
            used += part.used;
            crowded |= part.crowded;
            let mut cpus = part.cpus.clone().map(CpuId);
            let gives = !is_local && part.awake > 0 && cpus.any(|from| self.gives(core, from, cpu));
            if gives && busiest.as_ref().is_none_or(|other| part.is_busier(other)) {
                busiest = Some(part);
            }
        }
        if for_wakers {
            let tries = idle_tries(used, shape.span, shape.imbalance_pct);
            self.balancer.idle_tries[core.machine.llc_of(cpu) as usize] = tries;
        }
        if shape.span == core.machine.cpus {
            self.balancer.overload = crowded;
        }
        let busiest = busiest?;
        if busiest.pressure == Pressure::Overloaded {
            self.look_closely(core, level, &mut local);
        }
        Some(Survey { local, busiest })
    }

    /// Whether a CPU has a thread that may run on another. The kernel finds that out when it has chosen, and
    /// then chooses anew without that CPU (`LBF_ALL_PINNED`).
    pub(super) fn gives(&self, core: &Core, from: CpuId, to: CpuId) -> bool {
        !core.affinities.are_restricted()
            || self.threads.of_cpu(from).any(|thread| core.may_run_on(thread, to))
    }

    /// Load for each CPU of a domain: what a part that is short of CPUs would come down to.
    pub(super) fn density(&mut self, core: &Core, cpu: CpuId, level: usize) -> u64 {
        let Level { span, .. } = self.balancer.levels[level];
        let loads = block(cpu, span).map(|cpu| self.load(core.now, CpuId(cpu)));
        loads.sum::<u64>() / u64::from(span)
    }

    fn look_at(&mut self, core: &Core, level: usize, cpus: Range<u32>, closely: bool) -> Part {
        let Count { threads, awake, crowded } = self.tree.census.part(level, cpus.start);
        let idle = core.idle.count_in(cpus.clone());
        let of_realtime = cpus.clone().map(CpuId).filter(|&cpu| core.runs_realtime(cpu));
        let above = if core.has_realtime { of_realtime.count() as u32 } else { 0 };
        let crowded = crowded > 0 || (above > 0 && awake > 0);
        let (threads, held) = (threads + above, above);
        let mut part = Part { cpus, threads, awake, idle, crowded, held, ..Part::default() };
        if closely || !part.has_room() {
            self.look_closely(core, level, &mut part);
        }
        part
    }

    /// Sums the averages of a part.
    fn look_closely(&mut self, core: &Core, level: usize, part: &mut Part) {
        (part.load, part.used, part.runnable) = (0, 0, 0);
        for cpu in part.cpus.clone().map(CpuId) {
            let average = self.tree.root_average(core.now, cpu);
            part.load += average.mean(LOAD, 1);
            part.used += average.mean(RUNNING, 1).min(CAPACITY);
            part.runnable += average.mean(RUNNABLE, 1);
        }
        part.pressure = part.classify(self.balancer.levels[level].imbalance_pct);
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
