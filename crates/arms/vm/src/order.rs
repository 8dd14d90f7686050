//! What host and guest tell each other: an order in a file of the guest, a report in another one, and
//! progress on stdout.

use std::fmt;

use host::{Placement, Services};
use loader::Scheduler;
use model::{Nanos, Scenario, Trace};
use serde::{Deserialize, Serialize};

/// The argument that makes an executable the arm's part in the guest.
pub const ROLE: &str = "__vm_guest";
/// Where the order is.
pub const ORDER: &str = "/rearguard/run.json";
/// Where the programs of a policy in a file are.
pub const OBJECT: &str = "/rearguard/policy.bpf.o";
/// Where the report is.
pub const REPORT: &str = "/rearguard/report";
/// What a line of progress begins with.
pub const PROGRESS: &str = "progress ";

/// Runs of one scenario under one policy.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// What runs.
    pub scenario: Scenario,
    /// The policy as the trace names it.
    pub policy: String,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// How services are scheduled.
    pub services: Services,
    /// On which CPUs.
    pub placement: Placement,
    /// The seeds of arrivals and service times: a run each.
    pub seeds: Vec<u64>,
    /// Whether the traces shall hold scheduling events.
    pub events: bool,
}

/// What the guest found.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// The runs, in the order of their seeds.
    pub traces: Vec<Trace>,
    /// How late an idle CPU woke up while the others computed; `None`: there were no others.
    pub wakeups: Option<Wakeups>,
}

/// How late an idle CPU wakes up, over some trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeups {
    /// On average.
    pub mean: Nanos,
    /// At worst.
    pub worst: Nanos,
}

impl fmt::Display for Wakeups {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "an idle CPU woke up {} late on average, {} at worst", self.mean, self.worst)
    }
}

#[cfg(test)]
mod tests {
    use model::event::{Process, Tables};

    /// The guest's report has no names of fields: what one side leaves out the other reads as what follows.
    #[test]
    fn processes_come_out_of_the_guest_as_they_were() {
        let process = |name: &str, group: Option<&str>, owner: Option<&str>| Process {
            name: name.into(),
            group: group.map(String::from),
            owner: owner.map(String::from),
            descends: owner.is_some(),
        };
        let others = vec![
            process("init", None, None),
            process("cron", Some("/system.slice/cron.service"), Some("unit cron.service")),
        ];
        let tables = Tables { others, ..Tables::default() };
        let bytes = postcard::to_stdvec(&tables).unwrap();
        assert_eq!(postcard::from_bytes::<Tables>(&bytes).unwrap(), tables);
    }
}
