//! What a policy did between two looks. These comments are what the socket answers to questions after the
//! statistics' meaning.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// A field of a statistic: name, type, what it is.
pub type Field = (&'static str, &'static str, &'static str);

/// Structures whose fields are told with their types and comments.
macro_rules! statistics {
    ($(#[doc = $about:literal] $name:ident { $(#[doc = $what:literal] $field:ident: $kind:ty,)+ })+) => {$(
        #[doc = $about]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(#[doc = $what] pub $field: $kind,)+
        }

        impl $name {
            /// What it is.
            pub const ABOUT: &str = $about;
            /// Its fields.
            pub const FIELDS: &[Field] = &[$((stringify!($field), stringify!($kind), $what)),+];
        }
    )+};
}

statistics! {
    /// a policy at work
    Report {
        /// the scheduler's name
        scheduler: String,
        /// seconds that rates and shares are of
        interval_s: f64,
        /// CPUs
        cpus: u32,
        /// 1: what is due is known; 0: a policy in a file, of which only received time is known
        knows_due: u32,
        /// slices begun per second
        slices_per_s: f64,
        /// slices begun on another CPU than the one before, per second
        migrations_per_s: f64,
        /// threads that balance moved from one queue to another, per second
        pulls_per_s: f64,
        /// threads that ran before a later one of lesser virtual time, per second
        inversions_avoided_per_s: f64,
        /// groups, by the cgroup's path
        groups: BTreeMap<String, Group>,
        /// processes, by id
        processes: BTreeMap<u32, Process>,
        /// queues, by number
        queues: BTreeMap<u32, Queue>,
        /// targets of global virtual time by level and domain (`llc 0`), ns
        targets: BTreeMap<String, u64>,
    }
    /// group: a cgroup with all below it
    Group {
        /// cpu.weight, 0 for the root
        weight: u32,
        /// received share of all CPUs, 0 to 1
        share: f64,
        /// due share of all CPUs by the weights of the threads that want one, 0 to 1
        due_share: f64,
        /// CPU time that its active threads are owed at present, ns; below 0 they are ahead
        lag_ns: f64,
        /// threads that run or wait at present
        active: u32,
        /// threads that its quota (cpu.max) holds at present
        held: u32,
        /// periods of its quota that ended, per second; 0: it has none
        periods_per_s: f64,
        /// of these, with threads held at the end, per second
        throttled_per_s: f64,
        /// within how long of a wake-up its threads are promised to be served, ns; 0: it has no promise
        promised_ns: u64,
        /// wake-ups of such threads that were served, up to their next sleep, per second
        served_per_s: f64,
        /// of these, later than promised, per second
        late_per_s: f64,
        /// share of all CPUs that its promise allows, 0 to 1
        at_most: f64,
        /// share of all CPUs that it has used of that, while others waited, 0 to 1
        budget_used: f64,
        /// slices begun per second
        slices_per_s: f64,
        /// slices begun on another CPU than the one before, per second
        migrations_per_s: f64,
    }
    /// process
    Process {
        /// command
        name: String,
        /// its group
        group: String,
        /// threads
        threads: u32,
        /// threads that run or wait at present
        active: u32,
        /// of these, batch: they burned so much CPU time that they lost their place
        batch: u32,
        /// received share of all CPUs, 0 to 1
        share: f64,
        /// due share of all CPUs by the weights of the threads that want one, 0 to 1
        due_share: f64,
        /// CPU time that its active threads are owed at present, ns; below 0 they are ahead
        lag_ns: f64,
        /// slices begun per second
        slices_per_s: f64,
        /// slices begun on another CPU than the one before, per second
        migrations_per_s: f64,
    }
    /// queue
    Queue {
        /// threads that run from it or wait in it at present
        threads: u32,
        /// its min_vruntime: the least virtual time of its threads, ns
        min_vruntime_ns: u64,
    }
}

/// What is said of a process and of a group alike: what it received, what was due, and how its threads stand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Of all CPUs' time, 0 to 1.
    pub share: f64,
    /// By the weights of the threads that wanted a CPU, 0 to 1.
    pub due_share: f64,
    /// Above 0 it is owed.
    pub lag_ns: f64,
    /// Threads that run or wait.
    pub active: u32,
    /// Of these, with a pool of their own.
    pub batch: u32,
    /// Begun to run, of its threads.
    pub slices_per_s: f64,
    /// Slices begun on another CPU than the one before.
    pub migrations_per_s: f64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.share += other.share;
        self.due_share += other.due_share;
        self.lag_ns += other.lag_ns;
        self.active += other.active;
        self.batch += other.batch;
        self.slices_per_s += other.slices_per_s;
        self.migrations_per_s += other.migrations_per_s;
    }
}

impl From<&Group> for Figures {
    fn from(group: &Group) -> Figures {
        let Group { share, due_share, lag_ns, active, slices_per_s, migrations_per_s, .. } = *group;
        Figures { share, due_share, lag_ns, active, batch: 0, slices_per_s, migrations_per_s }
    }
}

impl From<&Process> for Figures {
    fn from(process: &Process) -> Figures {
        let Process { share, due_share, lag_ns, active, batch, .. } = *process;
        let Process { slices_per_s, migrations_per_s, .. } = *process;
        Figures { share, due_share, lag_ns, active, batch, slices_per_s, migrations_per_s }
    }
}
