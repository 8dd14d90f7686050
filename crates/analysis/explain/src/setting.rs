//! What an explanation must know of a run beyond its trace: names, groups, where memory is.

use std::collections::BTreeSet;

use model::event::{Event, Process, Tables, What};
use model::scenario::{Home, Kind, Machine};
use model::{Scenario, ThreadId, Trace};

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
    /// The unit, container or pod that it belongs to, where that is known.
    pub owner: Option<String>,
    /// Whether it serves requests that are explained: all but those of services behind one another.
    pub serves: bool,
    /// Whether the service that was watched started it, or both are forks of one process.
    pub descends: bool,
    /// Index of the program whose process its threads belong to: another, or itself.
    pub process: usize,
    /// Whose first CPU says where its memory lies; `None`: no memory is remote, or it is unknown.
    pub memory: Option<Home>,
}

impl Program {
    /// A process that no scenario describes, as the program with this index.
    pub fn of(process: &Process, index: usize) -> Program {
        let Process { name, group, owner, descends } = process.clone();
        Program { name, group, owner, serves: false, descends, process: index, memory: None }
    }
}

impl Setting {
    /// The setting of a scenario.
    pub fn of(scenario: &Scenario) -> Setting {
        let (memory, processes) = (scenario.mechanisms.memory, scenario.processes());
        // Where a request of a chain was meanwhile no thread of one service says.
        let chained: BTreeSet<usize> =
            scenario.chains().into_iter().flat_map(|all| all.0).collect();
        let program = |(index, program): (usize, &model::scenario::Program)| Program {
            name: program.name.clone(),
            group: program.group.map(|index| scenario.groups[index].name.clone()),
            owner: None,
            serves: matches!(program.kind, Kind::Service(_)) && !chained.contains(&index),
            descends: false,
            process: processes[index],
            memory: memory.filter(|_| program.memory.bound > 0.0).map(|memory| memory.home),
        };
        Setting {
            machine: scenario.machine,
            programs: scenario.programs.iter().enumerate().map(program).collect(),
        }
    }

    /// The setting with those that the scenario does not know and events do.
    pub fn with(mut self, tables: &Tables) -> Setting {
        let others = tables.others.iter().zip(self.programs.len()..);
        self.programs.extend(others.map(|(other, index)| Program::of(other, index)));
        self
    }

    /// The node of a CPU.
    pub(crate) fn node(&self, cpu: usize) -> usize {
        cpu / (self.machine.cpus / self.machine.nodes.max(1)).max(1) as usize
    }

    /// By thread: the node of its memory, which is that of the first CPU of its process, or its own.
    pub(crate) fn homes(&self, trace: &Trace, events: &[Event]) -> Vec<Option<usize>> {
        let mut of_thread = vec![None; trace.threads.len()];
        let mut of_process = vec![None; self.programs.len()];
        let program = |thread: ThreadId| &self.programs[trace.threads[thread.index()].program];
        for event in events {
            if let What::Switch { cpu, to: Some(thread), .. } = event.what {
                let node = self.node(cpu.index());
                of_thread[thread.index()].get_or_insert(node);
                of_process[program(thread).process].get_or_insert(node);
            }
        }
        let home = |(thread, own): (ThreadId, Option<usize>)| match program(thread).memory? {
            Home::Process => of_process[program(thread).process],
            Home::Thread => own,
        };
        (0..).map(ThreadId).zip(of_thread).map(home).collect()
    }

    /// The programs of the same name and group as one, without the numbers of processes, and those that are
    /// its own.
    pub(crate) fn kin(&self, program: usize) -> BTreeSet<u32> {
        let kin = |one: &Program| one.descends || self.has_its_name(program, one);
        self.select(kin)
    }

    /// The programs whose work is a service's own: it started them, or they have its name and its group. The
    /// root holds any processes.
    pub(crate) fn own(&self, program: usize) -> BTreeSet<u32> {
        let is_grouped = self.programs[program].group.is_some();
        let mut own =
            self.select(|one| one.descends || is_grouped && self.has_its_name(program, one));
        own.insert(program as u32);
        own
    }

    fn has_its_name(&self, program: usize, one: &Program) -> bool {
        let name = |one: &Program| one.name.split('[').next().map(str::to_string);
        let own = &self.programs[program];
        name(one) == name(own) && one.group == own.group
    }

    fn select(&self, is_wanted: impl Fn(&Program) -> bool) -> BTreeSet<u32> {
        let wanted = (0..).zip(&self.programs).filter(|(_, one)| is_wanted(one));
        wanted.map(|(index, _)| index).collect()
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

/// The words for culprits.
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
