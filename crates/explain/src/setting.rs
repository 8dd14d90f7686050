//! What an explanation must know of a run beyond its trace: names, groups, where memory is.

use model::scenario::{Kind, Machine};
use model::{CpuId, Scenario, ThreadId, Trace};

/// The machine and the programs of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The machine.
    pub machine: Machine,
    /// The programs, in the trace's order.
    pub programs: Vec<Program>,
}

/// A program of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The path of its group (cgroup); `None`: the root.
    pub group: Option<String>,
    /// Whether it serves requests.
    pub serves: bool,
    /// The node of its memory; `None`: wherever it runs.
    pub memory_node: Option<u32>,
}

impl Setting {
    /// The setting of a scenario.
    pub fn of(scenario: &Scenario) -> Setting {
        let program = |program: &model::scenario::Program| Program {
            name: program.name.clone(),
            group: program.group.map(|index| scenario.groups[index].name.clone()),
            serves: matches!(program.kind, Kind::Service(_)),
            memory_node: None,
        };
        Setting {
            machine: scenario.machine,
            programs: scenario.programs.iter().map(program).collect(),
        }
    }

    /// How many CPUs the ideal queue of a program has: all, or as many as it has threads.
    pub(crate) fn workers(&self, trace: &Trace, program: usize) -> u32 {
        let threads = trace.threads.iter().filter(|thread| thread.program == program).count();
        self.machine.cpus.min(threads as u32).max(1)
    }

    /// By program: the CPUs near its memory.
    pub(crate) fn near(&self) -> Vec<Option<Vec<usize>>> {
        let a_node = (self.machine.cpus / self.machine.nodes.max(1)).max(1);
        let near = |node: u32| {
            let all = (0..self.machine.cpus).map(CpuId);
            all.filter(|cpu| cpu.0 / a_node == node).map(CpuId::index).collect()
        };
        self.programs.iter().map(|program| program.memory_node.map(near)).collect()
    }

    /// The names of a trace's threads: `service/3`, the program and the thread's number in it.
    pub(crate) fn thread_names(&self, trace: &Trace) -> Vec<String> {
        let mut counted = vec![0; self.programs.len()];
        let mut name = |program: usize| {
            counted[program] += 1;
            format!("{}/{}", self.programs[program].name, counted[program] - 1)
        };
        trace.threads.iter().map(|thread| name(thread.program)).collect()
    }
}

/// The words for those who are to blame.
pub(crate) struct Names<'a> {
    pub setting: &'a Setting,
    pub trace: &'a Trace,
    threads: Vec<String>,
}

impl<'a> Names<'a> {
    pub fn new(setting: &'a Setting, trace: &'a Trace) -> Names<'a> {
        Names { setting, trace, threads: setting.thread_names(trace) }
    }

    pub fn thread(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()]
    }

    pub fn table(&self, name: model::event::NameId) -> &str {
        self.trace.tables.name_of(name)
    }
}
