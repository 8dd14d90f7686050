//! The sweep against a slow and plain one: nanosecond by nanosecond, each from the beginning, on random
//! traces, many of which no kernel could make.

use std::collections::BTreeMap;

use model::event::{Event, Interrupt, NameId, Tables, What, Why};
use model::trace::{Counters, ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

use crate::explanation::lay_out;
use crate::setting::{Program, Setting};
use crate::source::{Culprit, Source};
use crate::sweep::{Piece, Subject, Tally};
use crate::timeline::Cursor;

const CPUS: u64 = 3;
/// Threads 0 to 2 serve, 3 and 4 do not.
const THREADS: u64 = 5;
const LENGTH: u64 = 60;

/// A small generator of random numbers (Marsaglia 2003, xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn cpu(&mut self) -> CpuId {
        CpuId(self.below(CPUS) as u32)
    }

    fn thread(&mut self) -> ThreadId {
        ThreadId(self.below(THREADS) as u32)
    }

    fn what(&mut self) -> What {
        let (cpu, thread, name) = (self.cpu(), self.thread(), NameId(self.below(2) as u32));
        match self.below(12) {
            0 => What::InterruptBegin { cpu, kind: Interrupt::Soft, name },
            1 | 2 => What::InterruptEnd { cpu, kind: Interrupt::Soft, name },
            3 => What::IdleExit { cpu, state: name, took: Nanos(self.below(8)) },
            4 => What::Wake { thread, cpu, by: None },
            5 => What::Block { thread, cpu },
            6 => What::Switch { cpu, from: None, to: None, why: Why::Idle },
            7 if self.below(4) == 0 => What::Offline { cpu },
            8 if self.below(2) == 0 => What::Online { cpu },
            _ => What::Switch { cpu, from: None, to: Some(thread), why: Why::Idle },
        }
    }

    /// Up to three moments in order, from `from` on.
    fn moments(&mut self, from: u64) -> [u64; 3] {
        let mut at = from;
        [0; 3].map(|_| {
            at += self.below(12);
            at
        })
    }

    fn trace(&mut self) -> Trace {
        let mut requests = Vec::new();
        let mut starts = Vec::new();
        let mut intended = 0;
        for number in 0..6 {
            intended += self.below(8);
            let [sent, started, completed] = self.moments(intended);
            let stamps = [intended, sent, started, completed, completed].map(Nanos);
            let [intended, sent, started, completed, received] = stamps;
            let service = Nanos(self.below(6));
            requests.push(Request { intended, sent, started, completed, received, service });
            let thread = ThreadId(self.below(3) as u32);
            starts.push(Event { at: started, what: What::Start { thread, request: number } });
        }
        let random = (0..50).map(|_| Event { at: Nanos(self.below(LENGTH)), what: self.what() });
        let mut events: Vec<Event> = random.chain(starts).collect();
        events.sort_by_key(|event| event.at);
        let thread = |program| ThreadTrace { program };
        Trace {
            policy: String::new(),
            kernel: None,
            seed: 1,
            window: Window { start: Nanos(0), end: Nanos(LENGTH) },
            programs: vec![
                ProgramTrace { requests, ..ProgramTrace::default() },
                ProgramTrace::default(),
            ],
            threads: [0, 0, 0, 1, 1].map(thread).to_vec(),
            usage: Vec::new(),
            counters: Counters::default(),
            events: Some(events),
            tables: Tables {
                names: vec!["a".into(), "b".into()],
                cpu_sets: Vec::new(),
                others: Vec::new(),
            },
        }
    }
}

/// The world at one nanosecond, replayed from the first event.
#[derive(Default)]
struct World {
    occupant: BTreeMap<u32, ThreadId>,
    interrupts: BTreeMap<u32, Vec<NameId>>,
    exits: BTreeMap<u32, (NameId, u64)>,
    away: BTreeMap<u32, bool>,
    place: BTreeMap<u32, u32>,
    /// 0: asleep, 1: waits, 2: runs.
    state: BTreeMap<u32, u8>,
}

impl World {
    fn at(trace: &Trace, now: u64) -> World {
        let mut world = World::default();
        for event in trace.events.iter().flatten().filter(|event| event.at.0 <= now) {
            world.follow(event);
        }
        world
    }

    fn follow(&mut self, event: &Event) {
        match event.what {
            What::Switch { cpu, to: Some(to), .. } => {
                self.occupant.insert(cpu.0, to);
                self.place.insert(to.0, cpu.0);
                self.state.insert(to.0, 2);
            }
            What::Switch { cpu, to: None, .. } => drop(self.occupant.remove(&cpu.0)),
            What::Wake { thread, cpu, .. } => {
                self.place.insert(thread.0, cpu.0);
                self.state.insert(thread.0, 1);
            }
            What::Block { thread, .. } => drop(self.state.insert(thread.0, 0)),
            What::InterruptBegin { cpu, name, .. } => {
                self.interrupts.entry(cpu.0).or_default().push(name);
            }
            What::InterruptEnd { cpu, name, .. } => {
                let stack = self.interrupts.entry(cpu.0).or_default();
                if let Some(at) = stack.iter().rposition(|one| *one == name) {
                    stack.remove(at);
                }
            }
            What::IdleExit { cpu, state, took } => {
                self.exits.insert(cpu.0, (state, event.at.0 + took.0));
            }
            What::Offline { cpu } => drop(self.away.insert(cpu.0, true)),
            What::Online { cpu } => drop(self.away.insert(cpu.0, false)),
            _ => {}
        }
    }

    fn away(&self, cpu: u32) -> bool {
        self.away.get(&cpu) == Some(&true)
    }

    fn interrupt(&self, cpu: u32) -> Option<NameId> {
        self.interrupts.get(&cpu)?.last().copied()
    }

    fn exit(&self, cpu: u32, now: u64) -> Option<NameId> {
        self.exits.get(&cpu).filter(|(_, until)| now < *until).map(|(state, _)| *state)
    }

    fn is_idle(&self, cpu: u32, now: u64) -> bool {
        !self.away(cpu)
            && self.interrupt(cpu).is_none()
            && self.exit(cpu, now).is_none()
            && !self.occupant.contains_key(&cpu)
    }
}

/// The request that a thread is at.
fn request(trace: &Trace, log: &[(u64, u32)], now: u64) -> Option<u32> {
    let sent = |request: u32| trace.programs[0].requests[request as usize].sent.0;
    let next = log.iter().find(|(completed, _)| *completed > now);
    let before = log.iter().rev().find(|(completed, _)| *completed <= now);
    next.filter(|(_, request)| sent(*request) <= now).or(before).map(|(_, request)| *request)
}

/// The requests of each thread in the order of completion.
fn logs(trace: &Trace) -> Vec<Vec<(u64, u32)>> {
    let mut logs = vec![Vec::new(); THREADS as usize];
    for event in trace.events.iter().flatten() {
        if let What::Start { thread, request } = event.what {
            let completed = trace.programs[0].requests[request as usize].completed;
            logs[thread.index()].push((completed.0, request));
        }
    }
    logs.iter_mut().for_each(|log: &mut Vec<(u64, u32)>| log.sort_unstable());
    logs
}

/// One nanosecond of one request.
fn divide(trace: &Trace, logs: &[Vec<(u64, u32)>], subject: Subject, now: u64, tally: &mut Tally) {
    let own = subject.served.thread;
    let stamps = trace.programs[0].requests[subject.request as usize];
    let world = World::at(trace, now);
    let (client, served) = (now < stamps.sent.0 && now < stamps.started.0, now >= stamps.started.0);
    let held = !client && !served && now < subject.served.free.0;
    let state = world.state.get(&own.0).copied().unwrap_or(0);
    let on =
        (0..CPUS as u32).find(|cpu| world.occupant.get(cpu) == Some(&own) && !world.away(*cpu));
    let mut whole = |source, culprit| add(tally, Piece::To(source, culprit), CPUS, true);
    if let Some(cpu) = on.filter(|_| !client && !held) {
        match (world.interrupt(cpu), world.exit(cpu, now)) {
            (Some(name), _) => whole(Source::Interrupt, Culprit::Interrupt(name)),
            (None, Some(name)) => whole(Source::Power, Culprit::IdleState(Some(name))),
            (None, None) => tally.own += 1,
        }
        return;
    }
    let siblings_wait = (0..3).any(|thread| world.state.get(&thread) == Some(&1));
    if state == 0 && (served || !client && !held && !siblings_wait) {
        let at_work = (0..CPUS as u32).filter(|cpu| !world.away(*cpu));
        match at_work.filter_map(|cpu| world.interrupt(cpu)).next().filter(|_| !served) {
            Some(name) => whole(Source::Interrupt, Culprit::Interrupt(name)),
            None => tally.elsewhere += 1,
        }
        return;
    }
    let place = world.place.get(&own.0).filter(|_| !client && !held);
    if let Some(cpu) = place {
        if world.is_idle(*cpu, now) {
            return whole(Source::Power, Culprit::IdleState(None));
        }
        let exits = world.exit(*cpu, now).filter(|_| {
            !world.away(*cpu)
                && world.interrupt(*cpu).is_none()
                && !world.occupant.contains_key(cpu)
        });
        if exits.is_some() {
            return whole(Source::Power, Culprit::IdleState(exits));
        }
    }
    if (0..CPUS as u32).any(|cpu| world.is_idle(cpu, now)) {
        match (client, held) {
            (true, _) => tally.elsewhere += 1,
            (_, true) => whole(Source::IdleElsewhere, Culprit::Worker),
            _ => whole(Source::IdleElsewhere, Culprit::Placement),
        }
        return;
    }
    tally.divided += 1;
    for cpu in 0..CPUS as u32 {
        add(tally, piece(trace, logs, subject, (&world, cpu, now), held), 1, false);
    }
}

fn piece(
    trace: &Trace,
    logs: &[Vec<(u64, u32)>],
    subject: Subject,
    (world, cpu, now): (&World, u32, u64),
    held: bool,
) -> Piece {
    if world.away(cpu) {
        return Piece::To(Source::IdleElsewhere, Culprit::Placement);
    }
    if let Some(name) = world.interrupt(cpu) {
        return Piece::To(Source::Interrupt, Culprit::Interrupt(name));
    }
    if let Some(state) = world.exit(cpu, now) {
        return Piece::To(Source::Power, Culprit::IdleState(Some(state)));
    }
    let holder = world.occupant[&cpu];
    if holder.0 >= 3 {
        return Piece::To(Source::Background, Culprit::Program(1));
    }
    match request(trace, &logs[holder.index()], now) {
        None => Piece::To(Source::Background, Culprit::Program(0)),
        Some(one) if one < subject.request => Piece::First(one),
        Some(one) if trace.programs[0].requests[one as usize].intended >= subject.ideal_start => {
            Piece::After
        }
        Some(_) if held => Piece::To(Source::IdleElsewhere, Culprit::Worker),
        Some(_) => Piece::To(Source::Inversion, Culprit::Program(0)),
    }
}

fn add(tally: &mut Tally, piece: Piece, parts: u64, whole: bool) {
    tally.divided += u64::from(whole);
    match piece {
        Piece::First(sibling) => crate::sweep::grow(&mut tally.first, sibling, parts),
        Piece::After => tally.after += parts,
        Piece::To(source, who) => crate::sweep::grow(&mut tally.blamed, (source, who), parts),
    }
}

fn sorted(mut tally: Tally) -> Tally {
    tally.first.sort_unstable();
    tally.blamed.sort_unstable();
    tally
}

#[test]
fn the_sweep_divides_every_nanosecond_as_the_oracle_does() {
    let program = |process| Program {
        name: "p".into(),
        group: None,
        serves: process == 0,
        process,
        memory: None,
    };
    let machine = model::scenario::Machine { cpus: CPUS as u32, smt: 1, llcs: 1, nodes: 1 };
    let setting = Setting { machine, programs: vec![program(0), program(1)] };
    let (mut random, mut blamed) = (Random(42), BTreeMap::<Source, u64>::new());
    for _ in 0..1_000 {
        let trace = random.trace();
        let scene = lay_out(&trace, trace.events.as_deref().unwrap(), &setting);
        let logs = logs(&trace);
        let mut cursor = Cursor::new(&scene.timeline, CPUS as usize);
        for request in 0..6 {
            let served = scene.serving.of(0, request as usize).unwrap();
            let stamps = trace.programs[0].requests[request as usize];
            let ideal_start = stamps.intended + Nanos(random.below(20));
            let subject = Subject { program: 0, request, served, ideal_start };
            let mut slow = Tally { parts: CPUS, ..Tally::default() };
            for now in stamps.intended.0..stamps.completed.0 {
                divide(&trace, &logs, subject, now, &mut slow);
            }
            let swept = sorted(scene.sweep(subject, &mut cursor));
            assert_eq!(swept, sorted(slow), "request {request} of {trace:?}");
            swept
                .blamed
                .iter()
                .for_each(|((source, _), n)| *blamed.entry(*source).or_default() += n);
        }
    }
    // All sources that a sweep can see were seen.
    assert_eq!(blamed.len(), 5, "{blamed:?}");
}
