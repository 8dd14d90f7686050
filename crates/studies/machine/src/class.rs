//! Scheduling classes of threads.

use std::fmt;

/// The kernel's policies that a thread can be put into without more parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The default class.
    Normal,
    /// The default class, for work without a deadline.
    Batch,
    /// Only when no other thread wants the CPU.
    Idle,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    RoundRobin,
}

/// Names as they stand in the journal, with the kernel's numbers.
const POLICIES: [(Policy, &str, u32); 5] = [
    (Policy::Normal, "normal", 0),
    (Policy::Fifo, "fifo", 1),
    (Policy::RoundRobin, "rr", 2),
    (Policy::Batch, "batch", 3),
    (Policy::Idle, "idle", 5),
];

/// What a thread's place in its class is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The policy.
    pub policy: Policy,
    /// 1 to 99 for FIFO and RR, else 0.
    pub priority: u8,
    /// -20 to 19; kept while the class does not use it.
    pub nice: i8,
}

impl Class {
    /// Above every service.
    pub const HIGHEST: Class = Class { policy: Policy::Fifo, priority: 99, nice: 0 };
    /// The class of threads that were given no other.
    pub const USUAL: Class = Class { policy: Policy::Normal, priority: 0, nice: 0 };

    /// From the kernel's numbers; `None` for classes with more parameters (deadline, sched_ext).
    pub fn from_kernel(policy: u32, priority: u8, nice: i8) -> Option<Class> {
        let (policy, ..) = POLICIES.into_iter().find(|(_, _, number)| *number == policy)?;
        Some(Class { policy, priority, nice })
    }

    /// The kernel's number of the policy.
    pub fn number(self) -> u32 {
        POLICIES.into_iter().find(|(policy, ..)| *policy == self.policy).expect("all are there").2
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn read(text: &str) -> Option<Class> {
        let mut words = text.split(' ');
        let name = words.next()?;
        let (policy, ..) = POLICIES.into_iter().find(|(_, known, _)| *known == name)?;
        let priority = words.next()?.parse().ok()?;
        Some(Class { policy, priority, nice: words.next()?.parse().ok()? })
    }

    /// Whether its threads run before every thread of the default class.
    pub fn is_real_time(self) -> bool {
        matches!(self.policy, Policy::Fifo | Policy::RoundRobin)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name = POLICIES.into_iter().find(|(policy, ..)| *policy == self.policy);
        let name = name.expect("all are there").1;
        write!(f, "{name} {} {}", self.priority, self.nice)
    }
}
