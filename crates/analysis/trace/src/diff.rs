//! Where two traces part: the first decision that differs, and what became of the latencies.

mod latency;
mod tables;
mod text;

use model::event::{CpuSetId, Event, NameId, Tables, What};
use model::trace::Request;

use crate::Recorded;
pub use latency::ProgramDifference;
pub use tables::{DIFF_SCHEMA, tables};
pub use text::text;

/// Events of both that are shown before the parting, and of each after it.
const CONTEXT: usize = 4;

/// What differs between two traces.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Of what the traces are: policy, seed, arm and the like, where they differ.
    pub settings: Vec<Setting>,
    /// The first difference.
    pub parting: Parting,
    /// One entry for each program that has requests, where both traces have the same programs.
    pub programs: Vec<ProgramDifference>,
    /// Whether CPU times or totals differ.
    pub totals: bool,
}

/// A setting in which two traces differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Which.
    pub name: &'static str,
    /// In the first trace.
    pub a: String,
    /// In the second.
    pub b: String,
}

/// Where two traces part.
#[derive(Clone, Debug, PartialEq)]
pub enum Parting {
    /// All decisions, or all requests where there are no decisions to compare, are the same.
    Never,
    /// At a scheduling event.
    Event(Side<Event>),
    /// At a request: one of the traces has no scheduling events, or none of them differs.
    Request {
        /// Index of the program.
        program: usize,
        /// The request.
        at: Side<Request>,
    },
}

/// The neighbourhood of a first difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Side<T> {
    /// How many are the same before it.
    pub index: usize,
    /// The last of those.
    pub before: Vec<T>,
    /// How the first trace goes on.
    pub a: Vec<T>,
    /// How the second does.
    pub b: Vec<T>,
}

impl Difference {
    /// Whether the traces tell the same story.
    pub fn is_none(&self) -> bool {
        self.settings.is_empty() && self.parting == Parting::Never && !self.totals
    }
}

/// Compares two traces. Their writer and their command do not count.
pub fn diff(a: &Recorded, b: &Recorded) -> Difference {
    let comparable = a.header.programs == b.header.programs;
    let programs = if comparable { latency::differences(a, b) } else { Vec::new() };
    Difference {
        settings: settings(a, b),
        parting: parting(a, b),
        programs,
        totals: a.trace.usage != b.trace.usage
            || a.trace.counters != b.trace.counters
            || rounds(a) != rounds(b),
    }
}

fn rounds(of: &Recorded) -> Vec<u64> {
    of.trace.programs.iter().map(|program| program.rounds).collect()
}

fn settings(a: &Recorded, b: &Recorded) -> Vec<Setting> {
    let (a, b) = (&a.header, &b.header);
    let unknown = || "unknown".to_string();
    let window = |h: &crate::Header| format!("{} ns to {} ns", h.window_start_ns, h.window_end_ns);
    let cpus = |h: &crate::Header| {
        let machine = h.cpus;
        format!(
            "{} CPUs, {} a core, {} caches, {} nodes",
            machine.cpus, machine.smt, machine.llcs, machine.nodes
        )
    };
    let text = |h: &crate::Header| format!("{:08x}", crc32fast::hash(h.scenario_text.as_bytes()));
    let of_programs =
        |h: &crate::Header| format!("{:?} {:?} {:?}", h.programs, h.groups, h.threads);
    let all = [
        ("scenario", a.scenario.clone(), b.scenario.clone()),
        ("scenario text, checksum", text(a), text(b)),
        ("programs", of_programs(a), of_programs(b)),
        ("machine", cpus(a), cpus(b)),
        ("arm", a.arm.clone(), b.arm.clone()),
        ("policy", a.policy.clone(), b.policy.clone()),
        (
            "kernel",
            a.kernel.clone().unwrap_or_else(unknown),
            b.kernel.clone().unwrap_or_else(unknown),
        ),
        ("seed", a.seed.to_string(), b.seed.to_string()),
        ("measured part", window(a), window(b)),
        ("scheduling events", a.events.to_string(), b.events.to_string()),
    ];
    let differing = all.into_iter().filter(|(_, a, b)| a != b);
    differing.map(|(name, a, b)| Setting { name, a, b }).collect()
}

fn parting(a: &Recorded, b: &Recorded) -> Parting {
    let events = a.trace.events.as_ref().zip(b.trace.events.as_ref());
    let tables = [&a.header.tables, &b.header.tables];
    if let Some(side) = events.and_then(|(a, b)| side(a, b, |a, b| alike(a, b, tables))) {
        return Parting::Event(side);
    }
    let programs = a.trace.programs.iter().zip(&b.trace.programs).enumerate();
    let mut first: Option<(usize, Side<Request>)> = None;
    for (program, (a, b)) in programs {
        let Some(found) = side(&a.requests, &b.requests, PartialEq::eq) else { continue };
        if first.as_ref().is_none_or(|(_, first)| intended(&found) < intended(first)) {
            first = Some((program, found));
        }
    }
    first.map_or(Parting::Never, |(program, at)| Parting::Request { program, at })
}

/// Whether two events say the same. Each trace numbers names and sets of CPUs in its own order.
fn alike(one: &Event, other: &Event, [a, b]: [&Tables; 2]) -> bool {
    let same = |mut what: What| {
        match &mut what {
            What::InterruptBegin { name, .. }
            | What::InterruptEnd { name, .. }
            | What::IdleExit { state: name, .. } => {
                let known = a.names.iter().position(|known| *known == b.names[name.0 as usize]);
                *name = NameId(known.map_or(u32::MAX, |at| at as u32));
            }
            What::Affinity { cpus, .. } => {
                let own = &b.cpu_sets[cpus.0 as usize];
                let known = a.cpu_sets.iter().position(|known| known == own);
                *cpus = CpuSetId(known.map_or(u32::MAX, |at| at as u32));
            }
            _ => {}
        }
        what == one.what
    };
    one.at == other.at && same(other.what)
}

fn intended(side: &Side<Request>) -> Option<model::Nanos> {
    side.a.first().or(side.b.first()).map(|request| request.intended)
}

/// The neighbourhood of the first difference of two lists.
fn side<T: Copy>(a: &[T], b: &[T], is: impl Fn(&T, &T) -> bool) -> Option<Side<T>> {
    let same = a.iter().zip(b).take_while(|(a, b)| is(a, b)).count();
    if same == a.len() && same == b.len() {
        return None;
    }
    let after = |of: &[T]| of[same..].iter().take(CONTEXT).copied().collect();
    let before = a[same.saturating_sub(CONTEXT)..same].to_vec();
    Some(Side { index: same, before, a: after(a), b: after(b) })
}
