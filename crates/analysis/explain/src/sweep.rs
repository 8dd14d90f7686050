//! A request's time at its own thread, swept moment by moment and divided by the holders of the CPUs.

use model::event::{Cause, NameId};
use model::trace::Request;
use model::{Failure, Nanos, ThreadId, Trace};

use crate::amounts::Amounts;
use crate::room::Room;
use crate::serving::{OffSpan, Served, Serving};
use crate::source::{Culprit, Holder, Source};
use crate::timeline::{Cursor, Timeline};

/// The cause of a piece of time.
pub(crate) type Key = (Source, Culprit);

/// What a piece of a request's time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A sibling that came first.
    First,
    /// A sibling that came when the ideal would have begun with the request.
    After,
    /// A source of excess.
    To(Key),
}

/// A request's time in pieces. Those that CPUs shared are counted in parts of a nanosecond: as many a
/// nanosecond as the request had CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Parts of a nanosecond.
    pub parts: u64,
    /// Nanoseconds that pieces divide.
    pub divided: u64,
    /// Siblings that came first: how many parts.
    pub first: u64,
    /// Siblings that came when the ideal would have begun with the request: how many parts.
    pub after: u64,
    /// By source and culprit: how many parts.
    pub blamed: Amounts<Key, u64>,
    /// Nanoseconds in which its own thread was at work for it.
    pub own: u64,
    /// Those of them on another node than the program's memory.
    pub remote: u64,
    /// Nanoseconds for which no CPU can be blamed: on the way, blocked.
    pub elsewhere: u64,
}

impl Tally {
    /// The room that its causes take.
    pub fn words(&self) -> usize {
        WORDS_OF_CAUSE * self.blamed.len()
    }

    fn add(&mut self, piece: Piece, parts: u64) {
        match piece {
            Piece::First => self.first += parts,
            Piece::After => self.after += parts,
            Piece::To(key) => self.blamed.add(key, parts),
        }
    }

    fn whole(&mut self, source: Source, culprit: Culprit, span: u64) {
        self.divided += span;
        self.add(Piece::To((source, culprit)), self.parts * span);
    }
}

/// Words of eight bytes that a cause takes, once here and once in the explanation.
pub(crate) const WORDS_OF_CAUSE: usize = 6;

/// A request to sweep.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub program: usize,
    pub request: u32,
    pub served: Served,
    /// When the ideal would have begun with it.
    pub ideal_start: Nanos,
}

impl Subject {
    /// When its thread was free for it.
    pub fn head(&self, request: &Request) -> Nanos {
        request.intended.max(request.sent).max(self.served.free).min(request.completed)
    }
}

/// A thread that waits for another that waits for a third, and so on: of so many.
const MOST_HOPS: usize = 16;

/// Whether what keeps a thread is none of the service's own code.
fn is_outside(cause: Cause) -> bool {
    matches!(cause, Cause::Disk | Cause::PageFault | Cause::Stopped | Cause::Throttled)
}

/// Whether a wait is over when another thread says so.
fn is_handed_on(kept: &OffSpan) -> bool {
    matches!(kept.cause, Cause::Lock | Cause::Socket)
}

/// What a wait comes to.
struct Hops {
    /// The wait that says the cause.
    root: OffSpan,
    /// The holder of a lock, which waits for nothing that events tell.
    holder: Option<ThreadId>,
    /// Until when all of this is sure to be so.
    until: Nanos,
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
    /// Whether every moment is looked at, whatever is sure: what the shortcuts are held against.
    #[cfg(test)]
    pub is_slow: bool,
}

/// What serves a program's requests side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slots {
    /// Its threads, where they are no more than its CPUs.
    Threads(Vec<ThreadId>),
    /// The CPUs that it may use.
    Cpus(usize),
}

impl Slots {
    pub fn count(&self) -> usize {
        match self {
            Slots::Threads(threads) => threads.len().max(1),
            Slots::Cpus(cpus) => *cpus,
        }
    }
}

impl Scene<'_> {
    /// What serves a program: its servers, or the CPUs that it may use when the measured part begins,
    /// whichever are fewer. As many workers has its ideal queue.
    pub fn slots(&self, program: usize) -> Slots {
        let cpus = self.serving.usable(program, self.trace.window.start).len().max(1);
        let servers = self.serving.servers(program);
        if servers.len() <= cpus { Slots::Threads(servers) } else { Slots::Cpus(cpus) }
    }

    /// The cause where a thread was kept off the CPUs at a moment, and until when it is sure to be the same:
    /// of a lock, or what looks like another socket, the thread that ended it. What that thread waited for
    /// itself at that moment, outside of the service's own code, is the cause instead: a commit waits for a
    /// lock whose holder waits for the disk. So is what has the CPU that the holder of a lock waits at.
    pub fn cause(&self, kept: &OffSpan, now: Nanos) -> (Key, Nanos) {
        let hops = self.hops(kept, now);
        let until = self.sure(hops.until, now);
        if let Some(key) = hops.holder.and_then(|holder| self.ahead_of(holder, now)) {
            return (key, until);
        }
        let by = hops.root.by_thread().filter(|_| is_handed_on(&hops.root));
        let culprit = by.map(|by| Culprit::Program(self.serving.program(by) as u32));
        ((Source::from(hops.root.cause), culprit.unwrap_or(Culprit::Itself)), until)
    }

    /// The same without the moment.
    pub fn cause_key(&self, kept: &OffSpan, now: Nanos) -> Key {
        self.cause(kept, now).0
    }

    /// Follows a wait through the threads that others wait for.
    fn hops(&self, kept: &OffSpan, now: Nanos) -> Hops {
        let (mut last, mut until) = (*kept, Nanos::NEVER);
        for _ in 0..MOST_HOPS {
            let Some(by) = last.by_thread().filter(|_| is_handed_on(&last)) else { break };
            until = until.min(self.serving.held_up_until(by, now));
            let Some(next) = self.serving.held_up_by(by, now) else { break };
            last = next;
            if is_outside(last.cause) {
                return Hops { root: last, holder: None, until };
            }
        }
        let holder = last.by_thread().filter(|_| last.cause == Cause::Lock);
        let moves = |thread| self.serving.moves(thread, now).min(self.moves_ahead_of(thread, now));
        let until = holder.map_or(until, |holder| until.min(moves(holder)));
        Hops { root: *kept, holder, until }
    }

    /// When the CPU that a thread waits at has another holder.
    fn moves_ahead_of(&self, thread: ThreadId, now: Nanos) -> Nanos {
        let cpu = self.serving.place(thread, now);
        cpu.map_or(Nanos::NEVER, |cpu| self.timeline.next_change(cpu, now))
    }

    /// What has the CPU that a thread waits at, where it is none of the thread's own program.
    fn ahead_of(&self, thread: ThreadId, now: Nanos) -> Option<Key> {
        let serving = &self.serving;
        let cpu = serving.place(thread, now).filter(|_| serving.is_awake(thread, now))?;
        match self.timeline.holder(cpu, now) {
            holder if holder.occupant() == Some(thread) => None,
            Holder::Interrupt(name, _) => Some((Source::Interrupt, Culprit::Interrupt(name))),
            Holder::Thread(other) if serving.program(other) != serving.program(thread) => {
                let program = serving.program(other) as u32;
                Some((Source::Background, Culprit::Program(program)))
            }
            _ => None,
        }
    }

    /// Sweeps one request from when its thread was free for it until that was done with it. `from` stands
    /// before that moment and is left there.
    pub fn sweep(
        &self,
        subject: Subject,
        from: &mut Cursor,
        room: &mut Room,
    ) -> Result<Tally, Failure> {
        let request = self.trace.programs[subject.program].requests[subject.request as usize];
        let head = subject.head(&request);
        from.advance(head);
        let mut cursor = from.clone();
        let usable = self.serving.usable_by(subject.served.thread, request.intended);
        let mut tally = Tally { parts: usable.len().max(1) as u64, ..Tally::default() };
        let mut now = head;
        let mut steps = 0;
        loop {
            cursor.advance(now);
            let is_served = now >= request.started;
            let step =
                Step { scene: self, subject, usable, holders: &cursor.holders, now, is_served };
            let until = self.sure(step.until(), now).min(request.completed);
            step.divide((until - now).0, &mut tally);
            steps += (1 + cursor.holders.len() + usable.len()) as u64;
            now = until;
            if now == request.completed {
                break;
            }
        }
        room.work(steps)?;
        tally.blamed.settle();
        Ok(tally)
    }

    /// Until when something is taken for the same that is so until a moment.
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests look at every moment")]
    fn sure(&self, until: Nanos, _now: Nanos) -> Nanos {
        until
    }

    #[cfg(test)]
    fn sure(&self, until: Nanos, now: Nanos) -> Nanos {
        if self.is_slow { self.next_moment(now) } else { until }
    }

    /// The moment after another at which anything changes.
    fn next_moment(&self, now: Nanos) -> Nanos {
        let next = self.moments.partition_point(|at| *at <= now);
        self.moments.get(next).copied().unwrap_or(Nanos::NEVER)
    }
}

/// A span in which nothing changes.
struct Step<'a> {
    scene: &'a Scene<'a>,
    subject: Subject,
    usable: &'a [usize],
    holders: &'a [Holder],
    now: Nanos,
    /// Whether its thread has begun with it.
    is_served: bool,
}

impl Step<'_> {
    /// Until when it is sure that nothing changes for the request. While its thread runs or is kept, that is
    /// whatever others do. A CPU that comes back may have it again without a switch.
    fn until(&self) -> Nanos {
        let Scene { serving, timeline, .. } = self.scene;
        let thread = self.subject.served.thread;
        if self.holders.contains(&Holder::Away) {
            return self.scene.next_moment(self.now);
        }
        if let Some(cpu) = self.on_cpu() {
            return timeline.next_change(cpu, self.now).min(serving.moves(thread, self.now));
        }
        if let Some(kept) = serving.kept_by(thread, self.now) {
            return self.scene.cause(&kept, self.now).1.min(serving.kept_until(thread, self.now));
        }
        if self.is_served && !serving.is_awake(thread, self.now) {
            return serving.kept_until(thread, self.now).min(serving.moves(thread, self.now));
        }
        self.scene.next_moment(self.now)
    }

    fn divide(&self, span: u64, tally: &mut Tally) {
        if let Some(cpu) = self.on_cpu() {
            return self.at_work(cpu, span, tally);
        }
        if let Some(kept) = self.scene.serving.kept_by(self.subject.served.thread, self.now) {
            let (source, culprit) = self.scene.cause_key(&kept, self.now);
            return tally.whole(source, culprit, span);
        }
        if self.is_away() {
            if !self.is_served && self.is_program_barred() {
                return tally.whole(Source::Throttled, Culprit::Itself, span);
            }
            // A request that is on its way is so because softirqs are at work, if any is.
            return match self.interrupt().filter(|_| !self.is_served) {
                Some(name) => tally.whole(Source::Interrupt, Culprit::Interrupt(name), span),
                None => tally.elsewhere += span,
            };
        }
        if let Some(state) = self.own_exit() {
            return tally.whole(Source::Power, Culprit::IdleState(state), span);
        }
        let mut holders = self.usable.iter().map(|&cpu| self.holders[cpu]);
        if holders.any(|holder| holder == Holder::Idle) {
            return tally.whole(Source::IdleElsewhere, Culprit::Placement, span);
        }
        self.share(span, tally);
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
    fn is_away(&self) -> bool {
        let serving = &self.scene.serving;
        let asleep = !serving.is_awake(self.subject.served.thread, self.now);
        asleep && (self.is_served || !serving.waits(self.subject.program, self.now))
    }

    /// Its thread sleeps, or is not there yet, and those that could go on in its stead have no quota.
    fn is_program_barred(&self) -> bool {
        let (serving, program) = (&self.scene.serving, self.subject.program);
        let mut occupants = self.holders.iter().filter_map(|holder| holder.occupant());
        serving.is_barred(program, self.now)
            && !occupants.any(|thread| serving.program(thread) == program)
    }

    /// Whether the CPU that its thread waits at is about to take it up: the state that it leaves, if that is
    /// known.
    fn own_exit(&self) -> Option<Option<NameId>> {
        let cpu = self.scene.serving.place(self.subject.served.thread, self.now)?;
        match self.holders[cpu] {
            Holder::Idle => Some(None),
            Holder::Exit(state, None) => Some(Some(state)),
            _ => None,
        }
    }

    /// Each CPU takes an equal part of the span.
    fn share(&self, span: u64, tally: &mut Tally) {
        tally.divided += span;
        for &cpu in self.usable {
            tally.add(self.piece(self.holders[cpu]), span);
        }
        if self.usable.is_empty() {
            tally.add(Piece::To((Source::IdleElsewhere, Culprit::Placement)), span);
        }
    }

    fn piece(&self, holder: Holder) -> Piece {
        match holder {
            Holder::Thread(thread) => self.sibling(thread),
            Holder::Interrupt(name, _) => Piece::To((Source::Interrupt, Culprit::Interrupt(name))),
            Holder::Exit(state, _) => Piece::To((Source::Power, Culprit::IdleState(Some(state)))),
            Holder::Idle | Holder::Away => Piece::To((Source::IdleElsewhere, Culprit::Placement)),
        }
    }

    fn sibling(&self, thread: ThreadId) -> Piece {
        let program = self.scene.serving.program(thread);
        let background = Piece::To((Source::Background, Culprit::Program(program as u32)));
        if program != self.subject.program {
            return background;
        }
        let Some(sibling) = self.scene.serving.request(thread, self.now) else {
            return background;
        };
        if sibling < self.subject.request {
            return Piece::First;
        }
        let requests = &self.scene.trace.programs[program].requests;
        match requests[sibling as usize].intended {
            came if came >= self.subject.ideal_start => Piece::After,
            _ => Piece::To((Source::Inversion, Culprit::Program(program as u32))),
        }
    }
}
