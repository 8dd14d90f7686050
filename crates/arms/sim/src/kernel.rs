//! The kernel's own part: time moves from event to event, threads run, block and wake, CPUs choose again.

mod alter;
mod begin;
mod chain;
mod fair_server;
mod kicks;
mod machine;
mod meter;
mod schedule;
mod steps;
mod tick;

use model::change::{Change, ChangeKind};
use model::event::{Event, Tables, What};
use model::scenario::Quota;
use model::trace::{ThreadTrace, Trace, Window};
use model::{CpuId, Failure, Nanos, Scenario, ThreadId, Watch};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::class::Class;
use crate::class::rt::{self, Rt};
use crate::core::{Core, State, Thread};
use crate::costs::Costs;
use crate::events::{EventQueue, Tournament};
use crate::machine::Machinery;
use crate::observer::Observer;
use crate::program::Program;
use crate::streams::Stream;
use fair_server::FairServer;
use meter::Meter;

/// The period of the timer tick: `CONFIG_HZ=250`, as Debian builds its kernels. All CPUs tick on one grid
/// (`skew_tick=0`), each a little late, and only while they have a thread to run (`CONFIG_NO_HZ_IDLE`).
pub const TICK: Nanos = Nanos::from_millis(4);

/// After the window's end requests under way may finish for at most as long again; no new ones are sent.
const DRAIN_STEP: Nanos = Nanos::from_millis(10);

/// How many choices one event may cause before the class is said to go round in circles.
const CHOICES_PER_EVENT: usize = 1 << 20;

/// Whether the user wants to stop is asked once in so many events.
const EVENTS_PER_LOOK: u64 = 1 << 18;

/// What a run needs beside its class.
pub struct Setup<'a> {
    /// What runs.
    pub scenario: &'a Scenario,
    /// The policy's name with its options, for the trace.
    pub policy: &'a str,
    /// The kernel that is modelled, for the trace.
    pub kernel: &'a str,
    /// The seed of arrivals and service times.
    pub seed: u64,
    /// Whether services run under a real-time class instead of `class`.
    pub realtime: Option<rt::Kind>,
    /// What the kernel's work costs.
    pub costs: Costs,
    /// The observer.
    pub watch: &'a dyn Watch,
}

/// A finished run.
pub struct Run<Q = Tournament> {
    /// What happened.
    pub trace: Trace,
    /// Events handled: burst ends, ticks, arrivals, timers, beginnings.
    pub events: u64,
    /// The event queue at its end.
    pub queue: Q,
}

/// Runs a scenario under a class.
pub fn simulate<C: Class>(setup: &Setup, class: C) -> Result<Trace, Failure> {
    simulate_with::<C, Tournament>(setup, class).map(|run| run.trace)
}

/// [`simulate`] with a choice of the event queue, which must not change the result.
pub fn simulate_with<C: Class, Q: EventQueue>(setup: &Setup, class: C) -> Result<Run<Q>, Failure> {
    simulate_observed(setup, class, ())
}

/// [`simulate_with`], every scheduling event told to an observer, which must not change the result.
pub fn simulate_observed<C: Class, Q: EventQueue, O: Observer>(
    setup: &Setup,
    class: C,
    observer: O,
) -> Result<Run<Q>, Failure> {
    Kernel::<C, Q, O>::observed(setup, class, observer).run(setup)
}

/// [`simulate_observed`] while things happen to the machine and its threads, in the order of their moments.
pub fn simulate_changing<C: Class, Q: EventQueue, O: Observer>(
    setup: &Setup,
    class: C,
    changes: Vec<Change>,
    observer: O,
) -> Result<Run<Q>, Failure> {
    Kernel::<C, Q, O>::observed(setup, class, observer).with_changes(changes).run(setup)
}

/// What the kernel keeps of a CPU beside what classes see.
#[derive(Clone)]
struct Clock {
    /// The thread that it was last switched to; `None`: idle.
    occupant: Option<ThreadId>,
    /// The next tick; [`Nanos::NEVER`] while idle.
    tick_at: Nanos,
    /// How late the timer comes that ends the running thread's turn.
    turn_late: Nanos,
    /// When the interrupt of a tick that asked it to choose is over; [`Nanos::NEVER`]: none is under way.
    chooses_at: Nanos,
    /// Since when it has been idle, if it is.
    idle_since: Nanos,
    /// Whether the class knows that it is idle. It does not while a thread that was stopped there leaves.
    is_known_idle: bool,
}

/// What the kernel keeps of a thread beside what classes see. Never in two cache lines.
#[derive(Clone, Default)]
#[repr(align(32))]
struct Task {
    /// Where it ran last, if it ever did: migration costs count from there.
    ran_on: Option<CpuId>,
    /// Whether it has not asked its program since it was woken.
    fresh: bool,
    /// When it was woken last.
    woken: Nanos,
    /// The event slot of its timer, if its program sleeps.
    timer: Option<u32>,
    life: Life,
    /// Whether it shall exit when it runs next.
    exits: bool,
}

/// Whether a thread is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    /// It has not begun.
    #[default]
    Unborn,
    Alive,
    /// It has exited, or was not to begin.
    Gone,
}

/// A modelled machine with its programs, ready to run.
pub struct Kernel<C, Q, O = ()> {
    observer: O,
    /// The CPU whose thread's turn ends with the present event, if one does. Kept for the observer alone.
    expiring: Option<CpuId>,
    /// What happens in the course of the run, the next first.
    changes: std::vec::IntoIter<Change>,
    /// What the machine does beside running threads, if the scenario asks for anything of it.
    machinery: Option<Box<Machinery>>,
    /// Names that events refer to.
    names: Vec<String>,
    core: Core,
    realtime: Option<Rt>,
    fair_server: FairServer,
    class: C,
    queue: Q,
    programs: Vec<Program>,
    /// Which services are behind which.
    links: Vec<Option<chain::Link>>,
    clocks: Vec<Clock>,
    tasks: Vec<Task>,
    /// The event slot of the class's timer.
    class_timer: u32,
    /// Threads by timer slot.
    timers: Vec<ThreadId>,
    /// Whether all threads are created before any begins, and whether this is still under way.
    barrier: bool,
    /// Whether clients have a CPU beside those of the scenario.
    client_local: bool,
    /// Whether a group has a quota at any time.
    limits: bool,
    /// The quotas that groups have from the start.
    quotas: Vec<(usize, Quota)>,
    /// With such a CPU: whether the present event answers a request, which that CPU wakes up for.
    answers: bool,
    forking: bool,
    /// Threads that have not begun yet, the next first.
    waiting: std::vec::IntoIter<ThreadId>,
    wakes: Vec<ThreadId>,
    /// Threads that exited in the present event.
    exited: Vec<ThreadId>,
    costs: Costs,
    switch_cost_rng: Xoshiro256PlusPlus,
    tick_rng: Xoshiro256PlusPlus,
    meter: Meter,
    window: Window,
    events: u64,
}

/// Creates the programs of a scenario and their threads. Each begins on a random CPU, as forks land on any
/// CPU that is idle just then. CPU after CPU would be in step with the client's connections, and would never
/// leave a CPU idle that another needs.
fn populate(core: &mut Core, setup: &Setup, window: Window) -> Vec<Program> {
    let scenario = setup.scenario;
    let cpus = scenario.machine.cpus;
    let mut places = Stream::Places.generator(setup.seed);
    let mut programs = Vec::new();
    let processes = scenario.processes();
    let costs = setup.costs.on(&scenario.mechanisms);
    for (index, spec) in scenario.programs.iter().enumerate() {
        let first = core.threads.len() as u32;
        let program = Program::new(scenario, index, first, setup.seed, window, &costs);
        let process = processes[index];
        // The process's own program was created before.
        let host = programs.get(process).unwrap_or(&program);
        let realtime = setup.realtime.is_some() && !host.starts();
        core.threads.extend(program.threads().map(|_| Thread {
            program: index,
            process,
            group: spec.group,
            nice: spec.nice,
            realtime,
            state: State::Blocked,
            cpu: CpuId(places.random_range(0..cpus)),
            exec: Nanos::ZERO,
            remaining: Nanos::ZERO,
        }));
        programs.push(program);
    }
    core.requests = vec![None; core.threads.len()];
    programs
}

impl<C: Class, Q: EventQueue> Kernel<C, Q> {
    /// Draws the workload and creates the threads.
    pub fn new(setup: &Setup, class: C) -> Self {
        Kernel::observed(setup, class, ())
    }
}

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// [`Kernel::new`] with an observer.
    pub fn observed(setup: &Setup, class: C, observer: O) -> Self {
        let scenario = setup.scenario;
        let window = Window { start: scenario.warm_up, end: scenario.warm_up + scenario.duration };
        let mut core = Core::new(scenario.machine);
        let programs = populate(&mut core, setup, window);
        core.has_realtime = core.threads.iter().any(|thread| thread.realtime);
        let workers = programs.iter().filter(|program| program.starts());
        let waiting: Vec<ThreadId> = workers.flat_map(Program::threads).collect();
        let sleepers = programs.iter().filter(|program| program.sleeps());
        let timers: Vec<ThreadId> = sleepers.flat_map(Program::threads).collect();
        let cpus = core.cpus.len();
        let first_timer = cpus + programs.len() + 1;
        // The slot of changes lies between.
        let first_interrupt = first_timer + timers.len() + 1;
        let mut tasks = vec![Task::default(); core.threads.len()];
        for (slot, thread) in timers.iter().enumerate() {
            tasks[thread.index()].timer = Some((first_timer + slot) as u32);
        }
        let clock = Clock {
            occupant: None,
            tick_at: Nanos::NEVER,
            turn_late: Nanos::ZERO,
            chooses_at: Nanos::NEVER,
            idle_since: Nanos::ZERO,
            is_known_idle: true,
        };
        Kernel {
            observer,
            expiring: None,
            realtime: setup.realtime.map(|kind| Rt::new(kind, &scenario.machine)),
            fair_server: FairServer::new(&core),
            class,
            changes: Vec::new().into_iter(),
            machinery: Machinery::new(scenario, first_interrupt as u32),
            names: Machinery::names(scenario),
            // One more for the timer of the class.
            queue: Q::new(first_interrupt + Machinery::slots(scenario) + 1),
            class_timer: (first_interrupt + Machinery::slots(scenario)) as u32,
            clocks: vec![clock; cpus],
            tasks,
            barrier: scenario.mechanisms.start_barrier,
            client_local: scenario.mechanisms.client_local,
            limits: scenario.groups.iter().any(|group| group.max.is_some()),
            quotas: (0..)
                .zip(&scenario.groups)
                .filter_map(|(at, group)| Some((at, group.max?)))
                .collect(),
            answers: false,
            forking: false,
            waiting: waiting.into_iter(),
            timers,
            wakes: Vec::new(),
            exited: Vec::new(),
            costs: setup.costs.on(&scenario.mechanisms),
            switch_cost_rng: Stream::Switches.generator(setup.seed),
            tick_rng: Stream::Ticks.generator(setup.seed),
            meter: Meter::default(),
            window,
            events: 0,
            core,
            programs,
            links: chain::links(scenario),
        }
        .with_changes(scenario.changes())
    }

    /// Lets things happen in the course of the run, beside those of the scenario.
    pub fn with_changes(mut self, changes: Vec<Change>) -> Self {
        let mut all: Vec<Change> = self.changes.chain(changes).collect();
        all.sort_by_key(|change| change.at);
        self.limits |= all.iter().any(|change| matches!(change.kind, ChangeKind::Max { .. }));
        self.changes = all.into_iter();
        self
    }

    /// Runs it to its end, under the setup that it was made with.
    pub fn run(mut self, setup: &Setup) -> Result<Run<Q>, Failure> {
        self.start(setup.watch)?;
        for at in meter::sample_times(self.window) {
            self.run_until(at, setup.watch)?;
            self.sample(at);
        }
        self.drain(setup.watch)?;
        let trace = Trace {
            policy: setup.policy.to_string(),
            kernel: Some(setup.kernel.to_string()),
            seed: setup.seed,
            window: self.window,
            threads: self.core.threads.iter().map(|t| ThreadTrace { program: t.program }).collect(),
            programs: self.programs.into_iter().map(Program::into_trace).collect(),
            counters: self.meter.counters(),
            usage: self.meter.usage,
            neighbours: None,
            events: None,
            tables: Tables { names: self.names, cpu_sets: Vec::new(), others: Vec::new() },
        };
        Ok(Run { trace, events: self.events, queue: self.queue })
    }

    #[inline(always)]
    fn observe(&mut self, what: What) {
        if O::LISTENS && (!self.forking || matches!(what, What::Fork { .. })) {
            self.observer.on(&Event { at: self.core.now, what });
        }
    }

    fn fork(&mut self, thread: ThreadId) {
        self.observe(What::Fork { thread });
        match &mut self.realtime {
            Some(realtime) if self.core.thread(thread).realtime => {
                realtime.fork(&mut self.core, thread);
            }
            _ => self.class.fork(&mut self.core, thread),
        }
    }

    fn arrival_slot(&self, program: usize) -> u32 {
        (self.core.cpus.len() + program) as u32
    }

    /// Looks when the program's client sends next, after anything that may have changed it.
    fn expect_client(&mut self, program: usize) {
        self.queue.set(self.arrival_slot(program), self.programs[program].next_arrival());
    }

    /// The last but interrupts: changes are rare.
    fn change_slot(&self) -> u32 {
        (self.core.cpus.len() + self.programs.len() + 1 + self.timers.len()) as u32
    }

    /// Handles all events before `limit`.
    fn run_until(&mut self, limit: Nanos, watch: &dyn Watch) -> Result<(), Failure> {
        loop {
            let (at, slot) = self.queue.first();
            if at >= limit {
                return Ok(());
            }
            debug_assert!(at >= self.core.now);
            self.core.now = at;
            let on = self.handle(slot as usize);
            self.settle(on);
            self.reap();
            if self.limits {
                self.queue.set(self.class_timer, self.class.next_timer());
            }
            if self.answers {
                self.answers = false;
                self.class.client_sleeps();
            }
            if O::LISTENS {
                self.expiring = None;
            }
            self.events += 1;
            if let Some(reason) = self.core.fault() {
                return Err(Failure::Run(format!("{reason} (simulated time {at})")));
            }
            if self.events.is_multiple_of(EVENTS_PER_LOOK) {
                self.report(watch)?;
            }
        }
    }

    #[cold]
    fn report(&self, watch: &dyn Watch) -> Result<(), Failure> {
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        if self.events.is_multiple_of(16 * EVENTS_PER_LOOK) {
            watch.progress((self.core.now.as_secs_f64() / self.window.end.as_secs_f64()).min(1.0));
        }
        Ok(())
    }

    /// Lets requests under way finish after the window: to cut them off would call slow requests lost.
    fn drain(&mut self, watch: &dyn Watch) -> Result<(), Failure> {
        let last = self.window.end + self.window.span();
        let mut limit = self.window.end;
        while limit < last && self.programs.iter().any(|program| program.outstanding() > 0) {
            limit += DRAIN_STEP;
            self.run_until(limit.min(last), watch)?;
        }
        Ok(())
    }

    /// Lets the event of a slot happen. The CPU that it happens on, if it does on one.
    fn handle(&mut self, slot: usize) -> Option<CpuId> {
        let cpus = self.core.cpus.len();
        if slot < cpus {
            self.cpu_event(CpuId(slot as u32));
            return Some(CpuId(slot as u32));
        }
        if slot < cpus + self.programs.len() {
            self.arrival(slot - cpus);
        } else if slot == cpus + self.programs.len() {
            self.begin();
        } else if slot as u32 == self.change_slot() {
            self.change();
        } else if slot as u32 == self.class_timer {
            self.class.timer(&mut self.core);
        } else if slot as u32 > self.change_slot() {
            return self.interrupt_event(slot as u32);
        } else {
            return Some(self.expire_timer(slot));
        }
        None
    }

    /// The timer of a sleeping thread is due, on the CPU that it slept on.
    fn expire_timer(&mut self, slot: usize) -> CpuId {
        self.queue.set(slot as u32, Nanos::NEVER);
        let thread = self.timers[slot - self.core.cpus.len() - self.programs.len() - 1];
        let cpu = self.core.thread(thread).cpu;
        if self.machinery.is_some() {
            self.pay_timer(cpu, Some(thread));
        }
        self.wake(thread, Some(cpu));
        cpu
    }

    fn arrival(&mut self, program: usize) {
        self.programs[program].arrive(self.core.now, &mut self.wakes);
        self.expect_client(program);
        if self.machinery.is_some() {
            self.raise_sent(program);
        }
        if self.client_local {
            // Sooner than the interrupt arrives by which it wakes a thread on another CPU.
            self.class.client_sleeps();
        }
        self.wake_all(None);
    }
}
