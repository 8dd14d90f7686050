//! One request's time, swept moment by moment and divided by the holders of the CPUs.

use model::event::NameId;
use model::{Nanos, ThreadId, Trace};

use crate::serving::{Served, Serving};
use crate::source::{Culprit, Holder, Source};
use crate::timeline::{Cursor, Timeline};

/// What a piece of a request's time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A sibling that came first.
    First(u32),
    /// A sibling that came when the ideal would have begun with the request.
    After,
    /// A source of excess.
    To(Source, Culprit),
}

/// A request's time in pieces. Those that CPUs shared are counted in parts of a nanosecond: as many a
/// nanosecond as the request had CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Parts of a nanosecond.
    pub parts: u64,
    /// Nanoseconds that pieces divide.
    pub divided: u64,
    /// By sibling that came first: how many parts.
    pub first: Vec<(u32, u64)>,
    /// Siblings that came when the ideal would have begun with the request: how many parts.
    pub after: u64,
    /// By source and culprit: how many parts.
    pub blamed: Vec<((Source, Culprit), u64)>,
    /// Nanoseconds in which its own thread was at work for it.
    pub own: u64,
    /// Those of them on another node than the program's memory.
    pub remote: u64,
    /// Nanoseconds for which no CPU can be blamed: on the way, in the client, blocked.
    pub elsewhere: u64,
}

impl Tally {
    fn add(&mut self, piece: Piece, parts: u64) {
        match piece {
            Piece::First(sibling) => grow(&mut self.first, sibling, parts),
            Piece::After => self.after += parts,
            Piece::To(source, culprit) => grow(&mut self.blamed, (source, culprit), parts),
        }
    }

    fn whole(&mut self, source: Source, culprit: Culprit, span: u64) {
        self.divided += span;
        self.add(Piece::To(source, culprit), self.parts * span);
    }
}

/// Adds to an entry of a short list, the latest first in mind: neighbours in time often blame the same.
pub(crate) fn grow<K: PartialEq>(list: &mut Vec<(K, u64)>, key: K, by: u64) {
    match list.iter_mut().rev().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum += by,
        None => list.push((key, by)),
    }
}

/// What a request is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its moment has come and the client has not sent it.
    Client,
    /// Its worker is busy with another.
    Held,
    /// Its worker is free and has not begun.
    Ready,
    /// Begun and not done.
    Served,
}

/// A request to sweep.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub program: usize,
    pub request: u32,
    pub served: Served,
    /// When the ideal would have begun with it.
    pub ideal_start: Nanos,
}

/// A trace laid out for sweeping.
pub(crate) struct Scene<'a> {
    pub trace: &'a Trace,
    pub timeline: Timeline,
    pub serving: Serving<'a>,
    /// Every moment at which anything changes, in order.
    pub moments: Vec<Nanos>,
    /// By thread: the node of its memory; `None`: no memory is remote.
    pub homes: Vec<Option<usize>>,
    /// By CPU.
    pub node_of: Vec<usize>,
}

impl Scene<'_> {
    /// How many workers the ideal queue of a program has: the CPUs that it may use when the measured part
    /// begins, or as many as it has threads.
    pub fn workers(&self, program: usize) -> u32 {
        let threads = self.trace.threads.iter().filter(|thread| thread.program == program).count();
        let cpus = self.serving.usable(program, self.trace.window.start).len();
        cpus.min(threads).max(1) as u32
    }

    /// Sweeps one request from its intended moment until its thread is done with it. `from` stands before
    /// that moment and is left there.
    pub fn sweep(&self, subject: Subject, from: &mut Cursor) -> Tally {
        let request = self.trace.programs[subject.program].requests[subject.request as usize];
        from.advance(request.intended);
        let mut cursor = from.clone();
        let usable = self.serving.usable(subject.program, request.intended);
        let mut tally = Tally { parts: usable.len().max(1) as u64, ..Tally::default() };
        let first = self.moments.partition_point(|at| *at <= request.intended);
        let mut now = request.intended;
        for next in self.moments[first..].iter().copied() {
            let until = next.min(request.completed);
            cursor.advance(now);
            let step = Step { scene: self, subject, usable, holders: &cursor.holders, now };
            step.divide((until - now).0, &mut tally);
            now = until;
            if now == request.completed {
                break;
            }
        }
        tally
    }
}

/// A span in which nothing changes.
struct Step<'a> {
    scene: &'a Scene<'a>,
    subject: Subject,
    usable: &'a [usize],
    holders: &'a [Holder],
    now: Nanos,
}

impl Step<'_> {
    fn phase(&self) -> Phase {
        let Subject { program, request, served, .. } = self.subject;
        let stamps = self.scene.trace.programs[program].requests[request as usize];
        match self.now {
            now if now >= stamps.started => Phase::Served,
            now if now < stamps.sent => Phase::Client,
            now if now < served.free => Phase::Held,
            _ => Phase::Ready,
        }
    }

    fn divide(&self, span: u64, tally: &mut Tally) {
        let phase = self.phase();
        let own = matches!(phase, Phase::Ready | Phase::Served).then(|| self.on_cpu()).flatten();
        if let Some(cpu) = own {
            return self.at_work(cpu, span, tally);
        }
        if self.is_away(phase) {
            // A request that is on its way is so because softirqs are at work, if any is.
            return match self.interrupt().filter(|_| phase == Phase::Ready) {
                Some(name) => tally.whole(Source::Interrupt, Culprit::Interrupt(name), span),
                None => tally.elsewhere += span,
            };
        }
        if let Some(state) = self.own_exit(phase) {
            return tally.whole(Source::Power, Culprit::IdleState(state), span);
        }
        let mut holders = self.usable.iter().map(|&cpu| self.holders[cpu]);
        if holders.any(|holder| holder == Holder::Idle) {
            return match phase {
                Phase::Client => tally.elsewhere += span,
                Phase::Held => tally.whole(Source::IdleElsewhere, Culprit::Worker, span),
                _ => tally.whole(Source::IdleElsewhere, Culprit::Placement, span),
            };
        }
        self.share(phase, span, tally);
    }

    /// The CPU that its thread is switched to.
    fn on_cpu(&self) -> Option<usize> {
        let own = Some(self.subject.served.thread);
        self.holders.iter().position(|holder| holder.occupant() == own)
    }

    fn at_work(&self, cpu: usize, span: u64, tally: &mut Tally) {
        match self.holders[cpu] {
            Holder::Interrupt(name, _) => {
                tally.whole(Source::Interrupt, Culprit::Interrupt(name), span);
            }
            Holder::Exit(state, _) => {
                tally.whole(Source::Power, Culprit::IdleState(Some(state)), span);
            }
            _ => {
                let home = self.scene.homes[self.subject.served.thread.index()];
                let is_away = home.is_some_and(|home| home != self.scene.node_of[cpu]);
                tally.own += span;
                tally.remote += if is_away { span } else { 0 };
            }
        }
    }

    /// An interrupt that is at work on any CPU.
    fn interrupt(&self) -> Option<NameId> {
        self.holders.iter().find_map(|holder| match holder {
            Holder::Interrupt(name, _) => Some(*name),
            _ => None,
        })
    }

    /// Its thread sleeps, and no sibling waits in its stead: the request is on its way, or its thread waits
    /// for something else than a CPU.
    fn is_away(&self, phase: Phase) -> bool {
        let serving = &self.scene.serving;
        let asleep = || !serving.is_awake(self.subject.served.thread, self.now);
        match phase {
            Phase::Served => asleep(),
            Phase::Ready => asleep() && !serving.waits(self.subject.program, self.now),
            Phase::Client | Phase::Held => false,
        }
    }

    /// Whether the CPU that its thread waits at is about to take it up: the state that it leaves, if that is
    /// known.
    fn own_exit(&self, phase: Phase) -> Option<Option<NameId>> {
        if !matches!(phase, Phase::Ready | Phase::Served) {
            return None;
        }
        let cpu = self.scene.serving.place(self.subject.served.thread, self.now)?;
        match self.holders[cpu] {
            Holder::Idle => Some(None),
            Holder::Exit(state, None) => Some(Some(state)),
            _ => None,
        }
    }

    /// Each CPU takes an equal part of the span.
    fn share(&self, phase: Phase, span: u64, tally: &mut Tally) {
        tally.divided += span;
        for &cpu in self.usable {
            tally.add(self.piece(phase, self.holders[cpu]), span);
        }
        if self.usable.is_empty() {
            tally.add(Piece::To(Source::IdleElsewhere, Culprit::Placement), span);
        }
    }

    fn piece(&self, phase: Phase, holder: Holder) -> Piece {
        match holder {
            Holder::Thread(thread) => self.sibling(phase, thread),
            Holder::Interrupt(name, _) => Piece::To(Source::Interrupt, Culprit::Interrupt(name)),
            Holder::Exit(state, _) => Piece::To(Source::Power, Culprit::IdleState(Some(state))),
            Holder::Idle | Holder::Away => Piece::To(Source::IdleElsewhere, Culprit::Placement),
        }
    }

    fn sibling(&self, phase: Phase, thread: ThreadId) -> Piece {
        let program = self.scene.serving.program(thread);
        let background = Piece::To(Source::Background, Culprit::Program(program as u32));
        if program != self.subject.program {
            return background;
        }
        let Some(sibling) = self.scene.serving.request(thread, self.now) else {
            return background;
        };
        if sibling < self.subject.request {
            return Piece::First(sibling);
        }
        let requests = &self.scene.trace.programs[program].requests;
        match requests[sibling as usize].intended {
            came if came >= self.subject.ideal_start => Piece::After,
            _ if phase == Phase::Held => Piece::To(Source::IdleElsewhere, Culprit::Worker),
            _ => Piece::To(Source::Inversion, Culprit::Program(program as u32)),
        }
    }
}
