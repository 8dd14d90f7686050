//! What a trace says of itself.

use model::event::{Process, Tables};
use model::scenario::{Group, Machine, Scenario};
use model::trace::Trace;
use model::{Nanos, printable};
use serde::{Deserialize, Serialize};

use crate::limits::{self, MOST_CPUS, Moments};

/// Where a trace is from. It stands in the file as JSON, so that it can be read without this program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The scenario's name.
    pub scenario: String,
    /// The scenario as its author wrote it; options of the command line may have changed its duration.
    pub scenario_text: String,
    /// `sim`, `host` or `vm`.
    pub arm: String,
    /// The machine or kernel that ran, in one line.
    pub machine: String,
    /// The scenario's machine.
    pub cpus: Machine,
    /// The policy with its options.
    pub policy: String,
    /// The kernel that ran or was modelled.
    pub kernel: Option<String>,
    /// The seed of arrivals and service times.
    pub seed: u64,
    /// The command that makes this run again.
    pub replay: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// The measured part, nanoseconds from the start of the run: its first moment.
    pub window_start_ns: u64,
    /// The first moment after the measured part.
    pub window_end_ns: u64,
    /// Groups; a parent stands before its children.
    pub groups: Vec<Group>,
    /// Programs, each a process.
    pub programs: Vec<Program>,
    /// The program of each thread, as an index.
    pub threads: Vec<usize>,
    /// Whether scheduling events were recorded.
    pub events: bool,
    /// What the events refer to.
    pub tables: Tables,
}

/// A program of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// `service`, `batch`, `daemon`, `periodic` or `fork-join`; `process`: none of the scenario's.
    pub kind: String,
    /// Index of its group; `None`: the root.
    pub group: Option<usize>,
    /// The nice value of its threads.
    pub nice: i8,
    /// The unit, container or pod that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether the service that was watched started it, or both are forks of one process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descends: bool,
}

impl Program {
    /// A process that no scenario describes. Its group is added to `groups` if it is new.
    pub fn of(process: &Process, kind: &str, groups: &mut Vec<Group>) -> Program {
        let mut place = |name: &String| {
            groups.iter().position(|group| group.name == *name).unwrap_or_else(|| {
                groups.push(Group::new(name, None, 100));
                groups.len() - 1
            })
        };
        let group = process.group.as_ref().map(&mut place);
        let (name, owner) = (process.name.clone(), process.owner.clone());
        let descends = process.descends;
        Program { name, kind: kind.to_string(), group, nice: 0, owner, descends }
    }
}

/// How a run was made: what its trace does not say by itself.
#[derive(Clone, Debug)]
pub struct Making<'a> {
    /// The scenario as it ran.
    pub scenario: &'a Scenario,
    /// The scenario's text.
    pub scenario_text: &'a str,
    /// The arm's name.
    pub arm: &'a str,
    /// The arm's machine.
    pub machine: &'a str,
    /// The command that makes the run again.
    pub replay: String,
    /// The program's version.
    pub version: &'a str,
}

impl Header {
    /// The header of a run.
    pub fn new(making: &Making, trace: &Trace) -> Header {
        let scenario = making.scenario;
        let program = |program: &model::scenario::Program| Program {
            name: program.name.clone(),
            kind: program.kind.word().to_string(),
            group: program.group,
            nice: program.nice,
            owner: None,
            descends: false,
        };
        let mut groups = scenario.groups.clone();
        let others: Vec<Program> = trace
            .tables
            .others
            .iter()
            .map(|one| Program::of(one, "process", &mut groups))
            .collect();
        Header {
            scenario: scenario.name.clone(),
            scenario_text: making.scenario_text.to_string(),
            arm: making.arm.to_string(),
            machine: making.machine.to_string(),
            cpus: scenario.machine,
            policy: trace.policy.clone(),
            kernel: trace.kernel.clone(),
            seed: trace.seed,
            replay: making.replay.clone(),
            version: making.version.to_string(),
            window_start_ns: trace.window.start.0,
            window_end_ns: trace.window.end.0,
            programs: scenario.programs.iter().map(program).chain(others).collect(),
            groups,
            threads: trace.threads.iter().map(|thread| thread.program).collect(),
            events: trace.events.is_some(),
            tables: trace.tables.clone(),
        }
    }

    /// With names that a terminal shows and does not obey: a file may say anything.
    pub(crate) fn printable(mut self) -> Header {
        let own = [&mut self.scenario, &mut self.arm, &mut self.machine, &mut self.policy];
        let kernel = self.kernel.iter_mut();
        let more = [&mut self.replay, &mut self.version].into_iter().chain(kernel);
        let groups = self.groups.iter_mut().map(|group| &mut group.name);
        let programs = self.programs.iter_mut();
        let programs = programs.flat_map(|program| {
            [&mut program.name, &mut program.kind].into_iter().chain(&mut program.owner)
        });
        let others = self.tables.others.iter_mut().flat_map(Process::names_mut);
        let tables = self.tables.names.iter_mut().chain(others);
        let all = own.into_iter().chain(more).chain(groups).chain(programs).chain(tables);
        all.for_each(|name| *name = printable(name));
        self
    }

    /// What in it cannot be, if anything: everything that points somewhere must point at something.
    pub(crate) fn fault(&self) -> Option<String> {
        let Machine { cpus, smt, llcs, nodes } = self.cpus;
        if !self.cpus.is_possible(MOST_CPUS) {
            return Some(format!(
                "a machine of {cpus} CPUs, {smt} a core, {llcs} caches and {nodes} nodes"
            ));
        }
        if let Some(fault) = limits::long_names(self) {
            return Some(fault);
        }
        let group = |index: &usize| *index < self.groups.len();
        let parents = self.groups.iter().enumerate();
        if parents.into_iter().any(|(own, one)| one.parent.is_some_and(|parent| parent >= own)) {
            return Some("a group stands before its parent".to_string());
        }
        if !self.programs.iter().filter_map(|program| program.group.as_ref()).all(group) {
            return Some("a program is in a group that there is not".to_string());
        }
        if !self.threads.iter().all(|program| *program < self.programs.len()) {
            return Some("a thread belongs to a program that there is not".to_string());
        }
        let mut cpus = self.tables.cpu_sets.iter().flatten();
        if !cpus.all(|cpu| cpu.0 < self.cpus.cpus) {
            return Some("a thread may run on a CPU that there is not".to_string());
        }
        if limits::repeats_cpus(self) {
            return Some("a set of more CPUs than there are".to_string());
        }
        let moments = Moments::new(self.cpus.cpus);
        let window = [self.window_start_ns, self.window_end_ns];
        if !window.into_iter().all(|at| moments.is_reached(Nanos(at))) {
            return Some(moments.fault("a measured part"));
        }
        (self.window_start_ns > self.window_end_ns)
            .then(|| "the measured part ends before it starts".to_string())
    }
}
