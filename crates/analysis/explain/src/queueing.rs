//! What requests wait for before their own thread is free for them, and what a service owes them when they
//! come: one sweep over the whole trace, whatever the length of queues.

mod slots;

use std::collections::BTreeMap;

use model::{Failure, Nanos, ThreadId};

use crate::amounts::Amounts;
use crate::apportion::apportion;
use crate::debt::{Debt, Served};
use crate::room::Room;
use crate::serving::OffSpan;
use crate::source::{Culprit, Source};
use crate::sweep::{Key, Scene, Slots, Subject, Tally, WORDS_OF_CAUSE};
use crate::timeline::Cursor;

/// The key of what is unknown.
const UNKNOWN: usize = 0;
const NOBODYS: Key = (Source::Other, Culprit::Itself);

/// A request to follow through its queue.
pub(crate) struct Queued {
    pub subject: Subject,
    /// When the ideal is done with it.
    pub ideal_end: Nanos,
    /// What its own thread did with it.
    pub own: Tally,
}

/// What a request met before its own thread was free for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Met {
    /// Nanoseconds of siblings that came first.
    pub first: u64,
    /// Nanoseconds of siblings that came when the ideal would have begun with it.
    pub after: u64,
    /// Nanoseconds by source and culprit.
    pub blamed: Amounts<Key, u64>,
    /// What the service owed when it came and while it waited, in its own nanoseconds: where surplus waits
    /// for siblings come from.
    pub owed: Amounts<Key, f64>,
}

/// What a slot does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// It serves a request.
    Serves(u32),
    /// It is at what follows a request, or precedes it.
    Aside,
    /// It could serve and is kept from that: the key's number.
    Lost(usize),
    /// It has nothing to do.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// Before the end: a request without a service time has both at once.
    IdealStart,
    IdealEnd,
    Released(u32),
    Completed(u32),
    OffSpan(u32),
    Intended(u32),
    Sent(u32),
    Head(u32),
    /// What follows a request is over, where its thread stays at work.
    Followed,
}

/// Sums at a moment.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// Of requests before this one, of it and before, of those that came before the ideal would have begun
    /// with it, of all.
    served: [u64; 4],
    lost: Vec<u64>,
    kept: Vec<(usize, u64)>,
}

impl Sums {
    /// The room that they take.
    fn words(&self) -> usize {
        self.lost.len() + 2 * self.kept.len()
    }
}

/// What is known of a request under way.
#[derive(Default)]
struct Open {
    begun: Sums,
    sent: Option<(Nanos, Sums)>,
    head: Option<(Nanos, Sums)>,
    owed: Vec<(usize, f64)>,
    stretched: Vec<f64>,
}

impl Open {
    /// The room that it takes.
    fn words(&self) -> usize {
        let later = [&self.sent, &self.head].into_iter().flatten();
        let sums: usize = later.map(|(_, sums)| sums.words()).sum();
        self.begun.words() + sums + 2 * self.owed.len() + self.stretched.len()
    }
}

impl Met {
    /// The room that its causes take.
    fn words(&self) -> usize {
        WORDS_OF_CAUSE * (self.blamed.len() + self.owed.len())
    }
}

struct Walk<'a, 's> {
    scene: &'a Scene<'s>,
    program: usize,
    queued: &'a [Queued],
    slots: &'a Slots,
    keys: Vec<Key>,
    numbers: BTreeMap<Key, usize>,
    /// What slots do from this moment on.
    now: Nanos,
    states: Vec<Slot>,
    /// The losses that count: as many as there are requests that could be served.
    taken: Vec<usize>,
    served: Served,
    served_in_all: u64,
    lost: Vec<u64>,
    /// By thread: for how long what kept it.
    kept: Vec<Amounts<usize, u64>>,
    /// What keeps threads now.
    keeping: Vec<(ThreadId, OffSpan)>,
    debt: Debt,
    /// By key: work beyond service times.
    stretched: Vec<f64>,
    credited: Vec<u64>,
    outstanding: usize,
    ideal_busy: usize,
    open: BTreeMap<u32, Open>,
    /// By CPU of the machine, by thread: where it is.
    on: BTreeMap<ThreadId, usize>,
}

/// What each of these requests met, in their order.
pub(crate) fn follow(
    scene: &Scene,
    program: usize,
    slots: &Slots,
    queued: &[Queued],
    room: &mut Room,
) -> Result<Vec<Met>, Failure> {
    let kept: Vec<(ThreadId, OffSpan)> = scene.serving.kept(program).collect();
    let edges = edges(scene, program, queued, &kept);
    let mut walk = Walk::new(scene, program, slots, queued);
    let mut met = vec![Met::default(); queued.len()];
    let mut cursor = Cursor::new(&scene.timeline, scene.node_of.len());
    let (mut edges, mut moments) = (edges.into_iter().peekable(), scene.moments.iter().peekable());
    loop {
        let next = [edges.peek().map(|(at, _)| *at), moments.peek().map(|at| **at)];
        let Some(now) = next.into_iter().flatten().min() else { return Ok(met) };
        moments.next_if(|at| **at == now);
        walk.pass(now);
        while let Some((_, edge)) = edges.next_if(|(at, _)| *at == now) {
            walk.turn(edge, &kept, &mut met, room)?;
        }
        let from = cursor.next;
        cursor.advance(now);
        walk.place(from, &cursor);
        walk.look(&cursor);
    }
}

fn edges(
    scene: &Scene,
    program: usize,
    queued: &[Queued],
    kept: &[(ThreadId, OffSpan)],
) -> Vec<(Nanos, Edge)> {
    let requests = &scene.trace.programs[program].requests;
    let mut edges = Vec::with_capacity(7 * queued.len() + 2 * kept.len());
    for (at, one) in (0..).zip(queued) {
        let request = &requests[one.subject.request as usize];
        let head = one.subject.head(request);
        edges.push((request.intended, Edge::Intended(at)));
        // Clocks of client and server are one on one machine only.
        edges.push((request.completed.max(request.intended), Edge::Completed(at)));
        edges.push((one.subject.ideal_start, Edge::IdealStart));
        edges.push((one.ideal_end, Edge::IdealEnd));
        edges.push((request.completed.saturating_add(request.service), Edge::Followed));
        if head > request.intended {
            edges.push((request.sent.clamp(request.intended, head), Edge::Sent(at)));
            edges.push((head, Edge::Head(at)));
        }
    }
    for (at, (_, one)) in (0..).zip(kept) {
        edges.extend([(one.from, Edge::OffSpan(at)), (one.to, Edge::Released(at))]);
    }
    edges.retain(|(at, _)| *at != Nanos::NEVER);
    edges.sort_unstable();
    edges
}

impl<'a, 's> Walk<'a, 's> {
    fn new(
        scene: &'a Scene<'s>,
        program: usize,
        slots: &'a Slots,
        queued: &'a [Queued],
    ) -> Walk<'a, 's> {
        Walk {
            scene,
            program,
            queued,
            slots,
            keys: vec![NOBODYS],
            numbers: BTreeMap::from([(NOBODYS, UNKNOWN)]),
            now: Nanos::ZERO,
            states: Vec::new(),
            taken: Vec::new(),
            served: Served::new(scene.trace.programs[program].requests.len()),
            served_in_all: 0,
            lost: Vec::new(),
            kept: vec![Amounts::default(); scene.trace.threads.len()],
            keeping: Vec::new(),
            debt: Debt::default(),
            stretched: Vec::new(),
            credited: vec![0; scene.trace.programs[program].requests.len()],
            outstanding: 0,
            ideal_busy: 0,
            open: BTreeMap::new(),
            on: BTreeMap::new(),
        }
    }

    fn number(&mut self, key: Key) -> usize {
        let next = self.keys.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }

    /// Counts what has been so until a moment.
    fn pass(&mut self, to: Nanos) {
        let since = std::mem::replace(&mut self.now, to);
        let span = (to - since).0;
        if span == 0 {
            return;
        }
        let mut serving = 0;
        for state in &self.states {
            if let Slot::Serves(request) = state {
                self.credited[*request as usize] += span;
                serving += 1;
            }
        }
        self.served_in_all += serving * span;
        self.lost.resize(self.keys.len(), 0);
        self.taken.iter().for_each(|key| self.lost[*key] += span);
        if self.is_waited_for_nothing() {
            self.lost[UNKNOWN] += span * self.slots.count() as u64;
        }
        let keeping = std::mem::take(&mut self.keeping);
        for (thread, kept) in &keeping {
            let key = self.number(self.scene.cause_key(kept, since));
            self.kept[thread.index()].add(key, span);
        }
        self.keeping = keeping;
        let behind = (self.ideal_busy as f64 - serving as f64) * span as f64;
        if behind <= 0.0 {
            return self.debt.repay(-behind);
        }
        let causes = if self.taken.is_empty() { &[UNKNOWN][..] } else { &self.taken };
        causes.iter().for_each(|key| self.debt.add(*key, behind / causes.len() as f64));
    }

    /// Whether requests wait and no slot is at work or kept from it: an event loop that waits for the rest of
    /// a request. What slots did in between is not what it waits for.
    fn is_waited_for_nothing(&self) -> bool {
        self.outstanding > 0 && self.states.iter().all(|state| *state == Slot::Idle)
    }

    fn turn(
        &mut self,
        edge: Edge,
        kept: &[(ThreadId, OffSpan)],
        met: &mut [Met],
        room: &mut Room,
    ) -> Result<(), Failure> {
        match edge {
            Edge::IdealStart => self.ideal_busy += 1,
            Edge::IdealEnd => self.ideal_busy = self.ideal_busy.saturating_sub(1),
            Edge::Intended(at) => room.take(self.open(at))?,
            Edge::Sent(at) => {
                let sums = self.sums(at);
                room.take(sums.words())?;
                self.open.entry(at).or_default().sent = Some((self.now, sums));
            }
            Edge::Head(at) => {
                let sums = self.sums(at);
                room.take(sums.words())?;
                self.open.entry(at).or_default().head = Some((self.now, sums));
            }
            Edge::Completed(at) => {
                room.give_back(self.open.get(&at).map_or(0, Open::words));
                met[at as usize] = self.close(at);
                room.take(met[at as usize].words())?;
                self.stretch(at);
            }
            Edge::OffSpan(at) => {
                self.keeping.push(kept[at as usize]);
            }
            Edge::Released(at) => self.keeping.retain(|one| *one != kept[at as usize]),
            Edge::Followed => {}
        }
        Ok(())
    }

    /// Says how much room it takes.
    fn open(&mut self, at: u32) -> usize {
        self.outstanding += 1;
        let begun = self.sums(at);
        let owed = self.debt.owed().collect();
        let stretched = self.stretched.clone();
        let open = Open { begun, owed, stretched, ..Open::default() };
        let words = open.words();
        self.open.insert(at, open);
        words
    }

    fn sums(&self, at: u32) -> Sums {
        let Subject { request, served, ideal_start, program } = self.queued[at as usize].subject;
        let requests = &self.scene.trace.programs[program].requests;
        let later = requests.partition_point(|one| one.intended < ideal_start) as u32;
        let before = |request: u32| self.served.before(request, self.now.0);
        Sums {
            served: [
                before(request),
                before(request + 1),
                before(later.max(request + 1)),
                self.served_in_all,
            ],
            lost: self.lost.clone(),
            kept: self.kept[served.thread.index()].to_vec(),
        }
    }

    /// What a request met in all.
    fn close(&mut self, at: u32) -> Met {
        self.outstanding = self.outstanding.saturating_sub(1);
        let Some(open) = self.open.remove(&at) else { return Met::default() };
        let mut met = Met::default();
        if let (Some((sent, sums)), Some((head, end))) = (&open.sent, &open.head) {
            let began = self.scene.trace.programs[self.program].requests
                [self.queued[at as usize].subject.request as usize]
                .intended;
            let later = (Source::Inversion, Culprit::Program(self.program as u32));
            self.window((*sent - began).0, [&open.begun, sums], None, later, &mut met);
            let worker = (Source::IdleElsewhere, Culprit::Worker);
            self.window((*head - *sent).0, [sums, end], Some(()), worker, &mut met);
        }
        // CPUs share what is owed; a thread has a queue of its own.
        let slots = match self.slots {
            Slots::Threads(_) => 1.0,
            Slots::Cpus(cpus) => *cpus as f64,
        };
        let owed = open.owed.iter().map(|(key, ns)| (self.keys[*key], ns / slots));
        met.owed = owed.collect::<Vec<_>>().into();
        for (key, sum) in self.stretched.iter().enumerate() {
            let more = sum - open.stretched.get(key).copied().unwrap_or(0.0);
            if more > 0.0 {
                met.owed.add(self.keys[key], more / slots);
            }
        }
        met.blamed.settle();
        met.owed.settle();
        met
    }

    /// Divides a part of a request's time in the queue: while its own thread was kept, to the cause of that;
    /// the rest like what the slots did.
    fn window(
        &self,
        span: u64,
        [from, to]: [&Sums; 2],
        of_thread: Option<()>,
        later: Key,
        met: &mut Met,
    ) {
        let mut lost: Vec<u64> = to.lost.clone();
        from.lost.iter().zip(&mut lost).for_each(|(before, lost)| *lost -= before);
        let mut rest = span;
        // Of the same thread: what had kept it before stands at the same place.
        let kept = to.kept.iter().zip(0..).filter(|_| of_thread.is_some());
        for ((key, sum), place) in kept {
            let before = from.kept.get(place).map_or(0, |one: &(usize, u64)| one.1);
            let ns = (sum - before).min(rest);
            rest -= ns;
            if ns > 0 {
                met.blamed.add(self.keys[*key], ns);
            }
            if let Some(lost) = lost.get_mut(*key) {
                *lost = lost.saturating_sub(ns);
            }
        }
        let served = |at: usize| to.served[at] - from.served[at];
        let siblings = [served(0), served(2) - served(1), served(3) - served(2)];
        let weights: Vec<u128> =
            siblings.into_iter().chain(lost.iter().copied()).map(u128::from).collect();
        let Some(parts) = apportion(rest, &weights) else { return };
        met.first += parts[0];
        met.after += parts[2];
        let keys = std::iter::once(&later).chain(&self.keys);
        for (key, ns) in keys.zip(std::iter::once(&parts[1]).chain(&parts[3..])) {
            if *ns > 0 {
                met.blamed.add(*key, *ns);
            }
        }
    }

    /// Work beyond its service time, or less of it, changes what is owed to the others.
    fn stretch(&mut self, at: u32) {
        let Queued { subject, own, .. } = &self.queued[at as usize];
        let request = &self.scene.trace.programs[self.program].requests[subject.request as usize];
        let credited = self.credited[subject.request as usize] as f64;
        let more = credited - request.service.0 as f64;
        if more <= 0.0 {
            return self.debt.repay(-more);
        }
        let (parts, service) = (stretches(own, request.service), request.service.0);
        let whole = own.own.saturating_sub(service).max(1) as f64;
        let mut rest = more;
        for (key, ns) in parts {
            let key = self.number(key);
            let ns = more * (ns as f64 / whole).min(1.0);
            self.beyond(key, ns);
            rest -= ns;
        }
        self.beyond(UNKNOWN, rest.max(0.0));
    }

    fn beyond(&mut self, key: usize, ns: f64) {
        self.debt.add(key, ns);
        if self.stretched.len() <= key {
            self.stretched.resize(key + 1, 0.0);
        }
        self.stretched[key] += ns;
    }
}

/// Service that took longer than its time: for remote memory, as far as it ran away from it; beyond twice its
/// time, for work of another kind. What is left is in the nature of service times.
pub(crate) fn stretches(own: &Tally, service: Nanos) -> Vec<(Key, u64)> {
    let more = own.own.saturating_sub(service.0);
    let remote = more.min(own.remote);
    let of_own = if more > service.0 { more - remote } else { 0 };
    let parts =
        [((Source::Numa, Culprit::Remote), remote), ((Source::Own, Culprit::Itself), of_own)];
    parts.into_iter().filter(|(_, ns)| *ns > 0).collect()
}
