//! A server of one thread on one CPU, first come, first served, that stalls for known causes.

use std::collections::BTreeMap;

use explain::{Class, Culprit, Program, Service, Setting, Source, Verdict, explain};
use model::event::{Cause as Off, Event, Interrupt, NameId, Tables, What, Why};
use model::scenario::Machine;
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

const CPU: CpuId = CpuId(0);
const SERVER: ThreadId = ThreadId(0);
const OTHER: ThreadId = ThreadId(1);

/// Why a server stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Hog,
    Interrupt,
    Lock,
    Sleep,
    Stopped,
    Throttled,
    /// It works on something else.
    Own,
}

impl Cause {
    pub fn source(self) -> Source {
        match self {
            Cause::Hog => Source::Background,
            Cause::Interrupt => Source::Interrupt,
            Cause::Lock => Source::Lock,
            Cause::Sleep => Source::Sleep,
            Cause::Stopped => Source::Stopped,
            Cause::Throttled => Source::Throttled,
            Cause::Own => Source::Own,
        }
    }

    fn off(self) -> Option<Off> {
        match self {
            Cause::Lock => Some(Off::Lock),
            Cause::Sleep => Some(Off::Sleep),
            Cause::Stopped => Some(Off::Stopped),
            Cause::Throttled => Some(Off::Throttled),
            _ => None,
        }
    }
}

/// What it has to do, and what keeps it from that.
pub struct Server {
    /// Arrival and service time.
    pub requests: Vec<(u64, u64)>,
    /// From when on, why, for how long; one that comes while the server is idle begins with its next request.
    pub stalls: Vec<(u64, Cause, u64)>,
    /// Whether events tell what keeps a thread off the CPU.
    pub told: bool,
}

/// What happened.
pub struct Run {
    pub trace: Trace,
    /// By request: what each source took of it.
    pub truth: Vec<Vec<(Source, f64)>>,
}

/// A server at work.
#[derive(Default)]
struct Working {
    events: Vec<Event>,
    started: Vec<u64>,
    completed: Vec<u64>,
    /// What is left of the request under way.
    left: u64,
    stall: Option<(Cause, u64)>,
    awake: bool,
    owed: BTreeMap<Source, f64>,
    truth: Vec<BTreeMap<Source, f64>>,
}

impl Server {
    /// Follows it nanosecond by nanosecond.
    pub fn run(&self) -> Run {
        let mut work = Working::default();
        let mut stalls = self.stalls.iter().peekable();
        let (mut arrived, mut ideal_work, mut now) = (0, 0u64, 0u64);
        while work.completed.len() < self.requests.len() {
            while let Some((_, service)) = self.requests.get(arrived).filter(|one| one.0 <= now) {
                ideal_work += service;
                arrived += 1;
                work.truth.push(work.owed.clone());
            }
            if arrived > work.completed.len() {
                if work.stall.is_none()
                    && let Some((_, cause, length)) = stalls.next_if(|one| one.0 <= now)
                {
                    work.take(now, arrived, self);
                    work.stall = Some((*cause, *length));
                    work.tell(now, *cause, self.told);
                }
                work.take(now, arrived, self);
            }
            let productive = work.step();
            let ideal_busy = ideal_work > 0;
            ideal_work = ideal_work.saturating_sub(1);
            work.book(ideal_busy, productive);
            now += 1;
            work.finish(now);
        }
        let truth = work.truth.iter().map(|one| one.iter().map(|(s, ns)| (*s, *ns)).collect());
        let truth = truth.collect();
        Run { trace: self.trace(work, now), truth }
    }

    fn trace(&self, work: Working, end: u64) -> Trace {
        let request = |(at, (arrival, service)): (usize, &(u64, u64))| {
            let [intended, started, completed, service] =
                [*arrival, work.started[at], work.completed[at], *service].map(Nanos);
            Request { intended, sent: intended, started, completed, received: completed, service }
        };
        let requests: Vec<Request> = self.requests.iter().enumerate().map(request).collect();
        let start = |(request, one): (u32, &Request)| Event {
            at: one.started,
            what: What::Start { thread: SERVER, request },
        };
        let mut events = work.events;
        events.extend((0..).zip(&requests).map(start));
        events.sort_by_key(|event| event.at);
        Trace {
            seed: 1,
            window: Window { start: Nanos::ZERO, end: Nanos(end) },
            programs: vec![
                ProgramTrace { requests, ..ProgramTrace::default() },
                ProgramTrace::default(),
            ],
            threads: vec![ThreadTrace { program: 0 }, ThreadTrace { program: 1 }],
            events: Some(events),
            tables: Tables { names: vec!["storm".to_string()], ..Tables::default() },
            ..Trace::default()
        }
    }

    pub fn explained(&self, run: &Run) -> Service {
        explain(&run.trace, &setting(["p", "p"], 1)).expect("events").services.remove(0)
    }

    /// As the result document says it.
    pub fn documents(&self, run: &Run) -> Vec<report::explain::ExplainedService> {
        explain(&run.trace, &setting(["p", "p"], 1)).expect("events").documents()
    }
}

/// A service and another program by name, on so many CPUs.
fn setting(names: [&str; 2], cpus: u32) -> Setting {
    let program = |(process, name): (usize, &str)| Program {
        name: name.to_string(),
        group: None,
        owner: None,
        descends: false,
        serves: process == 0,
        process,
        memory: None,
    };
    let programs = (0..).zip(names).map(program).collect();
    Setting { machine: Machine { cpus, ..Machine::ONE_CPU }, programs }
}

/// The verdict's class and what is blamed, where the trace is of these two programs.
pub fn blamed(trace: &Trace, names: [&str; 2], cpus: u32) -> (Class, Option<(Source, Culprit)>) {
    let verdict = explain(trace, &setting(names, cpus)).expect("events").services[0].verdict();
    (verdict.class, worst(&verdict))
}

/// The source and the culprit with the most of a verdict's class.
pub fn worst(verdict: &Verdict) -> Option<(Source, Culprit)> {
    verdict.parts.iter().max_by_key(|part| part.2).map(|part| (part.0, part.1))
}

/// What is said to help against the first source, where the second program may descend from the first.
pub fn background_helps(trace: &Trace, names: [&str; 2], descends: bool) -> String {
    let mut setting = setting(names, 1);
    setting.programs[1].descends = descends;
    let told = explain(trace, &setting).expect("events").documents().remove(0);
    told.findings[0].mitigation.clone()
}

/// The same where both are in this group, and the second one may descend from the first.
pub fn blamed_class(trace: &Trace, names: [&str; 2], group: Option<&str>, descends: bool) -> Class {
    let mut setting = setting(names, 1);
    setting.programs.iter_mut().for_each(|one| one.group = group.map(String::from));
    setting.programs[1].descends = descends;
    explain(trace, &setting).expect("events").services[0].verdict().class
}

impl Working {
    fn push(&mut self, at: u64, what: What) {
        self.events.push(Event { at: Nanos(at), what });
    }

    fn switch(&mut self, at: u64, from: Option<ThreadId>, to: Option<ThreadId>) {
        self.push(at, What::Switch { cpu: CPU, from, to, why: Why::Idle });
    }

    /// Takes up the next request, if none is under way.
    fn take(&mut self, now: u64, arrived: usize, server: &Server) {
        let next = self.completed.len();
        if self.left > 0 || next >= arrived || self.stall.is_some() {
            return;
        }
        if !self.awake {
            self.awake = true;
            self.push(now, What::Wake { thread: SERVER, cpu: CPU, by: None });
            self.switch(now, None, Some(SERVER));
        }
        self.started.push(now);
        self.left = server.requests[next].1;
    }

    /// A stall begins.
    fn tell(&mut self, now: u64, cause: Cause, told: bool) {
        let off = cause.off().filter(|_| told);
        match cause {
            Cause::Own => {}
            Cause::Interrupt => self.push(
                now,
                What::InterruptBegin { cpu: CPU, kind: Interrupt::Soft, name: NameId(0) },
            ),
            Cause::Hog => self.switch(now, Some(SERVER), Some(OTHER)),
            Cause::Throttled => self.switch(now, Some(SERVER), None),
            Cause::Lock => {
                self.push(now, What::Block { thread: SERVER, cpu: CPU });
                self.switch(now, Some(SERVER), Some(OTHER));
            }
            _ => {
                self.push(now, What::Block { thread: SERVER, cpu: CPU });
                self.switch(now, Some(SERVER), None);
            }
        }
        off.into_iter().for_each(|cause| self.push(now, What::Off { thread: SERVER, cause }));
    }

    /// A nanosecond of work or of its absence. Says whether it was work on a request.
    fn step(&mut self) -> bool {
        if let Some((_, length)) = &mut self.stall {
            *length -= 1;
            return false;
        }
        let works = self.left > 0;
        self.left = self.left.saturating_sub(1);
        works
    }

    /// Books it: what the ideal does and the server does not is owed, and taken from every request that is
    /// there.
    fn book(&mut self, ideal_busy: bool, productive: bool) {
        let here = self.completed.len()..self.truth.len();
        if let Some((cause, _)) = self.stall {
            for one in here {
                *self.truth[one].entry(cause.source()).or_default() += 1.0;
            }
            if ideal_busy {
                *self.owed.entry(cause.source()).or_default() += 1.0;
            }
        } else if productive && !ideal_busy {
            let whole: f64 = self.owed.values().sum();
            let scale = if whole > 1.0 { 1.0 - 1.0 / whole } else { 0.0 };
            self.owed.values_mut().for_each(|ns| *ns *= scale);
        }
    }

    /// A stall or a request ends.
    fn finish(&mut self, now: u64) {
        if let Some((cause, 0)) = self.stall {
            self.stall = None;
            match cause {
                Cause::Own => {}
                Cause::Interrupt => self.push(
                    now,
                    What::InterruptEnd { cpu: CPU, kind: Interrupt::Soft, name: NameId(0) },
                ),
                Cause::Hog => self.switch(now, Some(OTHER), Some(SERVER)),
                Cause::Throttled => self.switch(now, None, Some(SERVER)),
                Cause::Lock => {
                    self.push(now, What::Wake { thread: SERVER, cpu: CPU, by: Some(CPU) });
                    self.switch(now, Some(OTHER), Some(SERVER));
                }
                _ => {
                    self.push(now, What::Wake { thread: SERVER, cpu: CPU, by: None });
                    self.switch(now, None, Some(SERVER));
                }
            }
            return;
        }
        if self.left == 0 && self.awake && self.started.len() > self.completed.len() {
            self.completed.push(now);
            if self.completed.len() == self.truth.len() {
                self.awake = false;
                self.push(now, What::Block { thread: SERVER, cpu: CPU });
                self.switch(now, Some(SERVER), None);
            }
        }
    }
}
