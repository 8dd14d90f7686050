//! The lines that parent and child exchange.
//!
//! The parent sends an [`Order`]; a service answers [`Reply::Listening`] and waits for its connections; every
//! child answers [`Reply::Ready`] once its threads exist. At [`Go`] they begin. An empty line, or the end of
//! input, ends the window, and the child answers [`Reply::Done`] and ends. A child whose threads end with the
//! window ([`Work::ends`]) does not: it starts new ones, is ready again and waits for the next [`Go`].

use std::path::PathBuf;

use model::Nanos;
use model::scenario::{Architecture, Kind, Service, Wait};
use serde::{Deserialize, Serialize};

use crate::privilege::Class;

/// What a child shall be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The parent's process id.
    pub parent: i32,
    /// The CPUs it may use.
    pub cpus: Vec<usize>,
    /// The file by which it joins its group; `None`: it stays where its parent is.
    pub door: Option<PathBuf>,
    /// The scheduling class of its threads.
    pub class: Class,
    /// What the threads do: those of the program whose process it is, then those of the others in it.
    pub work: Vec<Work>,
}

/// What the threads of a program do: [`Kind`] without what only the client needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Serve requests.
    Serve(Serve),
    /// Spin for ever.
    Spin {
        /// How many.
        threads: u32,
    },
    /// Run and sleep.
    Cycle {
        /// How many.
        threads: u32,
        /// CPU time of a cycle.
        run: Nanos,
        /// Sleep of a cycle.
        sleep: Nanos,
    },
    /// Run, and sleep until the next multiple of a period, all at the same moments.
    Periodic {
        /// How many.
        threads: u32,
        /// CPU time of a cycle.
        run: Nanos,
        /// From one wake-up to the next.
        period: Nanos,
    },
    /// Sleep and run, each of these spans in turn.
    Replay {
        /// How long before each run.
        sleeps: Vec<Nanos>,
        /// CPU time of each run.
        runs: Vec<Nanos>,
    },
    /// Run a foreign program again and again.
    Command {
        /// Its path, and its arguments.
        command: Vec<String>,
    },
    /// Compute and wait for the last one.
    ForkJoin {
        /// How many.
        threads: u32,
        /// CPU time of a thread in a round.
        work: Nanos,
        /// How they wait.
        wait: Wait,
    },
    /// Pass a byte to and fro.
    PingPong,
}

/// What a server has to know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Serve {
    /// How many connections to accept before it is ready.
    pub connections: u32,
    /// Worker threads; `None`: one a connection.
    pub workers: Option<u32>,
    /// Whether any worker may take any request.
    pub shared: bool,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Bytes of a response.
    pub response_bytes: usize,
}

/// When to begin, and over which time to count rounds, on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Go {
    /// The start of the run.
    pub start: Nanos,
    /// The start of the window.
    pub window_start: Nanos,
    /// The end of the window.
    pub window_end: Nanos,
}

/// What a child says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// A server waits for its connections here, on the loopback address.
    Listening {
        /// TCP port.
        port: u16,
    },
    /// All threads exist and wait for [`Go`].
    Ready {
        /// Their kernel ids, in order; a list for each [`Order::work`].
        threads: Vec<Vec<i32>>,
    },
    /// The end of the window.
    Done {
        /// Rounds or cycles completed inside the window; one for each [`Order::work`].
        rounds: Vec<u64>,
        /// Every run of a [`Work::Command`], which is alone in its process.
        runs: Vec<CommandRun>,
    },
    /// It could not.
    Failed {
        /// Why.
        message: String,
    },
}

/// A command from its start to its end, on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRun {
    /// When it was started.
    pub began: Nanos,
    /// When it had ended.
    pub ended: Nanos,
    /// CPU time of its processes.
    pub cpu: Nanos,
}

impl Work {
    /// Whether its threads end with the window.
    pub fn ends(&self) -> bool {
        matches!(self, Work::PingPong)
    }

    /// The work of a program.
    pub fn of(kind: &Kind) -> Work {
        match *kind {
            Kind::Service(ref service) => Work::Serve(Serve::of(service)),
            Kind::Batch { threads } => Work::Spin { threads },
            Kind::Daemon { threads, run, sleep } => Work::Cycle { threads, run, sleep },
            Kind::Periodic { threads, run, period } => Work::Periodic { threads, run, period },
            Kind::Replay { ref sleeps, ref runs } => {
                Work::Replay { sleeps: sleeps.to_vec(), runs: runs.to_vec() }
            }
            Kind::Command { ref command } => Work::Command { command: command.to_vec() },
            Kind::ForkJoin { threads, work, wait } => Work::ForkJoin { threads, work, wait },
        }
    }
}

impl Serve {
    fn of(service: &Service) -> Serve {
        let (workers, shared) = match service.architecture {
            Architecture::ThreadPerConnection => (None, false),
            Architecture::SharedQueue { workers } => (Some(workers), true),
            Architecture::Partitioned { workers } => (Some(workers), false),
        };
        Serve {
            connections: service.connections,
            workers,
            shared,
            request_bytes: service.request_bytes as usize,
            response_bytes: service.response_bytes as usize,
        }
    }
}
