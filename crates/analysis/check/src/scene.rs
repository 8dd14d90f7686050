//! What an observer knows of a machine at a moment: threads that run, wait and sleep, and where.

use std::collections::BTreeSet;

use model::change::ChangeKind;
use model::event::What;
use model::{CpuId, Nanos, Scenario, ThreadId};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It wants no CPU.
    Asleep,
    /// It wants one, and waits at this one as far as the events tell.
    Waits(Option<CpuId>),
    /// It runs.
    Runs(CpuId),
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Index of its program.
    pub program: usize,
    /// What it does.
    pub state: State,
    /// Since when.
    pub since: Nanos,
    /// When it began to want a CPU.
    pub asked: Nanos,
    /// Since when the request is at the machine that it was woken for, or has read last.
    pub request: Option<Nanos>,
    /// Whether its affinity or nice value changed, or a policy began anew, while it wanted a CPU: whether
    /// that was taken for sleep and a new arrival is the scheduler's own business.
    pub disturbed: bool,
    /// CPU time that it received up to the last time when it ceased to run.
    pub received: Nanos,
    /// Where it may run: a flag a CPU.
    pub admitted: Vec<bool>,
}

/// A machine with its threads at a moment.
pub struct Scene {
    /// The present moment.
    pub now: Nanos,
    /// All threads of the scenario.
    pub threads: Vec<Thread>,
    /// What each CPU was last switched to.
    pub occupants: Vec<Option<ThreadId>>,
    /// Which CPUs are there.
    pub online: Vec<bool>,
    /// How many interrupts have each CPU.
    pub interrupts: Vec<u32>,
    /// From when on each CPU can work: it may be about to wake up.
    pub awake_at: Vec<Nanos>,
    /// Waiting threads, but for those that are held.
    pub waiting: BTreeSet<ThreadId>,
    /// Threads that the quota of a group holds.
    pub held: BTreeSet<ThreadId>,
    /// Whether a thread has an affinity, or had one, or a CPU has gone.
    pub restricted: bool,
    /// When anything about the machine or a thread changed last, if it did.
    pub changed: Option<Nanos>,
}

impl Scene {
    /// Before the run: all threads sleep.
    pub fn new(scenario: &Scenario) -> Scene {
        let cpus = scenario.machine.cpus as usize;
        let thread = |program| Thread {
            program,
            state: State::Asleep,
            since: Nanos::ZERO,
            asked: Nanos::ZERO,
            request: None,
            disturbed: false,
            received: Nanos::ZERO,
            admitted: vec![true; cpus],
        };
        let programs = scenario.programs.iter().enumerate();
        let threads = programs
            .flat_map(|(index, program)| (0..program.kind.threads()).map(move |_| thread(index)));
        Scene {
            now: Nanos::ZERO,
            threads: threads.collect(),
            occupants: vec![None; cpus],
            online: vec![true; cpus],
            interrupts: vec![0; cpus],
            awake_at: vec![Nanos::ZERO; cpus],
            waiting: BTreeSet::new(),
            held: BTreeSet::new(),
            restricted: false,
            changed: None,
        }
    }

    /// A thread.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    /// Whether a thread may run on a CPU that is there.
    pub fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool {
        self.online[cpu.index()] && self.thread(thread).admitted[cpu.index()]
    }

    /// Whether a CPU is online and idle, though it could run a thread.
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        let at = cpu.index();
        let could = self.interrupts[at] == 0 && self.awake_at[at] <= self.now;
        self.online[at] && self.occupants[at].is_none() && could
    }

    /// CPUs that are online and idle.
    pub fn idle(&self) -> impl Iterator<Item = CpuId> {
        (0..self.occupants.len() as u32).map(CpuId).filter(|&cpu| self.is_idle(cpu))
    }

    /// CPU time that a thread has received until now.
    pub fn received(&self, thread: ThreadId) -> Nanos {
        let Thread { state, since, received, .. } = self.thread(thread);
        match state {
            State::Runs(_) => *received + self.now.saturating_sub(*since),
            _ => *received,
        }
    }

    /// Threads that were chosen again by the CPU on which they had just blocked: no event says so.
    pub fn silently_resumed(&self) -> Vec<(ThreadId, CpuId)> {
        let occupied = (0..).map(CpuId).zip(&self.occupants);
        let waits = |&(cpu, occupant): &(CpuId, &Option<ThreadId>)| {
            let thread = (*occupant)?;
            matches!(self.thread(thread).state, State::Waits(_)).then_some((thread, cpu))
        };
        occupied.filter_map(|pair| waits(&pair)).collect()
    }

    /// A thread runs on a CPU from now on.
    pub fn start(&mut self, thread: ThreadId, cpu: CpuId) {
        self.enter(thread, State::Runs(cpu));
    }

    /// An event has happened.
    pub fn follow(&mut self, what: &What) {
        match *what {
            What::Wake { thread, cpu, .. } => {
                self.threads[thread.index()].asked = self.now;
                self.enter(thread, State::Waits(Some(cpu)));
            }
            What::Block { thread, .. } => self.enter(thread, State::Asleep),
            What::Switch { cpu, from, to, .. } => {
                if let Some(from) = from.filter(|&from| self.thread(from).state == State::Runs(cpu))
                {
                    let stays = self.may_run_on(from, cpu);
                    self.enter(from, State::Waits(stays.then_some(cpu)));
                }
                self.occupants[cpu.index()] = to;
                to.into_iter().for_each(|to| self.start(to, cpu));
            }
            What::InterruptBegin { cpu, .. } => self.interrupts[cpu.index()] += 1,
            What::InterruptEnd { cpu, .. } => self.interrupts[cpu.index()] -= 1,
            What::IdleExit { cpu, took, .. } => self.awake_at[cpu.index()] = self.now + took,
            // Changes reach the scene by `change`.
            What::Fork { .. }
            | What::Migrate { .. }
            | What::Start { .. }
            | What::Finish { .. }
            | What::Affinity { .. }
            | What::Nice { .. }
            | What::Weight { .. }
            | What::Offline { .. }
            | What::Online { .. }
            | What::Waking { .. } => {}
            What::Off { thread, .. } => {
                self.waiting.remove(&thread);
                self.held.insert(thread);
                self.threads[thread.index()].disturbed = true;
            }
            What::Released { thread } => {
                self.held.remove(&thread);
                self.enter(thread, self.thread(thread).state);
            }
        }
    }

    fn enter(&mut self, thread: ThreadId, state: State) {
        let received = self.received(thread);
        let entry = &mut self.threads[thread.index()];
        (entry.received, entry.state, entry.since) = (received, state, self.now);
        if matches!(state, State::Waits(_)) {
            self.waiting.insert(thread);
        } else {
            self.waiting.remove(&thread);
        }
    }

    /// Something has changed.
    pub fn change(&mut self, kind: &ChangeKind) {
        self.changed = Some(self.now);
        match kind {
            ChangeKind::Affinity { thread, cpus } => {
                self.restricted = true;
                let admitted = &mut self.threads[thread.index()].admitted;
                admitted.fill(false);
                cpus.iter().for_each(|cpu| admitted[cpu.index()] = true);
                self.disturb(*thread);
            }
            ChangeKind::Nice { thread, .. } | ChangeKind::Move { thread, .. } => {
                self.disturb(*thread);
            }
            // Events say what becomes of them.
            ChangeKind::Weight { .. }
            | ChangeKind::Max { .. }
            | ChangeKind::Idle { .. }
            | ChangeKind::Fork(_)
            | ChangeKind::Exit(_) => {}
            ChangeKind::Offline(cpu) | ChangeKind::Online(cpu) => {
                self.restricted = true;
                self.online[cpu.index()] = matches!(kind, ChangeKind::Online(_));
                (0..self.threads.len() as u32).for_each(|id| self.disturb(ThreadId(id)));
            }
        }
    }

    /// A thread that may not wait at its CPU any more waits at an unknown one. Its wait begins anew.
    fn disturb(&mut self, thread: ThreadId) {
        let waits = match self.thread(thread).state {
            State::Waits(at) => at.filter(|&cpu| self.may_run_on(thread, cpu)),
            _ => None,
        };
        let entry = &mut self.threads[thread.index()];
        entry.disturbed |= entry.state != State::Asleep;
        if matches!(entry.state, State::Waits(_)) {
            (entry.state, entry.since) = (State::Waits(waits), self.now);
        }
    }
}
