//! Which thread served which request, and what each thread was at.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::event::{Cause, CpuSetId, Event, NameId, What};
use model::trace::Request;
use model::{CpuId, Nanos, ThreadId, Trace};

use crate::admission::Admission;
use crate::nesting::Nesting;
use crate::timeline::indices;

/// A request of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub thread: ThreadId,
    /// When its thread was done with the request before.
    pub free: Nanos,
}

/// What events say of threads and the requests that they serve.
pub(crate) struct Serving<'a> {
    trace: &'a Trace,
    /// By program, by request.
    served: Vec<Vec<Option<Served>>>,
    /// By thread: its requests in the order in which it was done with them.
    log: Vec<Vec<(Nanos, u32)>>,
    /// By thread: whether it is awake, from a moment on.
    awake: Vec<Vec<(Nanos, bool)>>,
    /// By thread: the CPU that it waits at or runs on, from a moment on.
    place: Vec<Vec<(Nanos, usize)>>,
    /// By program: how many of its threads wait for a CPU, from a moment on.
    waiting: Vec<Vec<(Nanos, i64)>>,
    /// By program: how many of its threads would wait for one and may not, from a moment on.
    barred: Vec<Vec<(Nanos, i64)>>,
    /// By program: CPUs that any of its threads may run on, from a moment on.
    usable: Vec<Vec<(Nanos, Arc<[usize]>)>>,
    /// By thread: the set of CPUs that it alone may run on, from a moment on.
    bound: Vec<Vec<(Nanos, CpuSetId)>>,
    /// By set: its CPUs.
    sets: Vec<Vec<usize>>,
    /// By thread: what kept it off the CPUs while it had work to do, in order of time.
    kept: Vec<Vec<OffSpan>>,
    /// By thread: its waits for locks while it was at no request: others may wait for it meanwhile.
    aside: Vec<Vec<OffSpan>>,
}

/// A thread was kept off the CPUs, and not by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffSpan {
    pub from: Nanos,
    pub to: Nanos,
    pub cause: Cause,
    pub by: Waker,
    /// Whether its time was over.
    pub timed_out: bool,
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waker {
    /// No event says.
    Unseen,
    Thread(ThreadId),
    Timer,
    Interrupt,
}

impl OffSpan {
    /// The thread that ended it, if one did.
    pub fn by_thread(&self) -> Option<ThreadId> {
        match self.by {
            Waker::Thread(thread) => Some(thread),
            _ => None,
        }
    }
}

/// A thread that runs for less than this between two waits for a lock looks what keeps its holder, and waits
/// on: threads of Python do for the interpreter's lock.
const LOOKS: Nanos = Nanos::from_micros(50);

/// Whether a cause keeps a thread from work whatever it was at: a thread without work waits in the others.
fn is_hard(kept: &OffSpan) -> bool {
    !kept.timed_out
        && !matches!(kept.cause, Cause::Lock | Cause::Socket | Cause::Other | Cause::Client)
}

/// What a list of changes says of a moment.
fn at<T>(changes: &[(Nanos, T)], moment: Nanos) -> Option<&T> {
    let after = changes.partition_point(|(at, _)| *at <= moment);
    changes[..after].last().map(|(_, value)| value)
}

/// When a list of changes says something else.
fn next_at<T>(changes: &[(Nanos, T)], moment: Nanos) -> Nanos {
    let after = changes.partition_point(|(at, _)| *at <= moment);
    changes.get(after).map_or(Nanos::NEVER, |(at, _)| *at)
}

/// Until when a list of spans says the same.
fn span_until(all: &[OffSpan], now: Nanos) -> Nanos {
    let next = all.get(all.partition_point(|kept| kept.from <= now));
    let next = next.map_or(Nanos::NEVER, |next| next.from);
    span_at(all, now).map_or(next, |kept| next.min(kept.to))
}

fn span_at(all: &[OffSpan], now: Nanos) -> Option<OffSpan> {
    let last = all[..all.partition_point(|kept| kept.from <= now)].last().copied();
    last.filter(|kept| now < kept.to)
}

/// Appends a change; of one moment the last counts.
fn note<T>(changes: &mut Vec<(Nanos, T)>, moment: Nanos, value: T) {
    match changes.last_mut() {
        Some(last) if last.0 == moment => last.1 = value,
        _ => changes.push((moment, value)),
    }
}

impl<'a> Serving<'a> {
    /// Follows the events of a trace of a machine of `cpus`.
    pub fn new(trace: &'a Trace, events: &[Event], cpus: usize) -> Serving<'a> {
        let threads = trace.threads.len();
        let programs = &trace.programs;
        let mut admission = Admission::new(trace, cpus);
        let mut serving = Serving {
            trace,
            served: programs.iter().map(|p| vec![None; p.requests.len()]).collect(),
            log: vec![Vec::new(); threads],
            awake: vec![Vec::new(); threads],
            place: vec![Vec::new(); threads],
            waiting: vec![Vec::new(); programs.len()],
            barred: vec![Vec::new(); programs.len()],
            usable: vec![vec![(Nanos::ZERO, admission.all())]; programs.len()],
            bound: vec![Vec::new(); threads],
            sets: trace.tables.cpu_sets.iter().map(|cpus| indices(cpus)).collect(),
            kept: vec![Vec::new(); threads],
            aside: vec![Vec::new(); threads],
        };
        let mut states = vec![State::Asleep; threads];
        let mut occupants = Occupants::new(cpus, trace);
        for event in events {
            serving.release(event, &occupants);
            occupants.follow(&event.what);
            serving.follow(event, &mut states, &mut admission);
        }
        serving.log.iter_mut().for_each(|log| log.sort_unstable());
        serving.free();
        for thread in 0..threads {
            serving.tell_sleeps(thread);
            let all = std::mem::take(&mut serving.kept[thread]);
            let is_real = |one: &OffSpan| is_hard(one) || serving.is_at_work(thread, one.from);
            let (kept, aside): (Vec<_>, Vec<_>) = all.into_iter().partition(is_real);
            let is_lock = |one: &OffSpan| one.cause == Cause::Lock;
            serving.kept[thread] = kept;
            serving.aside[thread] = aside.into_iter().filter(is_lock).collect();
        }
        serving
    }

    /// A wake-up or a switch ends what kept a thread.
    fn release(&mut self, event: &Event, occupants: &Occupants) {
        let (thread, cpu) = match event.what {
            What::Wake { thread, by, .. } => (thread, by),
            What::Switch { to: Some(thread), .. } | What::Released { thread } => (thread, None),
            _ => return,
        };
        let open = self.kept[thread.index()].last_mut().filter(|kept| kept.to == Nanos::NEVER);
        let Some(kept) = open else { return };
        (kept.to, kept.by) = (event.at, occupants.waker(thread, cpu));
        kept.timed_out =
            matches!(kept.cause, Cause::Socket | Cause::Lock) && kept.by == Waker::Timer;
    }

    /// A wait for sockets or a lock that a timer ended was a sleep. It was none where its thread waits for a
    /// lock again at once: whether that was one, the last of these waits says. It says, too, what the others
    /// were for that ended with another request: a thread with several waits for whatever comes. What no
    /// event ended may have been for anything.
    fn tell_sleeps(&mut self, thread: usize) {
        let started =
            |(_, request): &(Nanos, u32)| self.requests(thread)[*request as usize].started;
        let mut starts: Vec<Nanos> = self.log[thread].iter().map(started).collect();
        starts.sort_unstable();
        for at in (0..self.kept[thread].len()).rev() {
            let OffSpan { to, cause, by, timed_out, .. } = self.kept[thread][at];
            if let Some(end) = self.passed_over(thread, at, &starts) {
                let next = self.kept[thread].get(at + 1).filter(|next| next.from < end).copied();
                let kept = &mut self.kept[thread][at];
                (kept.cause, kept.by, kept.timed_out) = next
                    .map_or((Cause::Other, Waker::Unseen, false), |n| (n.cause, n.by, n.timed_out));
                continue;
            }
            let next = self.kept[thread].get(at + 1).filter(|next| next.cause == Cause::Lock);
            let waits_on = next.is_some_and(|next| self.ran_before(thread, next.from) < LOOKS);
            if timed_out && !(cause == Cause::Lock && waits_on) {
                self.kept[thread][at].cause = Cause::Sleep;
            }
            if cause == Cause::Socket && by == Waker::Unseen && to != Nanos::NEVER {
                self.kept[thread][at].cause = Cause::Other;
            }
        }
    }

    /// The end of the request that a thread was at when it waited for sockets, where it took up another one
    /// before that, and no event names what it waited for. `starts` are when it took up any.
    fn passed_over(&self, thread: usize, at: usize, starts: &[Nanos]) -> Option<Nanos> {
        let one = self.kept[thread][at];
        let (from, by) = (one.from, one.by_thread());
        let is_open = one.cause == Cause::Socket && by.is_none() && !one.timed_out;
        if !is_open || !self.is_at_work(thread, from) {
            return None;
        }
        let log = &self.log[thread];
        let end = log[log.partition_point(|(completed, _)| *completed <= from)].0;
        let next = starts.get(starts.partition_point(|start| *start <= from));
        next.filter(|start| **start < end).map(|_| end)
    }

    fn requests(&self, thread: usize) -> &[Request] {
        &self.trace.programs[self.trace.threads[thread].program].requests
    }

    /// For how long a thread had its CPU when it left it.
    fn ran_before(&self, thread: usize, left: Nanos) -> Nanos {
        let places = &self.place[thread];
        let last = places[..places.partition_point(|(at, _)| *at < left)].last();
        last.map_or(Nanos::ZERO, |(at, _)| left.saturating_sub(*at))
    }

    /// Whether a thread had read a request and not answered it.
    pub fn is_at_work(&self, thread: usize, now: Nanos) -> bool {
        let log = &self.log[thread];
        let next = log.get(log.partition_point(|(completed, _)| *completed <= now));
        next.is_some_and(|(_, request)| self.requests(thread)[*request as usize].started <= now)
    }

    /// What keeps a thread at a moment.
    pub fn kept_by(&self, thread: ThreadId, now: Nanos) -> Option<OffSpan> {
        span_at(&self.kept[thread.index()], now)
    }

    /// The same of a thread that others wait for: it may be at no request, and wait for a lock, too.
    pub fn held_up_by(&self, thread: ThreadId, now: Nanos) -> Option<OffSpan> {
        self.kept_by(thread, now).or_else(|| span_at(&self.aside[thread.index()], now))
    }

    /// Until when what keeps a thread is the same.
    pub fn kept_until(&self, thread: ThreadId, now: Nanos) -> Nanos {
        span_until(&self.kept[thread.index()], now)
    }

    /// Until when what holds up those that wait for a thread is the same.
    pub fn held_up_until(&self, thread: ThreadId, now: Nanos) -> Nanos {
        self.kept_until(thread, now).min(span_until(&self.aside[thread.index()], now))
    }

    /// When a thread goes to another CPU, to sleep, or awakes.
    pub fn moves(&self, thread: ThreadId, now: Nanos) -> Nanos {
        let place = next_at(&self.place[thread.index()], now);
        place.min(next_at(&self.awake[thread.index()], now))
    }

    /// Everything that kept threads of a program.
    pub fn kept(&self, program: usize) -> impl Iterator<Item = (ThreadId, OffSpan)> {
        let threads = (0..).map(ThreadId).zip(&self.trace.threads).zip(&self.kept);
        let threads = threads.filter(move |((_, thread), _)| thread.program == program);
        threads.flat_map(|((thread, _), all)| all.iter().map(move |kept| (thread, *kept)))
    }

    /// The threads that serve: those that answer a twentieth of what the busiest one does.
    pub fn servers(&self, program: usize) -> Vec<ThreadId> {
        let all = || (0..self.log.len() as u32).map(ThreadId);
        let own = || all().filter(|thread| self.program(*thread) == program);
        let answered = |thread: &ThreadId| self.log[thread.index()].len();
        let most = own().map(|thread| answered(&thread)).max().unwrap_or(0);
        own().filter(|thread| answered(thread) > 0 && 20 * answered(thread) >= most).collect()
    }

    fn follow(&mut self, event: &Event, states: &mut [State], admission: &mut Admission) {
        match event.what {
            What::Start { thread, request } => self.start(thread, request),
            What::Wake { thread, cpu, .. } => {
                self.enter(states, thread, State::Waits, event.at);
                note(&mut self.place[thread.index()], event.at, cpu.index());
            }
            What::Block { thread, .. } => self.enter(states, thread, State::Asleep, event.at),
            What::Off { thread, cause } => {
                let kept = OffSpan {
                    from: event.at,
                    to: Nanos::NEVER,
                    cause,
                    by: Waker::Unseen,
                    timed_out: false,
                };
                let open = self.kept[thread.index()].last_mut().filter(|k| k.to == Nanos::NEVER);
                open.into_iter().for_each(|before| before.to = event.at);
                self.kept[thread.index()].push(kept);
                if states[thread.index()] == State::Waits {
                    self.enter(states, thread, State::Barred, event.at);
                }
            }
            What::Released { thread } if states[thread.index()] == State::Barred => {
                self.enter(states, thread, State::Waits, event.at);
            }
            What::Switch { cpu, from, to, .. } => {
                let runs = |thread: &ThreadId| states[thread.index()] == State::Runs;
                if let Some(from) = from.filter(runs) {
                    self.enter(states, from, State::Waits, event.at);
                }
                if let Some(to) = to {
                    self.enter(states, to, State::Runs, event.at);
                    note(&mut self.place[to.index()], event.at, cpu.index());
                }
            }
            What::Affinity { thread, cpus } => {
                note(&mut self.bound[thread.index()], event.at, cpus);
                let program = self.program(thread);
                let usable = admission.admit(thread, cpus).into_iter();
                usable.for_each(|cpus| note(&mut self.usable[program], event.at, cpus));
            }
            _ => {}
        }
    }

    fn start(&mut self, thread: ThreadId, request: u32) {
        let program = self.trace.threads[thread.index()].program;
        let Request { started, completed, .. } =
            self.trace.programs[program].requests[request as usize];
        // A moment without a stamp tells nothing.
        if started == Nanos::NEVER || completed == Nanos::NEVER {
            return;
        }
        self.served[program][request as usize] = Some(Served { thread, free: Nanos::ZERO });
        self.log[thread.index()].push((completed, request));
    }

    fn enter(&mut self, states: &mut [State], thread: ThreadId, state: State, now: Nanos) {
        let before = std::mem::replace(&mut states[thread.index()], state);
        let program = self.trace.threads[thread.index()].program;
        for (counted, counts) in
            [(State::Waits, &mut self.waiting[program]), (State::Barred, &mut self.barred[program])]
        {
            let grown = i64::from(state == counted) - i64::from(before == counted);
            if grown != 0 {
                let last = counts.last().map_or(0, |(_, count)| *count);
                note(counts, now, last + grown);
            }
        }
        if (state == State::Asleep) != (before == State::Asleep) {
            note(&mut self.awake[thread.index()], now, state != State::Asleep);
        }
    }

    /// When the thread of each request was done with the one before.
    fn free(&mut self) {
        for (log, thread) in self.log.iter().zip(&self.trace.threads) {
            for pair in log.windows(2) {
                let own = &mut self.served[thread.program][pair[1].1 as usize];
                own.iter_mut().for_each(|served| served.free = pair[0].0);
            }
        }
    }

    /// The thread that served a request; `None` where none did, or events do not say.
    pub fn of(&self, program: usize, request: usize) -> Option<Served> {
        self.served[program][request]
    }

    /// The request that a thread is at: the one that it is done with next. If that has not been sent yet, it
    /// is the one before, which it has answered and not left yet.
    pub fn request(&self, thread: ThreadId, now: Nanos) -> Option<u32> {
        let log = &self.log[thread.index()];
        let next = log.partition_point(|(completed, _)| *completed <= now);
        let requests = &self.trace.programs[self.program(thread)].requests;
        let sent = |(_, request): &&(Nanos, u32)| requests[*request as usize].sent <= now;
        let done = || next.checked_sub(1).map(|last| log[last].1);
        log.get(next).filter(sent).map(|(_, request)| *request).or_else(done)
    }

    /// The program of a thread.
    pub fn program(&self, thread: ThreadId) -> usize {
        self.trace.threads[thread.index()].program
    }

    /// Whether a thread runs or wants to.
    pub fn is_awake(&self, thread: ThreadId, now: Nanos) -> bool {
        at(&self.awake[thread.index()], now).copied().unwrap_or(false)
    }

    /// The CPU that a thread waits at.
    pub fn place(&self, thread: ThreadId, now: Nanos) -> Option<usize> {
        at(&self.place[thread.index()], now).copied()
    }

    /// Since when it is there.
    pub fn placed(&self, thread: ThreadId, now: Nanos) -> Nanos {
        let places = &self.place[thread.index()];
        let last = places[..places.partition_point(|(at, _)| *at <= now)].last();
        last.map_or(Nanos::ZERO, |(at, _)| *at)
    }

    /// Whether any thread of a program waits for a CPU.
    pub fn waits(&self, program: usize, now: Nanos) -> bool {
        at(&self.waiting[program], now).is_some_and(|count| *count > 0)
    }

    /// Whether any thread of a program would wait for a CPU and may not, for its quota is used up.
    pub fn is_barred(&self, program: usize, now: Nanos) -> bool {
        at(&self.barred[program], now).is_some_and(|count| *count > 0)
    }

    /// The CPUs that a program may use.
    pub fn usable(&self, program: usize, now: Nanos) -> &[usize] {
        at(&self.usable[program], now).map_or(&[], |cpus| &cpus[..])
    }

    /// The CPUs that a thread may use: other threads of its program may be bound to other ones.
    pub fn usable_by(&self, thread: ThreadId, now: Nanos) -> &[usize] {
        match at(&self.bound[thread.index()], now) {
            Some(set) => &self.sets[set.0 as usize],
            None => self.usable(self.program(thread), now),
        }
    }
}

/// What a CPU is at: a thread, and the interrupts on top of it.
type Occupant = (Option<ThreadId>, Nesting<NameId>);

/// The threads and interrupts that CPUs are at.
struct Occupants<'a> {
    trace: &'a Trace,
    cpus: Vec<Occupant>,
    /// What asked for a wake-up that another CPU is about to tell. Its own CPU may go on before that.
    asked: BTreeMap<ThreadId, Waker>,
}

/// Interrupts in which the kernel ends waits whose time is over.
const TIMERS: [&str; 3] = ["local timer", "softirq timer", "softirq hrtimer"];

impl Occupants<'_> {
    fn new(cpus: usize, trace: &Trace) -> Occupants<'_> {
        Occupants { trace, cpus: vec![Occupant::default(); cpus], asked: BTreeMap::new() }
    }

    fn follow(&mut self, what: &What) {
        match *what {
            What::Switch { cpu, to, .. } => self.cpus[cpu.index()].0 = to,
            What::Waking { thread, by } => {
                self.asked.insert(thread, self.at(by));
            }
            What::Wake { thread, .. } => {
                self.asked.remove(&thread);
            }
            What::InterruptBegin { cpu, name, .. } => self.cpus[cpu.index()].1.begin(name),
            What::InterruptEnd { cpu, name, .. } => self.cpus[cpu.index()].1.end(name),
            _ => {}
        }
    }

    /// What wakes a thread: what asked for it, else what acts on the CPU that is named.
    fn waker(&self, thread: ThreadId, cpu: Option<CpuId>) -> Waker {
        let asked = self.asked.get(&thread).copied();
        asked.or_else(|| cpu.map(|cpu| self.at(cpu))).unwrap_or(Waker::Unseen)
    }

    /// What acts on a CPU: its thread, unless an interrupt is on top of it.
    fn at(&self, cpu: CpuId) -> Waker {
        let (thread, interrupts) = &self.cpus[cpu.index()];
        match (interrupts.innermost(), *thread) {
            (Some(name), _) if TIMERS.contains(&self.trace.tables.name_of(name)) => Waker::Timer,
            (Some(_), _) => Waker::Interrupt,
            (None, thread) => thread.map_or(Waker::Unseen, Waker::Thread),
        }
    }
}

/// What a thread is doing, as far as events tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Waits,
    /// It would wait, and may not: the quota of its group is used up.
    Barred,
    Runs,
}
