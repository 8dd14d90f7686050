//! A trace out of a file, every word of it doubted.

use model::event::{Event, NameId, What};
use model::trace::{ProgramTrace, Request, Stages, ThreadTrace, Usage, Window};
use model::{CpuId, Failure, Nanos, ThreadId, Trace};
use serde::de::DeserializeOwned;

use crate::block::{self, End, EventEntry, Kind, PREFIX, Requests};
use crate::limits::{self, Moments, Spent};
use crate::{Header, Recorded, SCHEMA};

/// Reads a trace; `name` is the file's, for messages.
///
/// [`Failure::Input`] says what is wrong at which byte, whatever the bytes are.
pub fn read(bytes: &[u8], name: &str) -> Result<Recorded, Failure> {
    parse(bytes).map_err(|(at, fault)| Failure::Input(format!("{name}: at byte {at}: {fault}")))
}

/// Where something is wrong, and what.
type Fault = (usize, String);

fn parse(bytes: &[u8]) -> Result<Recorded, Fault> {
    let mut blocks = Blocks { bytes, at: schema(bytes)? };
    let Some((begin, Kind::Header, content)) = blocks.next().transpose()? else {
        return Err((SCHEMA.len() + 1, "the header is missing".to_string()));
    };
    let mut reader = Reader::new(header(content).map_err(|fault| (begin + PREFIX, fault))?);
    for block in blocks {
        let (begin, kind, content) = block?;
        reader.take(kind, content).map_err(|fault| (begin, fault))?;
    }
    reader.finish().map_err(|fault| (bytes.len(), fault))
}

/// The blocks of a file from a byte on, each with the byte that it begins at.
struct Blocks<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<(usize, Kind, &'a [u8]), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let begin = self.at;
        let rest = self.bytes.get(begin..).filter(|rest| !rest.is_empty())?;
        Some(match block::take(rest) {
            Ok((kind, content)) => {
                self.at += PREFIX + content.len();
                Ok((begin, kind, content))
            }
            Err(fault) => {
                self.at = self.bytes.len();
                Err((begin, fault))
            }
        })
    }
}

/// Where the blocks begin.
fn schema(bytes: &[u8]) -> Result<usize, Fault> {
    let (family, version) = SCHEMA.split_once('/').unwrap_or((SCHEMA, ""));
    let Some(rest) = bytes.strip_prefix(family.as_bytes()).and_then(|r| r.strip_prefix(b"/"))
    else {
        return Err((0, "this is not a trace of rearguard; `--trace FILE` writes one".to_string()));
    };
    let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line != version.as_bytes() || line.len() == rest.len() {
        let found = String::from_utf8_lossy(&line[..line.len().min(16)]).into_owned();
        let fault = format!(
            "a trace of version `{}`, and this rearguard reads version {version}: read it with the one that wrote it",
            found.escape_debug()
        );
        return Err((family.len() + 1, fault));
    }
    Ok(SCHEMA.len() + 1)
}

fn header(content: &[u8]) -> Result<Header, String> {
    let header: Header = serde_json::from_slice(content)
        .map_err(|error| format!("the header cannot be read: {error}"))?;
    match header.fault() {
        Some(fault) => Err(format!("the header cannot be: {fault}")),
        None => Ok(header.printable()),
    }
}

/// A trace as far as it has been read.
struct Reader {
    header: Header,
    programs: Vec<ProgramTrace>,
    usage: Vec<Usage>,
    events: Vec<Event>,
    end: Option<End>,
    spent: Spent,
    moments: Moments,
    /// By program, by request: when a thread was done with it, by the events.
    finished: Vec<Vec<Option<Nanos>>>,
}

impl Reader {
    fn new(header: Header) -> Reader {
        let programs = vec![ProgramTrace::default(); header.programs.len()];
        Reader {
            moments: Moments::new(header.cpus.cpus),
            finished: vec![Vec::new(); programs.len()],
            header,
            programs,
            usage: Vec::new(),
            events: Vec::new(),
            end: None,
            spent: Spent::default(),
        }
    }

    fn take(&mut self, kind: Kind, content: &[u8]) -> Result<(), String> {
        if self.end.is_some() {
            return Err("something follows the end".to_string());
        }
        match kind {
            Kind::Header => Err("a second header".to_string()),
            Kind::Requests => self.requests(whole(content)?),
            Kind::Stages => self.stages(whole(content)?),
            Kind::Usage => self.usage(whole(content)?),
            Kind::Events => self.events(whole(content)?),
            Kind::End => {
                let end: End = whole(content)?;
                ensure(end.rounds.len() == self.programs.len(), "rounds of other programs")?;
                self.end = Some(end);
                Ok(())
            }
        }
    }

    fn requests(&mut self, block: Requests) -> Result<(), String> {
        let index = usize::try_from(block.program).unwrap_or(usize::MAX);
        let program = self.programs.get_mut(index);
        let program = program.ok_or("requests of a program that there is not")?;
        self.spent.requests(&self.header, index, block.stamps.len())?;
        let mut last = Nanos::ZERO;
        let first = program.requests.len();
        program.requests.extend(block.stamps.iter().map(|stamps| request(&mut last, stamps)));
        program.requests[first..].iter().try_for_each(|one| {
            self.moments.fault_of(one).map_or(Ok(()), Err)?;
            self.spent.request(one)
        })
    }

    fn stages(&mut self, block: block::Stages) -> Result<(), String> {
        let program = usize::try_from(block.program).ok();
        let program = program.and_then(|index| self.programs.get_mut(index));
        let program = program.ok_or("stages of a program that there is not")?;
        let mut last = Nanos::ZERO;
        let first = program.stages.len();
        program.stages.extend(block.moments.iter().map(|moments| stages(&mut last, moments)));
        let in_time = program.stages[first..].iter().all(|one| self.moments.has_stages(one));
        ensure(in_time, &self.moments.fault("a stage"))?;
        ensure(program.stages.len() <= program.requests.len(), "stages without a request")
    }

    fn usage(&mut self, block: block::Usage) -> Result<(), String> {
        ensure(block.grown.len() == self.header.threads.len(), "CPU time of other threads")?;
        let last = self.usage.last();
        ensure(last.is_none_or(|last| last.at <= block.at), "CPU time goes back in time")?;
        ensure(self.moments.is_reached(block.at), &self.moments.fault("CPU time of a moment"))?;
        let before = |i: usize| last.map_or(0, |last| last.cpu_time[i].0);
        let sum = |(i, grown): (usize, &u64)| before(i).checked_add(*grown).map(Nanos);
        let cpu_time = block.grown.iter().enumerate().map(sum).collect::<Option<_>>();
        let cpu_time = cpu_time.ok_or("CPU time beyond all bounds")?;
        self.usage.push(Usage { at: block.at, cpu_time });
        let fits = !limits::too_many_readings(&self.header, self.usage.len());
        ensure(fits, "too many readings of CPU time for so many programs")
    }

    fn events(&mut self, block: Vec<EventEntry>) -> Result<(), String> {
        ensure(self.header.events, "events that the header does not announce")?;
        for (since, what) in block {
            let last = self.events.last().map_or(0, |event| event.at.0);
            let at = last.checked_add(since).map(Nanos).ok_or("a moment beyond all bounds")?;
            ensure(
                self.is_possible(&what),
                "an event of a thread, CPU, request or name that there is not",
            )?;
            if !self.moments.has_event(at, &what) {
                return Err(self.moments.fault("an event"));
            }
            self.spent.event(&self.header, &what)?;
            self.finish_request(at, &what)?;
            self.events.push(Event { at, what });
        }
        Ok(())
    }

    /// Analyses count requests under way: one that ends twice would make them one too few.
    fn finish_request(&mut self, at: Nanos, what: &What) -> Result<(), String> {
        let (What::Start { thread, request } | What::Finish { thread, request }) = *what else {
            return Ok(());
        };
        let program = self.header.threads[thread.index()];
        let finished = &mut self.finished[program];
        finished.resize(self.programs[program].requests.len(), None);
        let finished = &mut finished[request as usize];
        match (what, *finished) {
            (What::Finish { .. }, None) => *finished = Some(at),
            (What::Finish { .. }, Some(_)) => return Err("a request that ends twice".to_string()),
            (_, Some(end)) if end < at => {
                return Err("a request that begins after its end".to_string());
            }
            _ => {}
        }
        Ok(())
    }

    fn is_possible(&self, what: &What) -> bool {
        let cpu = |cpu: CpuId| cpu.0 < self.header.cpus.cpus;
        let thread = |thread: ThreadId| thread.index() < self.header.threads.len();
        let serves = |by: ThreadId, request: u32| {
            let program = self.header.threads.get(by.index());
            program.is_some_and(|p| (request as usize) < self.programs[*p].requests.len())
        };
        let named = |name: NameId| (name.0 as usize) < self.header.tables.names.len();
        match *what {
            What::Fork { thread: which }
            | What::Off { thread: which, .. }
            | What::Released { thread: which } => thread(which),
            What::Wake { thread: which, cpu: on, by } => {
                thread(which) && cpu(on) && by.is_none_or(cpu)
            }
            What::Waking { thread: which, by } => thread(which) && cpu(by),
            What::Block { thread: which, cpu: on } => thread(which) && cpu(on),
            What::Migrate { thread: which, from, to } => thread(which) && cpu(from) && cpu(to),
            What::Switch { cpu: on, from, to, .. } => {
                cpu(on) && from.is_none_or(thread) && to.is_none_or(thread)
            }
            What::Start { thread, request } | What::Finish { thread, request } => {
                serves(thread, request)
            }
            What::InterruptBegin { cpu: on, name, .. }
            | What::InterruptEnd { cpu: on, name, .. } => cpu(on) && named(name),
            What::IdleExit { cpu: on, state, .. } => cpu(on) && named(state),
            What::Affinity { thread: which, cpus } => {
                thread(which) && (cpus.0 as usize) < self.header.tables.cpu_sets.len()
            }
            What::Nice { thread: which, .. } => thread(which),
            What::Weight { group, .. } => (group as usize) < self.header.groups.len(),
            What::Offline { cpu: on } | What::Online { cpu: on } => cpu(on),
        }
    }

    fn finish(self) -> Result<Recorded, String> {
        let end = self.end.ok_or("the file is cut short: its end is missing")?;
        let header = self.header;
        let programs = self.programs.into_iter().zip(end.rounds);
        let trace = Trace {
            policy: header.policy.clone(),
            kernel: header.kernel.clone(),
            seed: header.seed,
            window: Window {
                start: Nanos(header.window_start_ns),
                end: Nanos(header.window_end_ns),
            },
            programs: programs
                .map(|(program, rounds)| ProgramTrace { rounds, ..program })
                .collect(),
            threads: header.threads.iter().map(|&program| ThreadTrace { program }).collect(),
            usage: self.usage,
            counters: end.counters,
            neighbours: None,
            events: header.events.then_some(self.events),
            tables: header.tables.clone(),
        };
        Ok(Recorded { header, trace })
    }
}

fn request(last: &mut Nanos, stamps: &[i64; 6]) -> Request {
    let after = |before: Nanos, delta: i64| Nanos(before.0.wrapping_add(delta as u64));
    let intended = after(*last, stamps[0]);
    *last = intended;
    let sent = after(intended, stamps[1]);
    let started = after(sent, stamps[2]);
    let completed = after(started, stamps[3]);
    let received = after(completed, stamps[4]);
    Request { intended, sent, started, completed, received, service: Nanos(stamps[5] as u64) }
}

fn stages(last: &mut Nanos, moments: &[i64; 6]) -> Stages {
    let mut at = *last;
    let [arrived, ready, running, read, sends, transmitted] = moments.map(|since| {
        at = Nanos(at.0.wrapping_add(since as u64));
        at
    });
    *last = arrived;
    Stages { arrived, ready, running, read, sends, transmitted }
}

/// Everything in a block as one value.
fn whole<T: DeserializeOwned>(content: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(content) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes of the block are left over", rest.len())),
        Err(error) => Err(format!("the block cannot be read: {error}")),
    }
}

fn ensure(holds: bool, fault: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault.to_string()) }
}
