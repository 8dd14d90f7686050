//! Runs one schedule: exactly one coroutine at a time, and a decision wherever another could go on instead.

use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use model::{Failure, PolicySpec};
use policy_native::PolicyOptions;

use crate::code::{Code, Source};
use crate::kernel::{Hands, Kernel, cpu_main, device_main};
use crate::rules;
use crate::scenario::{Op, Scenario};
use crate::seam::handle;
use crate::world::{Note, Wait, World};

/// More steps than any run that ends takes.
const STEPS: u64 = 2_000_000;
const STACK: usize = 128 * 1024;
const TICK_NS: u64 = 4_000_000;

/// At which step another coroutine goes on than would by itself.
pub type Decision = (u64, usize);

/// Decides whose turn it is.
pub trait Chooser {
    /// From which step on to ask again: at any access, and at accesses to words that race.
    fn stops(&self, step: u64) -> (u64, u64);
    /// Who goes on: `current`, if it can, or another that can. `runnable` is not empty.
    fn choose(&mut self, step: u64, current: Option<usize>, runnable: &[usize]) -> usize;
    /// Whether to ask where a lock is released.
    fn is_eager(&self) -> bool {
        false
    }
}

/// Nobody is interrupted.
pub struct Serial;

impl Chooser for Serial {
    fn stops(&self, _step: u64) -> (u64, u64) {
        (u64::MAX, u64::MAX)
    }

    fn choose(&mut self, _step: u64, current: Option<usize>, runnable: &[usize]) -> usize {
        current.unwrap_or(runnable[0])
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    /// What went wrong first.
    pub failure: Option<String>,
    /// Decisions that were not the usual ones.
    pub decisions: Vec<Decision>,
    /// Steps until all was quiet first.
    pub steps: u64,
    /// What happened, if that was asked for.
    pub log: Vec<Note>,
}

type Life = Coroutine<(), Wait, (), DefaultStack>;

/// A policy in a scenario, ready to be run again and again from the same state.
pub struct Engine {
    /// What the coroutines share.
    pub world: Box<World>,
    begin: Kernel,
    stacks: Vec<DefaultStack>,
}

/// Compiles, see [`Code::new`].
pub fn code(source: &Source) -> Result<Rc<Code>, Failure> {
    Code::new(source).map(Rc::new)
}

impl Engine {
    /// Loads the policy and runs the scenario's prologue.
    pub fn new(code: &Rc<Code>, spec: &PolicySpec, scenario: Scenario) -> Result<Engine, Failure> {
        // No group has a promise here.
        let options = PolicyOptions::parse(spec, &scenario.machine(), None)?.without_promises();
        let world = Box::new(World::new(Rc::clone(code), scenario, options.as_bytes()));
        let begin = world.kernel.borrow().clone();
        let mut engine = Engine { world, begin, stacks: Vec::new() };
        engine.load()?;
        for op in engine.world.scenario.prologue.clone() {
            engine.world.begin(true);
            engine.drive(&[vec![op]], &mut Serial, 0);
            if let Some(failure) = engine.world.failure.borrow_mut().take() {
                return Err(Failure::Run(format!("in the prologue, at {op:?}: {failure}")));
            }
        }
        engine.world.memory.borrow_mut().save();
        engine.world.kernel.borrow_mut().departures = false;
        engine.begin = engine.world.kernel.borrow().clone();
        Ok(engine)
    }

    /// `init` and the groups, threads and idle CPUs that are there.
    fn load(&mut self) -> Result<(), Failure> {
        let world = &*self.world;
        world.begin(false);
        let error = world.enter(|| {
            let calls = &world.code.callbacks;
            let mut error = (calls.rg_init)();
            for group in 0..world.scenario.groups {
                (calls.rg_init_group)(group + 1, 0, 100);
            }
            for (at, thread) in world.scenario.threads.iter().enumerate() {
                error |= (calls.rg_init_thread)(handle(at), thread.group);
            }
            (0..world.machine.cpus).for_each(|cpu| (calls.rg_idle)(cpu as i32));
            error
        });
        match error {
            0 => Ok(()),
            error => Err(Failure::Run(format!("the policy refused to start (error {error})"))),
        }
    }

    /// Leaves out which threads must run where the policy lets them wait without any race: its wake-ups do
    /// not preempt here.
    pub fn forget_what_waits_undisturbed(&mut self) {
        let late = self.run(&mut Serial, false).failure.is_some();
        let must = std::mem::take(&mut self.world.scenario.must_run);
        if !late || self.run(&mut Serial, false).failure.is_some() {
            self.world.scenario.must_run = must;
        }
    }

    /// One run from the state after the prologue.
    pub fn run(&mut self, chooser: &mut dyn Chooser, logs: bool) -> Outcome {
        self.world.memory.borrow_mut().restore();
        self.world.kernel.borrow_mut().clone_from(&self.begin);
        self.world.log.replace(logs.then(Vec::new));
        self.world.begin(true);
        let (devices, ticks) = (self.world.scenario.devices.clone(), self.world.scenario.ticks);
        let (decisions, steps) = self.drive(&devices, chooser, ticks);
        Outcome {
            failure: self.world.failure.borrow_mut().take(),
            decisions,
            steps,
            log: self.world.log.take().unwrap_or_default(),
        }
    }

    /// Lets CPUs and devices go on until all is quiet, and then so many ticks long. Answers unusual decisions
    /// and the steps until it was quiet first.
    fn drive(
        &mut self,
        devices: &[Vec<Op>],
        chooser: &mut dyn Chooser,
        ticks: u32,
    ) -> (Vec<Decision>, u64) {
        let mut lives = self.lives(devices);
        let world = &*self.world;
        let mut crowd = Crowd::new(lives.len());
        world.set_eager(chooser.is_eager());
        world.enter(|| crowd.go_on(world, &mut lives, chooser));
        let steps = world.steps();
        world.set_eager(false);
        let waiting = rules::runs(world);
        for _ in 0..ticks {
            if world.failure.borrow().is_some() {
                break;
            }
            world.kernel.borrow_mut().pass_tick(TICK_NS);
            world.say(|| "all CPUs tick".to_string());
            world.enter(|| crowd.go_on(world, &mut lives, &mut Serial));
        }
        rules::had_turns(world, &waiting, ticks);
        for mut life in lives {
            if life.started() && !life.done() {
                // SAFETY: frames of the coroutine hold nothing that needs to be dropped: the seam borrows
                // nothing across a suspension.
                unsafe { life.force_reset() };
            }
            if life.done() {
                self.stacks.push(life.into_stack());
            }
        }
        (crowd.decisions, steps)
    }

    fn lives(&mut self, devices: &[Vec<Op>]) -> Vec<Life> {
        let cpus = self.world.machine.cpus as usize;
        let world: *const World = &*self.world;
        (0..cpus + devices.len())
            .map(|agent| {
                let stack = self
                    .stacks
                    .pop()
                    .unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
                let ops = agent.checked_sub(cpus).map(|device| devices[device].clone());
                Coroutine::with_stack(stack, move |yielder: &corosensei::Yielder<(), Wait>, ()| {
                    // SAFETY: the engine owns the world and drops coroutines at the end of `drive`.
                    let world = unsafe { &*world };
                    world.set_yielder(agent, yielder);
                    let hands = Hands { world, agent };
                    match ops {
                        Some(ops) => {
                            let ops = std::mem::ManuallyDrop::new(ops);
                            device_main(hands, &ops);
                        }
                        None => cpu_main(hands, agent),
                    }
                })
            })
            .collect()
    }
}

/// The coroutines of a run.
struct Crowd {
    waits: Vec<Wait>,
    last: Option<usize>,
    decisions: Vec<Decision>,
}

impl Crowd {
    fn new(count: usize) -> Crowd {
        Crowd { waits: vec![Wait::Ready; count], last: None, decisions: Vec::new() }
    }

    /// Until nobody can go on; then the rules of quiet must hold.
    fn go_on(&mut self, world: &World, lives: &mut [Life], chooser: &mut dyn Chooser) {
        while world.failure.borrow().is_none() {
            let runnable = self.runnable(world, lives);
            if runnable.is_empty() {
                return rules::quiet(world, &self.waits);
            }
            let step = world.steps();
            let current = self.last.filter(|last| runnable.contains(last));
            let choice = chooser.choose(step, current, &runnable);
            if choice != current.unwrap_or(runnable[0]) {
                self.decisions.push((step, choice));
            }
            let (any, racing) = chooser.stops(step);
            world.stop_at(any, racing);
            self.resume(world, lives, choice);
            if world.steps() > STEPS {
                rules::fail(world, format!("{STEPS} steps and no end: CPUs go round in circles"));
            }
        }
    }

    fn runnable(&self, world: &World, lives: &[Life]) -> Vec<usize> {
        let kernel = world.kernel.borrow();
        let can = |&at: &usize| !lives[at].done() && kernel.is_over(self.waits[at]);
        (0..lives.len()).filter(can).collect()
    }

    fn resume(&mut self, world: &World, lives: &mut [Life], agent: usize) {
        world.turn(agent);
        if self.last.is_some_and(|last| last != agent) {
            world.say(|| "goes on".to_string());
        }
        self.last = Some(agent);
        self.waits[agent] = match lives[agent].resume(()) {
            CoroutineResult::Yield(wait) => wait,
            CoroutineResult::Return(()) => Wait::Never,
        };
    }
}
