//! What threads do between one kernel entry and the next: a small state machine for each kind of program.

mod daemon;
mod fast_client;
mod fifo;
mod fork_join;
mod replay;
mod service;

use model::law::{Law, Sampler};
use model::scenario::{Kind, Mechanisms, Scenario};
use model::seed::derive;
use model::trace::{ProgramTrace, Request, Window};
use model::workload::Planned;
use model::{Nanos, ThreadId};

use crate::costs::Costs;
use daemon::{Daemon, Rest};
use fast_client::FastClient;
use fork_join::ForkJoin;
use replay::Replay;
use service::Service;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Computes for this long, then asks again.
    Run(Nanos),
    /// Waits for a wake-up by its program.
    Block,
    /// Waits until a moment.
    Sleep(Nanos),
    /// Lets others of its CPU go first (`sched_yield`), then asks again.
    Yield,
}

/// A running program: its threads and its state.
pub struct Program {
    first_thread: u32,
    threads: u32,
    behaviour: Behaviour,
}

enum Behaviour {
    Service(Box<Service>),
    Batch,
    Daemon(Daemon),
    Replay(Replay),
    ForkJoin(ForkJoin),
}

/// Longer than any run, and far enough from the end of the range to be added to.
const FOR_EVER: Nanos = Nanos(1 << 62);

impl Program {
    /// The program at `index` of the scenario; its threads get ids from `first_thread` on.
    pub fn new(
        scenario: &Scenario,
        index: usize,
        first_thread: u32,
        seed: u64,
        window: Window,
        costs: &Costs,
    ) -> Program {
        let kind = &scenario.programs[index].kind;
        let behaviour = match kind {
            Kind::Service(service) => {
                let mut plan = plan(scenario, index, service, seed, window.end);
                add_kernel_part(&mut plan, costs.request, derive(seed, &[index as u64, u64::MAX]));
                let Mechanisms { next_request_ready, ref interrupts, .. } = scenario.mechanisms;
                let rng = derive(seed, &[index as u64, u64::MAX, 1]);
                let fast_client =
                    (next_request_ready > 0.0).then(|| FastClient::new(next_request_ready, rng));
                let is_first = scenario.programs[index].behind.is_none();
                let interrupted = interrupts.is_some() && is_first;
                let service = Service::new(service, &plan, costs, interrupted, fast_client);
                let chained = scenario.chains().iter().any(|chain| chain.0.contains(&index));
                let service = if chained { service.in_chain(is_first) } else { service };
                Behaviour::Service(Box::new(service))
            }
            Kind::Batch { .. } => Behaviour::Batch,
            Kind::Daemon { threads, run, sleep } => {
                Behaviour::Daemon(Daemon::new(*threads, *run, Rest::Sleep(*sleep), window))
            }
            Kind::Periodic { threads, run, period } => {
                Behaviour::Daemon(Daemon::new(*threads, *run, Rest::Until(*period), window))
            }
            Kind::Replay { sleeps, runs } => Behaviour::Replay(Replay::new(sleeps, runs, window)),
            Kind::Command { .. } => unreachable!("refused before a run: arm.rs, check_kinds"),
            Kind::ForkJoin { threads, work, wait } => {
                Behaviour::ForkJoin(ForkJoin::new(*threads, *work, *wait, window))
            }
        };
        Program { first_thread, threads: kind.threads(), behaviour }
    }

    /// The ids of its threads.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (self.first_thread..self.first_thread + self.threads).map(ThreadId)
    }

    /// Whether its threads start on their own; those of a service wait for requests.
    pub fn starts(&self) -> bool {
        !matches!(self.behaviour, Behaviour::Service(_))
    }

    /// Whether its threads arm timers.
    pub fn sleeps(&self) -> bool {
        matches!(self.behaviour, Behaviour::Daemon(_) | Behaviour::Replay(_))
    }

    /// Whether a woken thread would find something to do.
    pub fn ready(&self, thread: ThreadId) -> bool {
        match &self.behaviour {
            Behaviour::Service(service) => service.ready(thread.0 - self.first_thread),
            _ => true,
        }
    }

    /// A thread has done what it was told last, or runs for the first time since its wake-up: what now?
    /// Threads that it wakes by this are appended to `wakes`.
    pub fn next(&mut self, now: Nanos, thread: ThreadId, wakes: &mut Vec<ThreadId>) -> Next {
        let own = thread.0 - self.first_thread;
        let mut wake = |other: u32| wakes.push(ThreadId(self.first_thread + other));
        match &mut self.behaviour {
            Behaviour::Service(service) => service.next(now, own, &mut wake),
            Behaviour::Batch => Next::Run(FOR_EVER),
            Behaviour::Daemon(daemon) => daemon.next(now, own),
            Behaviour::Replay(replay) => replay.next(now),
            Behaviour::ForkJoin(fork_join) => fork_join.next(now, own, &mut wake),
        }
    }

    /// A thread begins anew.
    pub fn restart(&mut self, thread: ThreadId) {
        match &mut self.behaviour {
            Behaviour::Daemon(daemon) => daemon.restart(thread.0 - self.first_thread),
            Behaviour::Replay(replay) => replay.restart(),
            _ => {}
        }
    }

    /// The request that a service's thread is at work on, by its place in the trace.
    pub fn serving(&self, thread: ThreadId) -> Option<u32> {
        match &self.behaviour {
            Behaviour::Service(service) => service.serving(thread.0 - self.first_thread),
            _ => None,
        }
    }

    /// Since when the request is at the machine that a service's thread serves, or is woken for.
    pub fn request_at(&self, thread: ThreadId) -> Option<Nanos> {
        match &self.behaviour {
            Behaviour::Service(service) => service.request_at(thread.0 - self.first_thread),
            _ => None,
        }
    }

    /// When the client sends next, or would if it could; [`Nanos::NEVER`]: never.
    pub fn next_arrival(&self) -> Nanos {
        match &self.behaviour {
            Behaviour::Service(service) => service.next_arrival(),
            _ => Nanos::NEVER,
        }
    }

    /// The client will send a request, after all that it was told of before.
    pub fn plan(&mut self, planned: Planned) {
        if let Behaviour::Service(service) = &mut self.behaviour {
            service.plan(&planned);
        }
    }

    /// The requests of its client.
    pub fn requests(&self) -> &[Request] {
        match &self.behaviour {
            Behaviour::Service(service) => service.requests(),
            _ => &[],
        }
    }

    /// The moment of [`Program::next_arrival`] has come.
    pub fn arrive(&mut self, now: Nanos, wakes: &mut Vec<ThreadId>) {
        let mut wake = |other: u32| wakes.push(ThreadId(self.first_thread + other));
        if let Behaviour::Service(service) = &mut self.behaviour {
            service.arrive(now, &mut wake);
        }
    }

    /// Connections on which the client has sent a request, where requests arrive by interrupts.
    /// [`Program::deliver`] brings them on.
    pub fn take_sent(&mut self) -> Vec<u32> {
        match &mut self.behaviour {
            Behaviour::Service(service) => service.take_sent(),
            _ => Vec::new(),
        }
    }

    /// The request on a connection has reached its socket.
    pub fn deliver(&mut self, connection: u32, wakes: &mut Vec<ThreadId>) {
        let mut wake = |other: u32| wakes.push(ThreadId(self.first_thread + other));
        if let Behaviour::Service(service) = &mut self.behaviour {
            service.deliver(connection, &mut wake);
        }
    }

    /// The request that a thread of a service in a chain is done with by [`Program::next`], once.
    pub fn take_done(&mut self) -> Option<u32> {
        match &mut self.behaviour {
            Behaviour::Service(service) => service.take_done(),
            _ => None,
        }
    }

    /// Since when that request counts at the service behind it.
    pub fn handed_on(&self, now: Nanos, request: u32) -> Nanos {
        match &self.behaviour {
            Behaviour::Service(service) => service.handed_on(now, request),
            _ => now,
        }
    }

    /// The service before this one sends a request on, which counts since `at`.
    pub fn forward(&mut self, now: Nanos, request: u32, at: Nanos, wakes: &mut Vec<ThreadId>) {
        let mut wake = |other: u32| wakes.push(ThreadId(self.first_thread + other));
        if let Behaviour::Service(service) = &mut self.behaviour {
            service.forward(now, request, at, &mut wake);
        }
    }

    /// The last service of a chain, of which this is the first, is done with a request.
    pub fn answered(&mut self, now: Nanos, request: u32, wakes: &mut Vec<ThreadId>) {
        let mut wake = |other: u32| wakes.push(ThreadId(self.first_thread + other));
        if let Behaviour::Service(service) = &mut self.behaviour {
            service.answered(now, request, &mut wake);
        }
    }

    /// Requests that have no response yet.
    pub fn outstanding(&self) -> u64 {
        match &self.behaviour {
            Behaviour::Service(service) => service.outstanding(),
            _ => 0,
        }
    }

    /// What it did.
    pub fn into_trace(self) -> ProgramTrace {
        match self.behaviour {
            Behaviour::Service(service) => {
                ProgramTrace { requests: service.into_requests(), ..ProgramTrace::default() }
            }
            Behaviour::Batch => ProgramTrace::default(),
            Behaviour::Daemon(daemon) => {
                ProgramTrace { rounds: daemon.cycles(), ..ProgramTrace::default() }
            }
            Behaviour::Replay(replay) => {
                ProgramTrace { rounds: replay.cycles(), ..ProgramTrace::default() }
            }
            Behaviour::ForkJoin(fork_join) => {
                ProgramTrace { rounds: fork_join.rounds(), ..ProgramTrace::default() }
            }
        }
    }
}

/// What a service is asked for: behind another, by the clients of the first.
fn plan(
    scenario: &Scenario,
    index: usize,
    service: &model::scenario::Service,
    seed: u64,
    until: Nanos,
) -> Vec<Planned> {
    let chains = scenario.chains();
    let chain = chains.iter().find(|chain| chain.0[1..].contains(&index));
    let first = chain.map_or(index, |chain| chain.first());
    let Kind::Service(of_client) = &scenario.programs[first].kind else { return Vec::new() };
    let sent = model::workload::draw(of_client, scenario.machine.cpus, seed, first, until);
    if first == index {
        return sent;
    }
    let moments = sent.iter().map(|planned| planned.intended);
    model::workload::draw_at(service, seed, index, moments)
}

/// Lengthens each service by the kernel's part of that request: an ideal queue has to pay it too.
fn add_kernel_part(plan: &mut [Planned], mean: Nanos, seed: u64) {
    let mut parts = Sampler::new(&Law::Exponential, seed);
    for planned in plan {
        planned.service += Nanos((parts.next() * mean.0 as f64).round() as u64);
    }
}
