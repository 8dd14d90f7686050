//! How fast a CPU does a thread's work: its clock, what its siblings leave it, and how far the thread's
//! memory is.

use model::scenario::{Home, Machine, Mechanisms, Memory, Scenario};
use model::{CpuId, Nanos, ThreadId};

use super::frequency::Clocks;

/// Work done in a span, of what the CPU does at its best: a fraction of 65,536.
pub type Pace = u64;

/// At its best.
pub const NOMINAL: Pace = 1 << 16;

/// Longer than any run, as for threads that compute for ever.
const LONGEST: u128 = 1 << 62;

/// A pace from a share of the best, at least one part.
pub fn pace(share: f64) -> Pace {
    ((share * NOMINAL as f64).round() as u64).max(1)
}

/// Whether paces differ at all.
pub fn are_uneven(mechanisms: &Mechanisms) -> bool {
    mechanisms.frequency.is_some()
        || mechanisms.sibling_gain.is_some()
        || mechanisms.memory.is_some()
}

/// CPU time that was left at one pace, at another.
pub fn rescaled(left: Nanos, from: Pace, to: Pace) -> Nanos {
    Nanos((u128::from(left.0) * u128::from(from)).div_ceil(u128::from(to)).min(LONGEST) as u64)
}

/// What runs beside a thread, itself among it.
#[derive(Clone, Copy)]
pub struct Beside {
    /// Busy CPUs of its core.
    pub busy: usize,
    /// What those of its last-level cache ask of memory together, each at most [`NOMINAL`].
    pub demand: Pace,
}

/// What sets the pace of each thread on each CPU.
pub struct Paces {
    machine: Machine,
    /// The clocks, if they follow the load.
    pub clocks: Option<Clocks>,
    /// For each number of busy CPUs of a core, from none on, the pace of one of them.
    shared: Vec<Pace>,
    memory: Memory,
    /// For each program the share of its time for which it waits for memory.
    bounds: Vec<f64>,
    /// For each program that of its process.
    processes: Vec<usize>,
    /// For each thread its program, and where its memory lies once it has any.
    programs: Vec<usize>,
    homes: Vec<Option<u32>>,
    /// For each thread the CPU that its pace is of, and the pace.
    on: Vec<(Option<CpuId>, Pace)>,
}

impl Paces {
    /// Of a scenario; no thread runs.
    pub fn new(scenario: &Scenario) -> Paces {
        let mechanisms = &scenario.mechanisms;
        let machine = scenario.machine;
        let even = Memory { remote: 1.0, contention: 0.0, home: Home::Process };
        let all = scenario.programs.iter().enumerate();
        let programs: Vec<usize> =
            all.flat_map(|(index, p)| (0..p.kind.threads()).map(move |_| index)).collect();
        let clocks = mechanisms.frequency.as_ref();
        Paces {
            machine,
            clocks: clocks.map(|frequency| Clocks::new(frequency, machine.cpus)),
            shared: shared(mechanisms.sibling_gain.unwrap_or(1.0), machine.smt),
            memory: mechanisms.memory.unwrap_or(even),
            bounds: scenario.programs.iter().map(|p| p.memory.bound).collect(),
            processes: scenario.processes(),
            homes: vec![None; programs.len().max(scenario.programs.len())],
            on: vec![(None, NOMINAL); programs.len()],
            programs,
        }
    }

    fn node(&self, cpu: CpuId) -> u32 {
        cpu.0 / (self.machine.cpus / self.machine.nodes)
    }

    /// A thread takes a CPU: the first one of its process, or its own first, has the node of its memory.
    pub fn settle(&mut self, thread: ThreadId, cpu: CpuId) {
        let node = self.node(cpu);
        let at = self.home_of(thread);
        self.homes[at].get_or_insert(node);
    }

    fn home_of(&self, thread: ThreadId) -> usize {
        match self.memory.home {
            Home::Process => self.processes[self.programs[thread.index()]],
            Home::Thread => thread.index(),
        }
    }

    /// The pace of a thread on a CPU.
    pub fn of(&self, thread: ThreadId, cpu: CpuId, beside: Beside) -> Pace {
        let clock = self.clocks.as_ref().map_or(NOMINAL, |clocks| clocks.of(cpu));
        let memory = self.of_memory(thread, cpu, beside.demand - self.demand(thread));
        (clock * self.shared[beside.busy] / NOMINAL * memory / NOMINAL).max(1)
    }

    /// What memory leaves of it: the part of the time that is waiting for memory takes as much longer as an
    /// access does.
    fn of_memory(&self, thread: ThreadId, cpu: CpuId, others: Pace) -> Pace {
        let is_away = self.homes[self.home_of(thread)].is_some_and(|home| home != self.node(cpu));
        let distance = if is_away { self.memory.remote } else { 1.0 };
        let crowd = others as f64 / NOMINAL as f64;
        let latency = distance * (1.0 + self.memory.contention * crowd);
        let bound = self.bounds[self.programs[thread.index()]];
        pace(1.0 / (1.0 + bound * (latency - 1.0)))
    }

    /// What a thread asks of the caches and memory that it shares while it runs: [`NOMINAL`] if it does
    /// nothing else.
    pub fn demand(&self, thread: ThreadId) -> Pace {
        (self.bounds[self.programs[thread.index()]] * NOMINAL as f64).round() as Pace
    }

    /// Whether threads feel what others ask of a cache.
    pub fn are_contended(&self) -> bool {
        self.memory.contention > 0.0
    }

    /// The pace that a thread has, and the CPU that it is of.
    pub fn current(&self, thread: ThreadId) -> (Option<CpuId>, Pace) {
        self.on[thread.index()]
    }

    /// It has another from now on.
    pub fn set(&mut self, thread: ThreadId, on: Option<CpuId>, pace: Pace) {
        self.on[thread.index()] = (on, pace);
    }
}

/// Each busy sibling beyond the first adds `gain` to the core's throughput, which all of them share.
fn shared(gain: f64, siblings: u32) -> Vec<Pace> {
    let one = |busy: u32| match busy {
        0 | 1 => NOMINAL,
        _ => pace((1.0 + gain * f64::from(busy - 1)) / f64::from(busy)),
    };
    (0..=siblings).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_siblings_share_the_gain_of_the_second() {
        let share = |gain, busy: usize| shared(gain, 4)[busy] as f64 / NOMINAL as f64;
        assert_eq!([share(0.25, 1), share(0.25, 2), share(0.0, 4)], [1.0, 0.625, 0.25]);
        assert_eq!(share(1.0, 4), 1.0, "the control: siblings that do not slow each other");
    }

    #[test]
    fn time_that_is_left_grows_as_the_pace_falls_and_never_vanishes() {
        let half = NOMINAL / 2;
        assert_eq!(rescaled(Nanos(1_000), NOMINAL, half), Nanos(2_000));
        assert_eq!(rescaled(Nanos(1), half, NOMINAL), Nanos(1));
        assert_eq!(rescaled(Nanos::ZERO, half, NOMINAL), Nanos::ZERO);
        assert_eq!(rescaled(Nanos(1 << 62), NOMINAL, half), Nanos(1 << 62));
    }
}
