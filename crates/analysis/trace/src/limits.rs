//! What a trace may not be, so that a small file neither takes gigabytes nor lets arithmetic overflow.

use model::event::{NameId, Process, What};
use model::trace::{Request, Stages};
use model::{Nanos, ThreadId};

use crate::Header;

/// The largest machine of a kernel: `CONFIG_NR_CPUS` of x86 ends there.
pub const MOST_CPUS: u32 = 8_192;
/// The longest name: a path's.
const LONGEST_NAME: usize = 4_096;
/// Bytes of the names of all threads together, each with its program's in front.
const NAMES_BYTES: usize = 256 << 20;
/// Bytes that a name has for nothing each time it is shown: longer ones count.
const USUAL_NAME: usize = 64;
/// Changes of where threads may run, times CPUs: so many entries have the sets that are shown and compared.
const MOST_ADMISSIONS: u64 = 1 << 26;
/// Readings of CPU time, times programs: each is a point of a counter.
const MOST_READINGS: usize = 1 << 24;
/// A moment beyond is none of a run: ten years.
const LAST_MOMENT_NS: u64 = 10 * 365 * DAY_NS;
const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Sums over all CPUs or requests stay below, so that analyses may add in whole nanoseconds.
const GREATEST_SUM_NS: u64 = 1 << 63;

/// A header whose names stand for many times their bytes where each is shown with each thread.
pub fn long_names(header: &Header) -> Option<String> {
    let programs = header.programs.iter();
    let programs =
        programs.flat_map(|one| [&one.name, &one.kind].into_iter().chain(one.owner.as_ref()));
    let groups = header.groups.iter().map(|group| &group.name);
    let others = header.tables.others.iter().flat_map(Process::names);
    let mut names = programs.chain(groups).chain(&header.tables.names).chain(others);
    if names.any(|name| name.len() > LONGEST_NAME) {
        return Some(format!("a name of more than {LONGEST_NAME} bytes"));
    }
    let bytes: usize =
        header.threads.iter().map(|program| shown_with_thread(header, *program)).sum();
    (bytes > NAMES_BYTES).then(|| format!("names of {bytes} bytes for its threads"))
}

/// Bytes of the names that each thread of a program is shown with.
fn shown_with_thread(header: &Header, program: usize) -> usize {
    let Some(program) = header.programs.get(program) else { return 0 };
    let group = program.group.and_then(|group| header.groups.get(group));
    program.name.len() + program.kind.len() + group.map_or(0, |group| group.name.len())
}

/// A set in which a CPU stands twice: it would be longer than the machine.
pub fn repeats_cpus(header: &Header) -> bool {
    header.tables.cpu_sets.iter().any(|set| set.len() > header.cpus.cpus as usize)
}

/// Too many readings of CPU time for so many programs.
pub fn too_many_readings(header: &Header, readings: usize) -> bool {
    readings.saturating_mul(header.programs.len()) > MOST_READINGS
}

/// What the entries of a file stand for, counted as they are read.
#[derive(Default)]
pub struct Spent {
    names: usize,
    admissions: u64,
    latencies: Nanos,
    services: Nanos,
}

impl Spent {
    /// A request is shown with its program's name.
    pub fn requests(
        &mut self,
        header: &Header,
        program: usize,
        count: usize,
    ) -> Result<(), String> {
        let each = header.programs[program].name.len().saturating_sub(USUAL_NAME);
        self.named(count.saturating_mul(each))
    }

    /// An event is shown with the names of what it is about.
    pub fn event(&mut self, header: &Header, what: &What) -> Result<(), String> {
        let beyond = |name: &str| name.len().saturating_sub(USUAL_NAME);
        let thread = |one: ThreadId| beyond(&header.programs[header.threads[one.index()]].name);
        let name = |one: NameId| beyond(&header.tables.names[one.0 as usize]);
        match *what {
            What::Switch { from, to, .. } => {
                self.named(from.into_iter().chain(to).map(thread).sum())
            }
            What::Wake { thread: one, .. } | What::Migrate { thread: one, .. } => {
                self.named(thread(one))
            }
            What::InterruptBegin { name: of, .. }
            | What::InterruptEnd { name: of, .. }
            | What::IdleExit { state: of, .. } => self.named(name(of)),
            What::Weight { group, .. } => self.named(beyond(&header.groups[group as usize].name)),
            What::Affinity { .. } => self.admitted(u64::from(header.cpus.cpus)),
            _ => Ok(()),
        }
    }

    /// How long requests took and what they cost is added up.
    pub fn request(&mut self, request: &Request) -> Result<(), String> {
        let known = |span: Nanos| if span == Nanos::NEVER { Nanos::ZERO } else { span };
        self.latencies = self.latencies.saturating_add(known(request.latency()));
        self.services = self.services.saturating_add(known(request.service));
        if self.latencies.max(self.services).0 <= GREATEST_SUM_NS {
            return Ok(());
        }
        Err(format!("requests of more than {} days together", GREATEST_SUM_NS / DAY_NS))
    }

    fn named(&mut self, bytes: usize) -> Result<(), String> {
        self.names = self.names.saturating_add(bytes);
        if self.names <= NAMES_BYTES {
            return Ok(());
        }
        Err(format!("names of more than {NAMES_BYTES} bytes for its events and requests"))
    }

    fn admitted(&mut self, cpus: u64) -> Result<(), String> {
        self.admissions += cpus;
        if self.admissions <= MOST_ADMISSIONS {
            return Ok(());
        }
        Err(format!("more than {} changes of where threads may run", MOST_ADMISSIONS / cpus))
    }
}

/// What moments a trace of a machine may have.
#[derive(Clone, Copy)]
pub struct Moments {
    last: Nanos,
}

impl Moments {
    /// Of a machine of so many CPUs.
    pub fn new(cpus: u32) -> Moments {
        Moments { last: Nanos(LAST_MOMENT_NS.min(GREATEST_SUM_NS / u64::from(cpus.max(1)))) }
    }

    /// Whether a run reaches such a moment.
    pub fn is_reached(self, at: Nanos) -> bool {
        at <= self.last
    }

    /// Whether a run may have such a stamp: of what it reaches, or of what never was.
    pub fn has(self, at: Nanos) -> bool {
        self.is_reached(at) || at == Nanos::NEVER
    }

    /// Whether something happens at a moment. An exit from an idle state has one more, its end.
    pub fn has_event(self, at: Nanos, what: &What) -> bool {
        let took = if let What::IdleExit { took, .. } = what { *took } else { Nanos::ZERO };
        self.is_reached(at) && self.is_reached(took)
    }

    /// Whether all stages that are known are of a run.
    pub fn has_stages(self, stages: &Stages) -> bool {
        let Stages { arrived, ready, running, read, sends, transmitted } = *stages;
        [arrived, ready, running, read, sends, transmitted].into_iter().all(|at| self.has(at))
    }

    /// What of a request cannot be, if anything.
    pub fn fault_of(self, request: &Request) -> Option<String> {
        let Request { intended, sent, started, completed, received, service } = *request;
        let stamps = [intended, sent, started, completed, received, service];
        if !stamps.into_iter().all(|at| self.has(at)) {
            return Some(self.fault("a request"));
        }
        let known = started != Nanos::NEVER && completed != Nanos::NEVER;
        (known && completed < started).then(|| "a request that ends before it begins".to_string())
    }

    /// Says that something is too late.
    pub fn fault(self, what: &str) -> String {
        format!("{what} beyond {} days", self.last.0 / DAY_NS)
    }
}
