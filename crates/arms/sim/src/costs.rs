//! What the kernel's own work costs, as CPU time of the thread for which it is done.

use model::scenario::{Mechanisms, Migration};
use model::{CpuId, Nanos};

use crate::places::Place;

/// Costs of switching and moving threads. Any of them can be zero, which switches it off.
///
/// The migration costs are estimates of one rule, the time to fetch a hot set of 16 KiB (256 lines) anew; a
/// service with more state pays more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A CPU takes up another thread than the one it ran last: the mean. 1.35 us: measured values for threads
    /// pinned to one core lie between 1.2 and 1.5 us (E. Bendersky 2018, "Measuring context switching and
    /// memory overheads for Linux threads"); `perf bench sched pipe` measures it.
    pub switch: Nanos,
    /// From the cheapest to the dearest switch; each is drawn evenly between. 0.3 us, by the same source.
    /// Without it threads that do the same stay in step for ever, which no real machine does.
    pub switch_spread: Nanos,
    /// From the earliest to the latest that a CPU's timer interrupts it after the tick's moment. Each tick is
    /// drawn evenly. 2 us: nine tenths of 3,000 ticks on two CPUs came 1.0 to 3.2 us late
    /// (`hrtimer_expire_entry`, Linux 6.18 on a virtual AMD EPYC). No two in a row were alike. What all are
    /// late by changes nothing.
    pub tick_spread: Nanos,
    /// From the moment at which a tick looks at what the thread has received until the CPU chooses, where the
    /// tick asks it to. It is the rest of the interrupt and its softirqs, which the running thread pays. 4.3
    /// us is the mean of 1,206 such ticks, of which nine tenths took 2.2 to 8.6 us (`sched_stat_runtime`'s
    /// second event, the same machine). A turn that should end with a tick lasts until the next one
    /// therefore, if it began at a tick.
    pub tick: Nanos,
    /// The mean of the kernel's part of a request beside the switch: reading it, answering, going to sleep.
    /// 14 us is what the host arm's null RPC server takes beyond its service time (Tales section 3.2's
    /// amortised time), on Linux 6.18 on a virtual AMD EPYC. Each is drawn, exponentially: an assumption. No
    /// two requests cost a real kernel the same, and schedulers that go by what a thread received show it.
    pub request: Nanos,
    /// From a response until the request that waited for its connection is there. 20 us is after the 15 us in
    /// which a thread that has answered goes to sleep. It is the fast end of what a client on a CPU of its
    /// own takes over loopback: 22 to 63 us from 10% to 90% of 9,886 on a virtual AMD EPYC, 24 to 65 us in
    /// guests. A worker that gets it at once goes on, and does not queue again.
    pub turnaround: Nanos,
    /// Added when the thread ran last on an SMT sibling. 0: siblings share their caches (GVTS section 3.1).
    pub migrate_core: Nanos,
    /// Added when it ran last on another core of the same cache. 2.5 us: 256 lines at 10 ns, a hit in the
    /// shared cache of 40 ns with four under way.
    pub migrate_llc: Nanos,
    /// Added when it ran last under another cache of the same node. 6 us: 256 lines at 25 ns, a memory access
    /// of 100 ns with four under way.
    pub migrate_node: Nanos,
    /// Added when it ran last on another node. 10 us: 256 lines at 40 ns, a remote access of 160 ns.
    pub migrate_remote: Nanos,
}

impl Costs {
    /// The values that runs use unless told otherwise.
    pub const DEFAULT: Costs = Costs {
        switch: Nanos(1_350),
        switch_spread: Nanos(300),
        tick_spread: Nanos(2_000),
        tick: Nanos(4_300),
        request: Nanos(14_000),
        turnaround: Nanos(20_000),
        migrate_core: Nanos(0),
        migrate_llc: Nanos(2_500),
        migrate_node: Nanos(6_000),
        migrate_remote: Nanos(10_000),
    };

    /// A kernel whose work takes no time: for comparison with queueing theory.
    pub const NONE: Costs = Costs {
        switch: Nanos(0),
        switch_spread: Nanos(0),
        tick_spread: Nanos(0),
        tick: Nanos(0),
        request: Nanos(0),
        turnaround: Nanos(0),
        migrate_core: Nanos(0),
        migrate_llc: Nanos(0),
        migrate_node: Nanos(0),
        migrate_remote: Nanos(0),
    };

    /// The same costs without any that are drawn: for comparison with closed forms.
    pub const EXACT: Costs = Costs {
        switch_spread: Nanos(0),
        tick_spread: Nanos(0),
        request: Nanos(0),
        ..Costs::DEFAULT
    };

    /// With what a scenario says of its machine.
    pub fn on(self, mechanisms: &Mechanisms) -> Costs {
        let tick_spread = mechanisms.tick_late.unwrap_or(self.tick_spread);
        let request = mechanisms.request_cost.unwrap_or(self.request);
        let costs = Costs { tick_spread, request, ..self };
        let Some(Migration { core, llc, node, machine }) = mechanisms.migration else {
            return costs;
        };
        Costs {
            migrate_core: core,
            migrate_llc: llc,
            migrate_node: node,
            migrate_remote: machine,
            ..costs
        }
    }

    /// What one switch costs, by a lot below 2^32.
    pub fn switch(&self, random: u32) -> Nanos {
        let drawn = drawn(self.switch_spread, random).0;
        Nanos((self.switch.0 + drawn).saturating_sub(self.switch_spread.0 / 2))
    }

    /// How late a tick comes, by a lot below 2^32.
    pub fn lateness(&self, random: u32) -> Nanos {
        drawn(self.tick_spread, random)
    }

    /// What it costs to move a thread's state from the CPU of a place to another CPU.
    pub fn migration(&self, from: &Place, to: CpuId) -> Nanos {
        if from.core.contains(&to.0) {
            self.migrate_core
        } else if from.llc.contains(&to.0) {
            self.migrate_llc
        } else if from.node.contains(&to.0) {
            self.migrate_node
        } else {
            self.migrate_remote
        }
    }
}

/// From 0 to `spread`, evenly.
fn drawn(spread: Nanos, random: u32) -> Nanos {
    Nanos(((u128::from(random) * u128::from(spread.0 + 1)) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use model::scenario::Machine;

    use super::*;
    use crate::places::Places;

    #[test]
    fn switches_differ_by_the_spread_and_not_on_average() {
        let ends = [0, u32::MAX / 2, u32::MAX].map(|random| Costs::DEFAULT.switch(random).0);
        assert_eq!(ends, [1_200, 1_350, 1_500]);
        assert_eq!(Costs::EXACT.switch(u32::MAX), Costs::EXACT.switch);
        assert_eq!(Costs::NONE.switch(u32::MAX), Nanos::ZERO);
    }

    #[test]
    fn ticks_are_late_by_up_to_the_spread() {
        let ends = [0, u32::MAX / 2, u32::MAX].map(|random| Costs::DEFAULT.lateness(random).0);
        assert_eq!(ends, [0, 1_000, 2_000]);
        assert_eq!(Costs::EXACT.lateness(u32::MAX), Nanos::ZERO);
    }

    #[test]
    fn migration_costs_grow_with_distance() {
        let places = Places::new(&Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 });
        let costs = Costs { migrate_core: Nanos(1), ..Costs::DEFAULT };
        let cost = |to| costs.migration(places.of(CpuId(0)), CpuId(to)).0;
        assert_eq!([1, 2, 4, 8].map(cost), [1, 2_500, 6_000, 10_000]);
    }
}
