//! What requests wait for before their own thread is free for them, and what a service owes them when they
//! come: one sweep over the whole trace, whatever the length of queues.

mod edges;
mod keeping;
mod ledger;
mod slots;

use std::collections::BTreeMap;

use model::trace::Request;
use model::{Failure, Nanos, ThreadId};

use crate::amounts::Amounts;
use crate::apportion::apportion;
use crate::debt::{Debt, Served};
use crate::room::Room;
use crate::source::{Culprit, Source};
use crate::sweep::{Key, Scene, Slots, Subject, Tally, WORDS_OF_CAUSE};
use crate::timeline::Cursor;

use edges::{Edge, edges};
use keeping::{Keeping, KeptTime};
use ledger::{Ledger, Mark};

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

/// The moment from which on a part of a request's wait is counted.
struct From {
    /// What requests before this one were served until then, it and those before, those that came before the
    /// ideal would have begun with it, and all.
    served: [u64; 4],
    /// In `lost`.
    mark: Mark,
    /// In `kept` of its thread.
    of_thread: Mark,
}

/// What is known of a request under way.
struct Open {
    /// From when on its wait is counted: since it was intended, and then since it was sent. None where its
    /// thread was free.
    from: Option<From>,
    sent: Option<Nanos>,
    /// What it met so far.
    met: Met,
    /// Whether it is at its thread.
    is_met: bool,
    owed: Vec<(usize, f64)>,
    stretched: BTreeMap<usize, f64>,
}

impl Open {
    /// The room that it takes.
    fn words(&self) -> usize {
        2 * (self.owed.len() + self.stretched.len())
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
    lost: Ledger,
    /// By thread: for how long what kept it.
    kept: Vec<Ledger>,
    /// What keeps threads now.
    keeping: Keeping,
    debt: Debt,
    /// By key: work beyond service times.
    stretched: BTreeMap<usize, f64>,
    credited: Vec<u64>,
    outstanding: usize,
    ideal_busy: usize,
    open: BTreeMap<u32, Open>,
    /// By thread: the CPU that it is on.
    on: BTreeMap<ThreadId, usize>,
    /// By CPU: the thread that is on it.
    occupants: BTreeMap<usize, ThreadId>,
    /// What is taken of the room for sums.
    charged: usize,
    /// How much there was to look at.
    steps: u64,
}

/// What each of these requests met, in their order.
pub(crate) fn follow(
    scene: &Scene,
    program: usize,
    slots: &Slots,
    queued: &[Queued],
    room: &mut Room,
) -> Result<Vec<Met>, Failure> {
    let mut walk = Walk::new(scene, program, slots, queued);
    let edges = edges(scene, program, queued, walk.keeping.all());
    let mut met = vec![Met::default(); queued.len()];
    let mut cursor = Cursor::new(&scene.timeline, scene.node_of.len());
    let (mut edges, mut moments) = (edges.into_iter().peekable(), scene.moments.iter().peekable());
    loop {
        let next = [edges.peek().map(|(at, _)| *at), moments.peek().map(|at| **at)];
        let Some(now) = next.into_iter().flatten().min() else { return Ok(met) };
        moments.next_if(|at| **at == now);
        walk.pass(now);
        while let Some((_, edge)) = edges.next_if(|(at, _)| *at == now) {
            walk.turn(edge, &mut met, room)?;
        }
        let from = cursor.next;
        cursor.advance(now);
        walk.place(from, &cursor);
        walk.look(&cursor);
        room.work(walk.worked())?;
    }
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
            lost: Ledger::default(),
            kept: scene.trace.threads.iter().map(|_| Ledger::default()).collect(),
            keeping: Keeping::new(scene.serving.kept(program)),
            debt: Debt::default(),
            stretched: BTreeMap::new(),
            credited: vec![0; scene.trace.programs[program].requests.len()],
            outstanding: 0,
            ideal_busy: 0,
            open: BTreeMap::new(),
            on: BTreeMap::new(),
            occupants: BTreeMap::new(),
            charged: 0,
            steps: 0,
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
        self.taken.iter().for_each(|key| self.lost.add(*key, span));
        if self.is_waited_for_nothing() {
            self.lost.add(UNKNOWN, span * self.slots.count() as u64);
        }
        self.keep(since, to);
        let behind = (self.ideal_busy as f64 - serving as f64) * span as f64;
        if behind <= 0.0 {
            return self.debt.repay(-behind);
        }
        let causes = if self.taken.is_empty() { &[UNKNOWN][..] } else { &self.taken };
        causes.iter().for_each(|key| self.debt.add(*key, behind / causes.len() as f64));
    }

    /// Looks up what may keep threads for another cause since a moment, and counts what did until another.
    fn keep(&mut self, since: Nanos, to: Nanos) {
        while let Some((at, one)) = self.keeping.next_stale() {
            let (key, until) = self.scene.cause(&one, since);
            let key = self.number(key);
            self.keeping.settle(at, key, [since, until]);
        }
        while let Some(kept) = self.keeping.expire(to) {
            self.count(kept);
        }
    }

    fn count(&mut self, kept: Option<KeptTime>) {
        if let Some(KeptTime { thread, key, ns }) = kept {
            self.kept[thread.index()].add(key, ns);
        }
    }

    /// Whether requests wait and no slot is at work or kept from it: an event loop that waits for the rest of
    /// a request. What slots did in between is not what it waits for.
    fn is_waited_for_nothing(&self) -> bool {
        self.outstanding > 0 && self.states.iter().all(|state| *state == Slot::Idle)
    }

    fn turn(&mut self, edge: Edge, met: &mut [Met], room: &mut Room) -> Result<(), Failure> {
        match edge {
            Edge::IdealStart => self.ideal_busy += 1,
            Edge::IdealEnd => self.ideal_busy = self.ideal_busy.saturating_sub(1),
            Edge::Intended(at) => room.take(self.open(at))?,
            Edge::Sent(at) => self.sent(at),
            Edge::Head(at) => self.head(at),
            Edge::Completed(at) => {
                room.give_back(self.open.get(&at).map_or(0, Open::words));
                met[at as usize] = self.close(at);
                room.take(met[at as usize].words())?;
                self.stretch(at);
            }
            Edge::OffSpan(at) => self.keeping.begin(at),
            Edge::Released(at) => {
                let kept = self.keeping.end(at, self.now);
                self.count(kept);
            }
            Edge::Followed => {}
        }
        let words = self.lost.words();
        room.give_back(std::mem::replace(&mut self.charged, words));
        room.take(words)
    }

    /// Says how much room it takes.
    fn open(&mut self, at: u32) -> usize {
        self.outstanding += 1;
        let subject = self.queued[at as usize].subject;
        let waits = subject.head(self.request(at)) > self.now;
        let open = Open {
            from: waits.then(|| self.from(at)),
            sent: None,
            met: Met::default(),
            is_met: false,
            owed: self.debt.owed().collect(),
            stretched: self.stretched.clone(),
        };
        self.steps += self.debt.causes() as u64;
        let words = open.words();
        self.open.insert(at, open);
        words
    }

    fn request(&self, at: u32) -> &'s Request {
        let Subject { request, program, .. } = self.queued[at as usize].subject;
        &self.scene.trace.programs[program].requests[request as usize]
    }

    /// A part of its wait begins.
    fn from(&mut self, at: u32) -> From {
        let thread = self.queued[at as usize].subject.served.thread;
        let kept = self.keeping.count(thread, self.now);
        self.count(kept);
        let (mark, of_thread) = (self.lost.mark(), self.kept[thread.index()].mark());
        From { served: self.served(at), mark, of_thread }
    }

    /// What it and others were served.
    fn served(&self, at: u32) -> [u64; 4] {
        let Subject { request, ideal_start, program, .. } = self.queued[at as usize].subject;
        let requests = &self.scene.trace.programs[program].requests;
        let later = requests.partition_point(|one| one.intended < ideal_start) as u32;
        let before = |request: u32| self.served.before(request, self.now.0);
        [before(request), before(request + 1), before(later.max(request + 1)), self.served_in_all]
    }

    /// It is on its way to its thread.
    fn sent(&mut self, at: u32) {
        let later = (Source::Inversion, Culprit::Program(self.program as u32));
        if !self.open.contains_key(&at) {
            return;
        }
        let waited = self.now - self.request(at).intended;
        self.part(at, waited.0, None, later);
        let (now, from) = (self.now, self.from(at));
        if let Some(open) = self.open.get_mut(&at) {
            (open.sent, open.from) = (Some(now), Some(from));
        }
    }

    /// Its thread is free for it.
    fn head(&mut self, at: u32) {
        let Some(sent) = self.open.get(&at).and_then(|open| open.sent) else { return };
        self.part(at, (self.now - sent).0, Some(()), (Source::IdleElsewhere, Culprit::Worker));
        self.open.entry(at).and_modify(|open| open.is_met = true);
    }

    /// A part of its wait ends.
    fn part(&mut self, at: u32, span: u64, of_thread: Option<()>, later: Key) {
        let Some(open) = self.open.get_mut(&at) else { return };
        let Some(from) = open.from.take() else { return };
        let mut met = std::mem::take(&mut open.met);
        self.window(at, span, &from, of_thread, later, &mut met);
        self.forget(at, &from);
        self.open.entry(at).and_modify(|open| open.met = met);
    }

    fn forget(&mut self, at: u32, from: &From) {
        let thread = self.queued[at as usize].subject.served.thread;
        self.lost.drop(from.mark);
        self.kept[thread.index()].drop(from.of_thread);
    }

    /// What a request met in all.
    fn close(&mut self, at: u32) -> Met {
        self.outstanding = self.outstanding.saturating_sub(1);
        let Some(open) = self.open.remove(&at) else { return Met::default() };
        open.from.iter().for_each(|from| self.forget(at, from));
        let mut met = if open.is_met { open.met } else { Met::default() };
        // CPUs share what is owed; a thread has a queue of its own.
        let slots = match self.slots {
            Slots::Threads(_) => 1.0,
            Slots::Cpus(cpus) => *cpus as f64,
        };
        let owed = open.owed.iter().map(|(key, ns)| (self.keys[*key], ns / slots));
        met.owed = owed.collect::<Vec<_>>().into();
        for (key, sum) in &self.stretched {
            let more = sum - open.stretched.get(key).copied().unwrap_or(0.0);
            if more > 0.0 {
                met.owed.add(self.keys[*key], more / slots);
            }
        }
        met.blamed.settle();
        met.owed.settle();
        met
    }

    /// Divides a part of a request's time in the queue: while its own thread was kept, to the cause of that;
    /// the rest like what the slots did.
    fn window(
        &mut self,
        at: u32,
        span: u64,
        from: &From,
        of_thread: Option<()>,
        later: Key,
        met: &mut Met,
    ) {
        let mut lost = self.lost.since(from.mark);
        lost.sort_unstable();
        let mut rest = span;
        for (key, ns) in of_thread.map(|()| self.kept_since(at, from)).into_iter().flatten() {
            let ns = ns.min(rest);
            rest -= ns;
            if ns > 0 {
                met.blamed.add(self.keys[key], ns);
            }
            if let Ok(place) = lost.binary_search_by_key(&key, |one| one.0) {
                lost[place].1 = lost[place].1.saturating_sub(ns);
            }
        }
        let to = self.served(at);
        let served = |at: usize| to[at] - from.served[at];
        let siblings = [served(0), served(2) - served(1), served(3) - served(2)];
        let weights = siblings.into_iter().chain(lost.iter().map(|one| one.1));
        let weights: Vec<u128> = weights.map(u128::from).collect();
        let Some(parts) = apportion(rest, &weights) else { return };
        met.first += parts[0];
        met.after += parts[2];
        let keys = std::iter::once(later).chain(lost.iter().map(|one| self.keys[one.0]));
        for (key, ns) in keys.zip(std::iter::once(&parts[1]).chain(&parts[3..])) {
            if *ns > 0 {
                met.blamed.add(key, *ns);
            }
        }
    }

    /// What kept a request's thread since then.
    fn kept_since(&mut self, at: u32, from: &From) -> Vec<(usize, u64)> {
        let thread = self.queued[at as usize].subject.served.thread;
        let kept = self.keeping.count(thread, self.now);
        self.count(kept);
        self.kept[thread.index()].since(from.of_thread)
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

    /// How much there was to look at since it was asked last.
    fn worked(&mut self) -> u64 {
        let parts = [&mut self.steps, &mut self.keeping.steps, &mut self.lost.steps];
        1 + self.states.len() as u64 + parts.into_iter().map(std::mem::take).sum::<u64>()
    }

    fn beyond(&mut self, key: usize, ns: f64) {
        self.debt.add(key, ns);
        *self.stretched.entry(key).or_default() += ns;
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
