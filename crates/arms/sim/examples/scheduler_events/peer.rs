//! The always-runnable load on desque, a general framework for discrete-event simulation: a binary heap of
//! boxed events.

use desque::serial::{Event, Simulation};
use desque::{Result, SimState};
use sim::kernel::TICK;

/// A machine on which a tick charges the thread that runs: what the kernel does of this load under
/// SCHED_FIFO, and no more.
struct Machine {
    received_ns: Vec<u64>,
    ticks_left: u64,
}

impl SimState<u64> for Machine {
    fn is_complete(&self, _now: &u64) -> bool {
        self.ticks_left == 0
    }
}

#[derive(Debug)]
struct Tick {
    cpu: usize,
}

impl Event<Machine, u64> for Tick {
    fn execute(&mut self, machine: &mut Simulation<Machine, u64>) -> Result {
        let state = machine.state_mut();
        state.received_ns[self.cpu] += TICK.0;
        state.ticks_left -= 1;
        machine.schedule_with_delay(Tick { cpu: self.cpu }, TICK.0)
    }
}

/// Runs so many ticks on so many CPUs.
pub fn run(cpus: u32, ticks: u64) {
    let received_ns = vec![0; cpus as usize];
    let mut machine = Simulation::new(Machine { received_ns, ticks_left: ticks }, 0);
    for cpu in 0..cpus as usize {
        machine.schedule(Tick { cpu }, TICK.0).expect("the future");
    }
    machine.run().expect("no event fails");
    let received: u64 = machine.state().received_ns.iter().sum();
    assert_eq!(received, ticks * TICK.0, "every tick was handled");
}
