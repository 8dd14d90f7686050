//! The same in desque 0.4, an event framework.

use std::collections::VecDeque;

use desque::serial::{Event, Simulation};
use desque::{Result, SimState};

use crate::heap_peer::Gaps;
use crate::{SERVICE_NS, WORKERS};

struct Queue {
    gaps: Gaps,
    waiting: VecDeque<u64>,
    idle: u32,
    requests: u64,
    served: u64,
    total: u64,
}

impl SimState<u64> for Queue {
    fn is_complete(&self, _now: &u64) -> bool {
        self.served >= self.requests
    }
}

#[derive(Debug)]
struct Arrival;

#[derive(Debug)]
struct Completion;

impl Event<Queue, u64> for Arrival {
    fn execute(&mut self, sim: &mut Simulation<Queue, u64>) -> Result {
        let now = *sim.current_time();
        sim.state_mut().waiting.push_back(now);
        let gap = sim.state_mut().gaps.next_ns();
        sim.schedule(Arrival, now + gap)?;
        serve_next(sim)
    }
}

impl Event<Queue, u64> for Completion {
    fn execute(&mut self, sim: &mut Simulation<Queue, u64>) -> Result {
        sim.state_mut().idle += 1;
        serve_next(sim)
    }
}

fn serve_next(sim: &mut Simulation<Queue, u64>) -> Result {
    let completion = *sim.current_time() + SERVICE_NS;
    let queue = sim.state_mut();
    if queue.idle > 0
        && let Some(arrival) = queue.waiting.pop_front()
    {
        queue.idle -= 1;
        queue.served += 1;
        queue.total += completion - arrival;
        sim.schedule(Completion, completion)?;
    }
    Ok(())
}

/// M/D/4, first come, first served.
pub fn mean_latency_ns(requests: u64) -> f64 {
    let (gaps, waiting) = (Gaps::new(), VecDeque::new());
    let queue = Queue { gaps, waiting, idle: WORKERS, requests, served: 0, total: 0 };
    let mut sim = Simulation::new(queue, 0);
    sim.schedule(Arrival, 0).expect("time has not begun");
    sim.run().expect("events are never in the past");
    sim.state().total as f64 / requests as f64
}
