//! The trace: what an arm reports of one run, and all that analyses see of it.
//!
//! Times count from the start of the run. Nothing here tells which arm made the trace.

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::event::{Event, Tables};

/// One run of one scenario under one policy with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The policy as given, with its options.
    pub policy: String,
    /// The kernel release that ran or was modelled (`6.18.44`, `6.1 (modelled)`).
    pub kernel: Option<String>,
    /// The seed of arrivals and service times.
    pub seed: u64,
    /// The measured part: from the end of the warm-up to the end of the run.
    pub window: Window,
    /// One entry for each program of the scenario, in its order; behind them, where events were recorded, one
    /// for each of [`Tables::others`].
    pub programs: Vec<ProgramTrace>,
    /// One entry for each thread, those of the scenario's programs first.
    pub threads: Vec<ThreadTrace>,
    /// CPU time of every thread at regular moments; the first at the window's start, the last at its end.
    pub usage: Vec<Usage>,
    /// Totals over the window.
    pub counters: Counters,
    /// What others had of the scenario's CPUs; `None` where the CPUs are not real ones. No file has it.
    #[serde(default)]
    pub neighbours: Option<Neighbours>,
    /// Scheduling events of the whole run, warm-up included; `None`: not asked for, or the arm has none.
    pub events: Option<Vec<Event>>,
    /// What the events refer to.
    pub tables: Tables,
}

impl Trace {
    /// The trace of the scenario's own programs alone: without events, and without those that only events
    /// know.
    pub fn without_events(mut self) -> Trace {
        self.programs.truncate(self.programs.len() - self.tables.others.len());
        let programs = self.programs.len();
        self.threads.retain(|thread| thread.program < programs);
        let threads = self.threads.len();
        self.usage.iter_mut().for_each(|usage| usage.cpu_time.truncate(threads));
        Trace { events: None, tables: Tables::default(), ..self }
    }
}

/// A span of time, its start included and its end excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first moment inside.
    pub start: Nanos,
    /// The first moment after.
    pub end: Nanos,
}

impl Window {
    /// Whether a moment lies inside.
    pub fn contains(&self, at: Nanos) -> bool {
        self.start <= at && at < self.end
    }

    /// Its length.
    pub fn span(&self) -> Nanos {
        self.end - self.start
    }
}

/// What one program did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramTrace {
    /// Every request of a service in the order of intended times, those of the warm-up included; empty for
    /// other kinds. Services behind one another have the same requests at the same places.
    pub requests: Vec<Request>,
    /// The stages of every request, in the order of `requests`; empty where not traced.
    pub stages: Vec<Stages>,
    /// Rounds that a fork-join program completed inside the window; cycles of a daemon or a periodic one; 0
    /// for others.
    pub rounds: u64,
}

/// One request, stamped in the client and in the server.
///
/// A stamp that was never reached is [`Nanos::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// When the arrival law said it should be sent. Latency counts from here (no coordinated omission).
    pub intended: Nanos,
    /// When it was really sent; to a service behind another: by that.
    pub sent: Nanos,
    /// When the server's thread began with it: its first instruction after the request was there.
    pub started: Nanos,
    /// When the server's thread was done with it.
    pub completed: Nanos,
    /// When the client had the response: of a service with others behind it, that of the last of them. Of
    /// those behind it, when they were done with it.
    pub received: Nanos,
    /// The CPU time that serving it takes when nothing disturbs it, with the amortised cost of the kernel's
    /// part (Tales section 3.2): the service time of the ideal queue.
    pub service: Nanos,
}

impl Request {
    /// One that is sent when it should be, begun with at once and received when it is done.
    pub fn at_once(from: Nanos, to: Nanos, service: Nanos) -> Request {
        Request { intended: from, sent: from, started: from, completed: to, received: to, service }
    }

    /// From the intended time to the response; [`Nanos::NEVER`] for a lost request, which so ranks last.
    pub fn latency(&self) -> Nanos {
        if self.is_lost() { Nanos::NEVER } else { self.received.saturating_sub(self.intended) }
    }

    /// Whether no response ever came.
    pub fn is_lost(&self) -> bool {
        self.received == Nanos::NEVER
    }
}

/// A thread and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTrace {
    /// Index into the scenario's programs.
    pub program: usize,
}

/// CPU time received by every thread since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// When it was read.
    pub at: Nanos,
    /// One entry a thread, in the order of [`Trace::threads`].
    pub cpu_time: Vec<Nanos>,
}

/// Totals over the window; `None` where the arm cannot know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Context switches between two threads, or a thread and idle.
    pub switches: Option<u64>,
    /// Moves of a thread from one CPU to another.
    pub migrations: Option<u64>,
    /// Moves between two balancing domains.
    pub pulls: Option<u64>,
    /// CPU time that no thread used, summed over the scenario's CPUs.
    pub idle: Option<Nanos>,
}

/// What others had of CPUs from the start of a run to its end, as shares of the CPUs' time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// Interrupts and softirqs.
    pub interrupts: f64,
    /// The host, where this machine is a guest.
    pub host: f64,
    /// Programs that were there before and behind the run, the greatest first.
    pub programs: Vec<(String, f64)>,
}

/// The moments of a request in the server's kernel (Tales section 3.3.1); [`Nanos::NEVER`] for one that was
/// not seen.
///
/// Neighbours are stages, and the stages of a request sum to T6 - T1 exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// T1: its last segment or datagram was there.
    pub arrived: Nanos,
    /// T2: the socket had all of it.
    pub ready: Nanos,
    /// T3: its thread was there for it.
    pub running: Nanos,
    /// T4: its thread had read all of it.
    pub read: Nanos,
    /// T5: the thread began to write the answer.
    pub sends: Nanos,
    /// T6: the last byte of the answer went out.
    pub transmitted: Nanos,
}

impl Stages {
    /// Of a request that was not seen.
    pub const UNSEEN: Stages = Stages {
        arrived: Nanos::NEVER,
        ready: Nanos::NEVER,
        running: Nanos::NEVER,
        read: Nanos::NEVER,
        sends: Nanos::NEVER,
        transmitted: Nanos::NEVER,
    };

    /// The same with moments that count from `start`.
    pub fn since(&self, start: Nanos) -> Stages {
        let count = |at: Nanos| if at == Nanos::NEVER { at } else { at.saturating_sub(start) };
        let [arrived, ready, running, read, sends, transmitted] = self.moments().map(count);
        Stages { arrived, ready, running, read, sends, transmitted }
    }

    /// From T1 to T6, of a request that was answered.
    pub fn latency(&self) -> Nanos {
        self.transmitted - self.arrived
    }

    /// The moments, T1 to T6.
    pub fn moments(&self) -> [Nanos; 6] {
        [self.arrived, self.ready, self.running, self.read, self.sends, self.transmitted]
    }

    /// The stages, T1-T2 to T5-T6, of a request that was answered.
    pub fn spans(&self) -> [Nanos; 5] {
        let moments = self.moments();
        std::array::from_fn(|at| moments[at + 1].saturating_sub(moments[at]))
    }

    /// Whether every moment was seen, in order.
    pub fn is_complete(&self) -> bool {
        self.transmitted != Nanos::NEVER && self.moments().is_sorted()
    }
}
