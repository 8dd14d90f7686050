//! Bugs on purpose: a class that does wrong what one rule forbids, and a watcher that is lied to.

use model::change::{Change, ChangeKind};
use model::event::{Event, What};
use model::scenario::Quota;
use model::{CpuId, Nanos, ThreadId};
use sim::Observer;
use sim::class::Class;
use sim::core::{Core, State};

use crate::run::Watcher;

/// What a planted class does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// One wake-up in so many is forgotten.
    LosesWakeUp,
    /// The class behind it is told that every thread may run everywhere.
    IgnoresAffinity,
    /// A CPU that asks for work gets none now and then.
    IdlesCpu,
    /// Of two threads that a CPU would run one after the other the second runs first.
    SwapsStarts,
    /// A CPU runs a thread that another CPU runs already.
    RunsTwice,
    /// A tick is charged twice.
    ChargesTwice,
    /// The class behind it is not told of quotas.
    IgnoresQuotas,
    /// Its timer never comes.
    ForgetsTimer,
}

/// How often the bug bites.
const PERIOD: u64 = 50;

/// A class with a bug.
pub struct Planted<C> {
    class: C,
    bug: Bug,
    calls: u64,
}

impl<C: Class> Planted<C> {
    /// Puts a bug into a class.
    pub fn new(class: C, bug: Bug) -> Planted<C> {
        Planted { class, bug, calls: 0 }
    }

    /// Whether it is this bug's turn.
    fn bites(&mut self, bug: Bug) -> bool {
        self.calls += u64::from(self.bug == bug);
        self.bug == bug && self.calls.is_multiple_of(PERIOD)
    }

    fn call<R>(&mut self, core: &mut Core, call: impl FnOnce(&mut C, &mut Core) -> R) -> R {
        if self.bug != Bug::IgnoresAffinity {
            return call(&mut self.class, core);
        }
        let everywhere = sim::affinity::Affinities::new(core.machine.cpus);
        let kept = std::mem::replace(&mut core.affinities, everywhere);
        let result = call(&mut self.class, core);
        core.affinities = kept;
        result
    }

    fn swap(&mut self, core: &mut Core, cpu: CpuId, first: ThreadId) -> ThreadId {
        match self.class.pick(core, cpu, None) {
            Some(second) => {
                self.class.displace(core, cpu, first);
                second
            }
            None => first,
        }
    }

    /// A thread of another CPU, brought here without asking.
    fn double(core: &mut Core, cpu: CpuId) -> Option<ThreadId> {
        let ids = (0..core.threads.len() as u32).map(ThreadId);
        let runs =
            |&id: &ThreadId| core.thread(id).state == State::Running && core.thread(id).cpu != cpu;
        let twice = ids.into_iter().find(runs)?;
        core.threads[twice.index()].cpu = cpu;
        Some(twice)
    }
}

impl<C: Class> Class for Planted<C> {
    fn fork(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.fork(core, thread));
    }

    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        self.call(core, |class, core| class.select_cpu(core, thread))
    }

    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        if !self.bites(Bug::LosesWakeUp) {
            self.call(core, |class, core| class.enqueue(core, thread));
        }
    }

    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.dequeue(core, thread));
    }

    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId) {
        self.call(core, |class, core| class.give_way(core, cpu, thread));
    }

    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        if prev.is_none() && self.bites(Bug::IdlesCpu) {
            return None;
        }
        let next = self.call(core, |class, core| class.pick(core, cpu, prev));
        if next.is_none() && self.bites(Bug::RunsTwice) {
            return Self::double(core, cpu);
        }
        match next {
            Some(first) if prev.is_none() && self.bites(Bug::SwapsStarts) => {
                Some(self.swap(core, cpu, first))
            }
            next => next,
        }
    }

    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.call(core, |class, core| class.displace(core, cpu, prev));
    }

    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.call(core, |class, core| class.tick(core, cpu, current));
        if self.bites(Bug::ChargesTwice) {
            core.threads[current.index()].exec += Nanos(1);
        }
    }

    fn idle(&mut self, core: &mut Core, cpu: CpuId) {
        self.call(core, |class, core| class.idle(core, cpu));
    }

    fn save(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.save(core, thread));
    }

    fn restore(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.restore(core, thread));
    }

    fn limit_group(&mut self, core: &mut Core, group: usize, max: Option<Quota>) {
        if self.bug != Bug::IgnoresQuotas {
            self.call(core, |class, core| class.limit_group(core, group, max));
        }
    }

    fn next_timer(&self) -> Nanos {
        if self.bug == Bug::ForgetsTimer { Nanos::NEVER } else { self.class.next_timer() }
    }

    fn timer(&mut self, core: &mut Core) {
        self.call(core, |class, core| class.timer(core));
    }
}

/// What a watcher is told wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Some starts are told as of a moment ago.
    Late,
    /// That this CPU went, on which threads go on to run: no class can do that, only the engine.
    Gone(CpuId),
}

/// A watcher that is lied to, after a while.
pub struct Liar<'a> {
    watcher: &'a mut Watcher,
    lie: Lie,
    events: u64,
}

impl<'a> Liar<'a> {
    /// Stands between the simulator and a watcher.
    pub fn new(watcher: &'a mut Watcher, lie: Lie) -> Liar<'a> {
        Liar { watcher, lie, events: 0 }
    }
}

impl Observer for Liar<'_> {
    fn on(&mut self, event: &Event) {
        self.events += 1;
        let start = matches!(event.what, What::Start { .. });
        let late = self.lie == Lie::Late && start && self.events > PERIOD;
        let ago = if late { Nanos(1_000_000) } else { Nanos::ZERO };
        if let (Lie::Gone(cpu), PERIOD) = (self.lie, self.events) {
            self.watcher.changed(&Change { at: event.at, kind: ChangeKind::Offline(cpu) });
        }
        self.watcher.on(&Event { at: event.at.saturating_sub(ago), what: event.what });
    }

    fn stamped(&mut self, thread: ThreadId, at: Nanos) {
        self.watcher.stamped(thread, at);
    }
}
