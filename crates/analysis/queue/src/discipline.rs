//! The next request.

use std::fmt;
use std::str::FromStr;

use model::Failure;

/// How requests reach workers. No request is interrupted once served, but for
/// [`Discipline::ProcessorSharing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One queue, first come, first served.
    Fifo,
    /// One queue, the last to come is the next served.
    Lifo,
    /// One queue, each waiting request equally likely to be next.
    RandomRequest,
    /// A queue a worker, first come, first served; each request goes to any worker with equal probability.
    RandomWorker,
    /// A queue a worker, first come, first served; requests go to the workers in turn.
    RoundRobin,
    /// All requests are served at once at equal speed, none faster than one worker could.
    ProcessorSharing,
}

impl Discipline {
    /// All of them.
    pub const ALL: [Discipline; 6] = [
        Discipline::Fifo,
        Discipline::Lifo,
        Discipline::RandomRequest,
        Discipline::RandomWorker,
        Discipline::RoundRobin,
        Discipline::ProcessorSharing,
    ];

    /// The word for it on the command line and in results.
    pub fn word(self) -> &'static str {
        match self {
            Discipline::Fifo => "fifo",
            Discipline::Lifo => "lifo",
            Discipline::RandomRequest => "random-request",
            Discipline::RandomWorker => "random-worker",
            Discipline::RoundRobin => "round-robin",
            Discipline::ProcessorSharing => "processor-sharing",
        }
    }
}

impl fmt::Display for Discipline {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Discipline {
    type Err = Failure;

    /// Reads [`Discipline::word`]; anything else is a [`Failure::Input`] that lists them.
    fn from_str(text: &str) -> Result<Discipline, Failure> {
        Discipline::ALL.into_iter().find(|one| one.word() == text).ok_or_else(|| {
            let words = Discipline::ALL.map(Discipline::word).join(", ");
            Failure::Input(format!("discipline `{text}`: expected one of {words}"))
        })
    }
}
