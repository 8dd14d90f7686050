//! A lock for each kernel (10-ms computing section III.C). A thread that enters waits for those that came
//! before. The more wait, the longer each hand-over takes, because the lock's cache line goes to every
//! waiting CPU (S. Boyd-Wickizer et al., "Non-scalable locks are dangerous", 2012).

use std::collections::VecDeque;

use model::scenario::KernelState;
use model::{CpuId, Nanos};

/// The locks of all kernels.
pub struct Locks {
    state: KernelState,
    cpus_each: u32,
    /// For each kernel, when those that are in or before the lock will be through.
    ends: Vec<VecDeque<Nanos>>,
}

impl Locks {
    /// All free.
    pub fn new(state: KernelState, cpus: u32) -> Locks {
        let ends = vec![VecDeque::new(); state.kernels as usize];
        Locks { state, cpus_each: cpus / state.kernels, ends }
    }

    /// A thread on a CPU enters its kernel: how long until it is through.
    pub fn enter(&mut self, cpu: CpuId, now: Nanos) -> Nanos {
        let ends = &mut self.ends[(cpu.0 / self.cpus_each) as usize];
        while ends.front().is_some_and(|end| *end <= now) {
            ends.pop_front();
        }
        let waiting = ends.len() as u64;
        let free = ends.back().copied().unwrap_or(now);
        let end = free + self.state.hold + Nanos(self.state.transfer.0 * waiting);
        ends.push_back(end);
        end - now + self.state.exit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waiter_makes_all_wait_longer_and_kernels_are_apart() {
        let state =
            KernelState { hold: Nanos(100), transfer: Nanos(10), kernels: 2, exit: Nanos(5) };
        let mut locks = Locks::new(state, 4);
        let mut enter = |cpu, at| locks.enter(CpuId(cpu), Nanos(at)).0;
        assert_eq!([enter(0, 0), enter(1, 0), enter(0, 50)], [105, 215, 50 + 120 + 110 + 5]);
        assert_eq!(enter(2, 0), 105, "another kernel");
        assert_eq!(enter(1, 330), 105, "all are through");
    }
}
