//! Load balancing between CPUs: when it is tried. What it finds and moves is in the modules below.
//!
//! A pass takes no time here, so a CPU that falls idle is never too short of time to look for work (the
//! kernel compares its `avg_idle` with the cost of past passes, microseconds both).

mod imbalance;
mod newidle;
mod pull;
mod survey;

use model::scenario::Machine;
use model::seed::derive;
use model::{CpuId, Nanos};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Fair;
use super::average::Average;
use super::domains::{Level, levels};
use super::timeline::Timeline;
use super::tree::Tree;
use super::tunables::TICK;
use crate::core::Core;
use newidle::Yield;

/// How much rarer a busy CPU balances than an idle one (`busy_factor`).
const BUSY_FACTOR: u64 = 16;

/// Why a CPU balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idleness {
    /// It has work (`CPU_NOT_IDLE`).
    Busy,
    /// It has none (`CPU_IDLE`).
    Idle,
    /// It just ran out (`CPU_NEWLY_IDLE`).
    NewlyIdle,
}

/// When a CPU balanced over one level, and how that went.
#[derive(Clone, Debug)]
struct Rhythm {
    /// The last attempt, in ticks since the start.
    last: u64,
    /// Milliseconds between attempts while idle: the CPUs of the domain, up to twice as many
    /// (`balance_interval`).
    interval_ms: u64,
    /// Attempts in a row that moved nothing (`nr_balance_failed`).
    failed: u32,
    found: Yield,
}

/// A running thread that is to leave: to which CPU, on behalf of which level (`push_cpu`).
type Push = Option<(CpuId, usize)>;

/// What balancing remembers.
pub struct Balancer {
    /// The levels of the machine.
    pub levels: Vec<Level>,
    /// Moves so far.
    pub pulls: u64,
    rhythms: Vec<Vec<Rhythm>>,
    next: Vec<u64>,
    next_idle: u64,
    push: Vec<Push>,
    /// Whether any CPU has two threads, as far as the last look at all of them or a second thread since told
    /// (`rd->overload`).
    pub overload: bool,
    /// For each cache, how many CPUs a waker looks at for an idle one (`nr_idle_scan`).
    idle_tries: Vec<u32>,
    longest: u64,
    random: Xoshiro256PlusPlus,
}

impl Balancer {
    /// Nothing balanced yet.
    pub fn new(machine: &Machine, seed: u64) -> Balancer {
        let levels = levels(machine);
        let rhythm = |level: &Level| Rhythm {
            last: 0,
            interval_ms: u64::from(level.span),
            failed: 0,
            found: Yield::default(),
        };
        let rhythms: Vec<Rhythm> = levels.iter().map(rhythm).collect();
        let cpus = machine.cpus as usize;
        Balancer {
            levels,
            pulls: 0,
            rhythms: vec![rhythms; cpus],
            next: vec![0; cpus],
            next_idle: 0,
            push: vec![None; cpus],
            overload: false,
            idle_tries: vec![0; machine.llcs as usize],
            // max_load_balance_interval: a tenth of a second for each CPU.
            longest: (u64::from(machine.cpus) * 100_000_000 / TICK.0).max(1),
            random: Xoshiro256PlusPlus::seed_from_u64(derive(seed, &[u64::MAX, 1])),
        }
    }

    /// How many CPUs of a cache a waker looks at for an idle one.
    pub fn idle_tries(&self, llc: u32) -> u32 {
        self.idle_tries[llc as usize]
    }

    /// A random CPU.
    pub fn any_cpu(&mut self, cpus: u32) -> CpuId {
        CpuId(self.random.random_range(0..cpus))
    }

    /// A CPU without work balances as often as idle ones do, counted from when it last did
    /// (`update_next_balance()`).
    fn bring_forward(&mut self, cpu: CpuId, level: usize) {
        let due = self.rhythms[cpu.index()][level].last + self.interval(cpu, level, false);
        let next = &mut self.next[cpu.index()];
        *next = due.min(*next);
    }

    /// Ticks between two attempts (`get_sd_balance_interval()`).
    fn interval(&self, cpu: CpuId, level: usize, busy: bool) -> u64 {
        let factor = if busy { BUSY_FACTOR } else { 1 };
        let span_ms = self.rhythms[cpu.index()][level].interval_ms * factor;
        let ticks = (span_ms * 1_000_000).div_ceil(TICK.0);
        // A tick less for the busy, so that levels do not fall on the same tick.
        let ticks = if busy { ticks - 1 } else { ticks };
        ticks.clamp(1, self.longest)
    }
}

fn ticks(now: Nanos) -> u64 {
    now.0 / TICK.0
}

impl<T: Timeline> Fair<T> {
    /// The timer tick of a busy CPU: its own levels where they are due, and a look after the idle CPUs, which
    /// have no ticks (`sched_balance_trigger()`, `nohz_balancer_kick()`).
    pub(super) fn balance_at_tick(&mut self, core: &mut Core, cpu: CpuId) {
        if self.balancer.levels.is_empty() {
            return;
        }
        let now = ticks(core.now);
        if now >= self.balancer.next[cpu.index()] {
            self.balance_levels(core, cpu, Idleness::Busy);
        }
        if now >= self.balancer.next_idle && self.should_help_idle(core, cpu) {
            self.balance_idle(core);
        }
    }

    /// Two threads here, or another busy CPU under the same cache.
    fn should_help_idle(&self, core: &Core, cpu: CpuId) -> bool {
        let llc_cpus = core.machine.cpus / core.machine.llcs;
        let mut neighbours = super::domains::block(cpu, llc_cpus).map(CpuId);
        core.idle.first().is_some()
            && (self.tree.root(cpu).runnable + u32::from(core.runs_realtime(cpu)) > 1
                || neighbours.any(|other| other != cpu && !core.idle.contains(other)))
    }

    /// Balances for every idle CPU that is due (`nohz_idle_balance()`).
    fn balance_idle(&mut self, core: &mut Core) {
        let now = ticks(core.now);
        let mut soonest = now + 250;
        let mut from = 0;
        while let Some(cpu) = core.idle.first_in(from..core.machine.cpus) {
            if now >= self.balancer.next[cpu.index()] {
                self.balance_levels(core, cpu, Idleness::Idle);
            }
            soonest = soonest.min(self.balancer.next[cpu.index()]);
            from = cpu.0 + 1;
        }
        self.balancer.next_idle = soonest;
    }

    /// One CPU's levels, smallest first, each when its interval has passed (`sched_balance_domains()`).
    fn balance_levels(&mut self, core: &mut Core, cpu: CpuId, idleness: Idleness) {
        let now = ticks(core.now);
        let mut idleness = idleness;
        let mut next = now + 250;
        for level in 0..self.balancer.levels.len() {
            let busy = idleness == Idleness::Busy;
            let interval = self.balancer.interval(cpu, level, busy);
            let last = self.balancer.rhythms[cpu.index()][level].last;
            let due = now >= last + interval;
            let turn = !due || self.is_balancer(core, cpu, level, idleness);
            if due {
                if turn && self.balance(core, cpu, level, idleness) > 0 {
                    idleness = Idleness::Busy;
                }
                self.balancer.rhythms[cpu.index()][level].last = now;
            }
            let interval = self.balancer.interval(cpu, level, idleness == Idleness::Busy);
            next = next.min(self.balancer.rhythms[cpu.index()][level].last + interval);
            if !turn {
                break;
            }
        }
        self.balancer.next[cpu.index()] = next;
    }

    /// Whether a CPU balances for its part of a domain: the first idle one, or else the first
    /// (`should_we_balance()`).
    fn is_balancer(&self, core: &Core, cpu: CpuId, level: usize, idleness: Idleness) -> bool {
        let part = self.balancer.levels[level].part(cpu);
        idleness == Idleness::NewlyIdle
            || core.idle.first_in(part.clone()).unwrap_or(CpuId(part.start)) == cpu
    }
}

impl<T: Timeline> Tree<T> {
    /// One of the averages of a CPU at `now`.
    pub fn level(&mut self, now: Nanos, cpu: CpuId, signal: usize) -> u64 {
        self.root_average(now, cpu).mean(signal, 1)
    }

    /// The averages of a CPU at `now`.
    pub(super) fn root_average(&mut self, now: Nanos, cpu: CpuId) -> &Average {
        let root = self.queue_of(cpu, None);
        let queue = &mut self.queues[root.0 as usize];
        queue.average.advance(now, queue.levels());
        &queue.average
    }
}
