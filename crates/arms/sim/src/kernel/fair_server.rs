//! The fair server of kernels since 6.12: normal threads get 50 ms of each second on a CPU that real-time
//! threads hold (`dl_server` in `kernel/sched/deadline.c`, deferred; `/sys/kernel/debug/sched/fair_server`).
//!
//! It steps in as late as the promise allows, by as much as normal threads had already. Its end is seen at
//! ticks, and what it ran too long counts for the next period.

use model::{CpuId, Nanos, ThreadId};

use super::Task;
use crate::core::{Core, State};

const PERIOD: Nanos = Nanos::from_secs(1);
const RUNTIME: Nanos = Nanos::from_millis(50);

/// The fair servers of all CPUs.
pub struct FairServer {
    servers: Vec<Server>,
    /// Threads that are not real-time, which are searched for waiting ones: those of services may be many.
    normal: Vec<ThreadId>,
}

#[derive(Clone)]
struct Server {
    /// When the present period began.
    since: Nanos,
    /// What normal threads received in it, up to `normal_from`.
    received: Nanos,
    /// From when on a normal thread has been running, if one is.
    normal_from: Option<Nanos>,
    active: bool,
}

impl Server {
    fn received(&self, now: Nanos) -> Nanos {
        self.received + self.normal_from.map_or(Nanos::ZERO, |from| now - from)
    }

    fn restart(&mut self, since: Nanos) {
        self.since = since;
        self.received = Nanos::ZERO;
        self.normal_from = self.normal_from.map(|from| from.max(since));
        self.active = false;
    }
}

impl FairServer {
    pub fn new(core: &Core) -> FairServer {
        let since = Nanos::ZERO;
        let server = Server { since, received: Nanos::ZERO, normal_from: None, active: false };
        let ids = (0..core.threads.len() as u32).map(ThreadId);
        let normal = ids.filter(|&id| !core.thread(id).realtime).collect();
        FairServer { servers: vec![server; core.cpus.len()], normal }
    }

    /// Whether normal threads go first on a CPU.
    pub fn serves(&self, cpu: CpuId) -> bool {
        self.servers[cpu.index()].active
    }

    /// There is no normal thread left to serve.
    pub fn stop(&mut self, cpu: CpuId, now: Nanos) {
        self.servers[cpu.index()].restart(now);
    }

    /// The CPU switched to a normal thread, a real-time one, or to none.
    pub fn switched(&mut self, cpu: CpuId, now: Nanos, to_normal: bool, to_idle: bool) {
        let server = &mut self.servers[cpu.index()];
        server.received = server.received(now);
        server.normal_from = to_normal.then_some(now);
        if to_idle {
            server.restart(now);
        }
    }

    pub fn tick(&mut self, core: &mut Core, tasks: &[Task], cpu: CpuId) {
        let now = core.now;
        let server = &mut self.servers[cpu.index()];
        let received = server.received(now);
        if received >= RUNTIME {
            let overrun = if server.active { received - RUNTIME } else { Nanos::ZERO };
            if server.active {
                core.resched(cpu);
            }
            server.restart(now);
            server.received = overrun;
        } else if !server.active && now >= server.since + PERIOD + received - RUNTIME {
            match waiting_since(&self.normal, core, tasks, cpu) {
                Some(since) if since <= server.since => {
                    server.active = true;
                    core.resched(cpu);
                }
                since => server.restart(since.unwrap_or(now)),
            }
        }
    }
}

/// Since when the CPU has kept a normal thread waiting, if it does.
fn waiting_since(normal: &[ThreadId], core: &Core, tasks: &[Task], cpu: CpuId) -> Option<Nanos> {
    let waits = |id: &&ThreadId| {
        let thread = core.thread(**id);
        thread.state == State::Runnable && thread.cpu == cpu
    };
    normal.iter().filter(waits).map(|id| tasks[id.index()].woken).min()
}
