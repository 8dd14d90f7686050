//! What a rule found wrong.

use std::fmt;

use model::{CpuId, Nanos, ThreadId};

/// What a rule says, without when and in which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thread that it concerns, if one does.
    pub thread: Option<ThreadId>,
    /// Where, if on one CPU.
    pub cpu: Option<CpuId>,
    /// What is wrong.
    pub text: String,
}

impl Finding {
    /// About a thread on a CPU.
    pub fn at(thread: ThreadId, cpu: CpuId, text: impl Into<String>) -> Finding {
        Finding { thread: Some(thread), cpu: Some(cpu), text: text.into() }
    }

    /// About a thread.
    pub fn of(thread: ThreadId, text: impl Into<String>) -> Finding {
        Finding { thread: Some(thread), cpu: None, text: text.into() }
    }

    /// About the run.
    pub fn general(text: impl Into<String>) -> Finding {
        Finding { thread: None, cpu: None, text: text.into() }
    }
}

/// A rule broken in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule's name.
    pub rule: &'static str,
    /// The run's seed.
    pub seed: u64,
    /// When it was seen.
    pub at: Nanos,
    /// What it is.
    pub finding: Finding,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Finding { thread, cpu, text } = &self.finding;
        write!(f, "{}: seed {}, {} ns", self.rule, self.seed, self.at.0)?;
        if let Some(thread) = thread {
            write!(f, ", thread {}", thread.0)?;
        }
        if let Some(cpu) = cpu {
            write!(f, ", CPU {}", cpu.0)?;
        }
        write!(f, ": {text}")
    }
}
