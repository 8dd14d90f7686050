//! Counts what callbacks do to lines.

use std::collections::BTreeMap;

use model::event::{Event, What};
use model::scenario::Machine;
use model::{CpuId, Nanos};
use sim::Observer;

use crate::lines::{DISTANCES, Distance, LINE, Line};

/// What a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A table of the policy's state, by its place in [`policy_native::Owner::ALL`].
    State(usize),
    /// The locks of queues.
    Lock,
    /// The kernel's dispatch queues, a line each.
    Queue,
    /// What the kernel keeps of a thread in a queue, a line each.
    Node,
    /// What the adapter keeps of each thread (`rg_task_ctxs`).
    Context,
}

/// How many there are, those of the state included.
const KINDS: usize = 12;

impl Kind {
    fn index(self) -> usize {
        match self {
            Kind::State(at) => at,
            Kind::Lock => 8,
            Kind::Queue => 9,
            Kind::Node => 10,
            Kind::Context => 11,
        }
    }
}

/// What callbacks run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// select_cpu, and enqueue of a woken thread.
    Wake,
    /// dispatch, stopping, yield, idle, and enqueue at the end of a slice.
    Switch,
    /// tick.
    Tick,
}

/// All.
pub const CAUSES: [Cause; 3] = [Cause::Switch, Cause::Wake, Cause::Tick];

/// An access to a line.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// What it belongs to.
    pub kind: Kind,
    /// Its row there.
    pub row: u32,
    /// The first byte of it that is meant, counted from the row's.
    pub byte: u32,
    /// The same, counted from the first row's.
    pub offset: u32,
    /// Whether it changes it.
    pub writes: bool,
    /// From where in the code.
    pub from: usize,
}

/// Counts of one cause.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// How often it came.
    pub times: u64,
    /// Accesses to state.
    pub accesses: u64,
    /// Lines that came from another CPU, by distance.
    pub fetched: [u64; 3],
}

/// Where lines are fetched: the kind, the byte in the row that was wanted first, and from where in the code.
pub type Place = (Kind, u32, usize);

/// What locks were held for.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// How often.
    pub times: u64,
    /// Accesses to state meanwhile.
    pub accesses: u64,
    /// In one hold at most.
    pub most: u64,
}

/// A line by its kind and number.
pub type LineId = (Kind, u32);

/// See the module.
pub struct LineCounter {
    machine: Machine,
    begin: Nanos,
    end: Nanos,
    measures: bool,
    lines: Vec<Vec<Line>>,
    running: Option<(Cause, CpuId)>,
    /// Of a wake-up, whose CPU its event will name.
    pending: Vec<Touch>,
    woken_at: CpuId,
    held: Option<u64>,
    /// By cause, in the order of [`CAUSES`].
    pub counts: [Counts; 3],
    /// Fetches by cause and place.
    pub places: BTreeMap<(Cause, Place), u64>,
    /// Bytes of lines that were written when they were taken.
    pub taken: BTreeMap<LineId, BTreeMap<(u32, u32), u64>>,
    /// Locks.
    pub holds: Holds,
}

impl LineCounter {
    /// Counts between two moments.
    pub fn new(machine: Machine, begin: Nanos, end: Nanos) -> LineCounter {
        LineCounter {
            machine,
            begin,
            end,
            measures: false,
            lines: vec![Vec::new(); KINDS],
            running: None,
            pending: Vec::new(),
            woken_at: CpuId(0),
            held: None,
            counts: Default::default(),
            places: BTreeMap::new(),
            taken: BTreeMap::new(),
            holds: Holds::default(),
        }
    }

    /// A callback begins on a CPU; for a wake-up that of the thread.
    pub fn begin(&mut self, cause: Cause, cpu: CpuId) {
        if cause == Cause::Wake && self.pending.is_empty() {
            self.woken_at = cpu;
        }
        if cause == Cause::Tick && self.measures {
            self.count(cause).times += 1;
        }
        self.running = Some((cause, cpu));
    }

    /// It returns.
    pub fn end(&mut self) {
        self.running = None;
    }

    /// It takes or gives back a lock.
    pub fn lock(&mut self, acquires: bool) {
        if acquires {
            self.held = Some(0);
        } else if let Some(accesses) = self.held.take().filter(|_| self.measures) {
            self.holds.times += 1;
            self.holds.accesses += accesses;
            self.holds.most = self.holds.most.max(accesses);
        }
    }

    /// It touches a line.
    pub fn touch(&mut self, touch: Touch) {
        let Some((cause, cpu)) = self.running else { return };
        if let Some(accesses) = &mut self.held {
            *accesses += 1;
        }
        if cause == Cause::Wake {
            self.pending.push(touch);
        } else {
            self.apply(cause, cpu, touch);
        }
    }

    fn count(&mut self, cause: Cause) -> &mut Counts {
        let at = CAUSES.iter().position(|&other| other == cause).expect("one of them");
        &mut self.counts[at]
    }

    fn apply(&mut self, cause: Cause, cpu: CpuId, touch: Touch) {
        let number = touch.offset / LINE;
        let lines = &mut self.lines[touch.kind.index()];
        if lines.len() <= number as usize {
            lines.resize(number as usize + 1, Line::default());
        }
        let effect = lines[number as usize].touch(cpu, touch.writes);
        if !self.measures {
            return;
        }
        self.count(cause).accesses += 1;
        if effect.took {
            let bytes = self.taken.entry((touch.kind, number)).or_default();
            *bytes.entry((touch.row, touch.byte)).or_default() += 1;
        }
        if let Some(from) = effect.from {
            let distance = Distance::between(&self.machine, from, cpu);
            let at = DISTANCES.iter().position(|&other| other == distance).expect("one of them");
            self.count(cause).fetched[at] += 1;
            let place = (touch.kind, touch.byte, touch.from);
            *self.places.entry((cause, place)).or_default() += 1;
        }
    }

    /// Lines a switch that came from CPUs of the same cache, and from others.
    pub fn lines_a_switch(&self) -> (f64, f64) {
        let Counts { times, fetched: [cache, node, machine], .. } = self.counts[0];
        let each = |fetched: u64| fetched as f64 / times.max(1) as f64;
        (each(cache), each(node + machine))
    }

    /// How often in a millisecond the machine-wide line that is written most is taken for it.
    pub fn most_written(&self) -> f64 {
        self.machine_wide().first().map_or(0.0, |(_, times)| *times as f64 / self.millis())
    }

    /// The milliseconds that were counted.
    pub fn millis(&self) -> f64 {
        (self.end - self.begin).as_secs_f64() * 1e3
    }

    /// Whether CPUs of several caches, and more than half of all, use a line.
    fn is_machine_wide(&self, (kind, number): LineId) -> bool {
        let users = self.lines[kind.index()][number as usize].users;
        let cpus = || (0..self.machine.cpus).map(CpuId).filter(|&cpu| users.contains(cpu));
        let cache = |cpu: CpuId| cpu.0 / (self.machine.cpus / self.machine.llcs);
        let first = cpus().next().map(cache);
        users.len() > self.machine.cpus / 2 && cpus().any(|cpu| Some(cache(cpu)) != first)
    }

    /// Machine-wide lines with how often each was taken for writing, the most often first.
    pub fn machine_wide(&self) -> Vec<(LineId, u64)> {
        let wide = self.taken.iter().filter(|(line, _)| self.is_machine_wide(**line));
        let mut wide: Vec<(LineId, u64)> =
            wide.map(|(line, bytes)| (*line, bytes.values().sum())).collect();
        wide.sort_by_key(|(line, times)| (std::cmp::Reverse(*times), *line));
        wide
    }
}

impl Observer for LineCounter {
    fn on(&mut self, event: &Event) {
        self.measures = event.at >= self.begin && event.at < self.end;
        match event.what {
            What::Wake { by, .. } => {
                let cpu = by.unwrap_or(self.woken_at);
                for touch in std::mem::take(&mut self.pending) {
                    self.apply(Cause::Wake, cpu, touch);
                }
                self.count(Cause::Wake).times += u64::from(self.measures);
            }
            What::Switch { .. } => self.count(Cause::Switch).times += u64::from(self.measures),
            _ => {}
        }
    }
}
