//! One policy on one small machine: what the coroutines of its CPUs share.

use std::cell::{Cell, RefCell};
use std::ptr::null;
use std::rc::Rc;

use corosensei::Yielder;
use model::scenario::Machine;

use crate::code::Code;
use crate::kernel::Kernel;
use crate::memory::Memory;
use crate::scenario::Scenario;

/// Coroutines at most: a bit each in [`Racing`].
pub const AGENTS: usize = 8;

/// What a coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: it can go on at once.
    Ready,
    /// A lock, see [`crate::kernel::Lock`].
    Lock(crate::kernel::Lock),
    /// Something for a CPU to do.
    Attention(usize),
    /// That a thread has left its CPU.
    Switched(usize),
    /// That a thread is not on its way between queues.
    Settled(usize),
    /// Nothing more: the run has failed.
    Never,
}

/// Something that a time line shows.
#[derive(Clone, Debug)]
pub struct Note {
    /// Who did it: a CPU, or a device from the number of CPUs on.
    pub agent: usize,
    /// When.
    pub step: u64,
    /// What.
    pub what: What,
}

/// What was done.
#[derive(Clone, Debug)]
pub enum What {
    /// An access to the policy's state: from where in the code, at which address, how (`enum rg_access`).
    Access(usize, usize, u32),
    /// Something of the kernel's.
    Said(String),
}

/// Which words of the state which coroutines have read and written: an access to a word that two share, one
/// of them writing, is a place where the order matters.
pub struct Racing {
    words: Vec<u16>,
    last: Vec<(u8, u32)>,
    pairs: std::collections::HashSet<(u32, u32)>,
}

impl Racing {
    fn new(words: usize) -> Racing {
        Racing { words: vec![0; words], last: vec![(0, 0); words], pairs: Default::default() }
    }

    /// Notes an access; answers whether its word races.
    fn note(&mut self, word: usize, agent: usize, writes: bool, from: u32) -> bool {
        let bits = &mut self.words[word];
        *bits |= 1 << (agent + if writes { AGENTS } else { 0 });
        let (readers, writers) = (*bits & 0xff, *bits >> AGENTS);
        let races = writers != 0 && (readers | writers).count_ones() > 1;
        if races {
            let (last, at) = self.last[word];
            if last != 0 && last & 0x7f != agent as u8 + 1 && (writes || last & 0x80 != 0) {
                self.pairs.insert((at, from));
            }
            self.last[word] = ((agent as u8 + 1) | if writes { 0x80 } else { 0 }, from);
        }
        races
    }

    /// How many pairs of places in the code have been seen to touch one word in turn, from different CPUs,
    /// one of them writing.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }
}

/// Receives every access: the CPU, the address, whether it writes.
pub type Observer = Box<dyn FnMut(usize, usize, bool)>;

/// See the module.
pub struct World {
    /// The policy.
    pub code: Rc<Code>,
    /// What runs on it.
    pub scenario: Scenario,
    /// `struct rg_options`.
    pub options: Vec<u64>,
    /// The machine.
    pub machine: Machine,
    /// The policy's state.
    pub memory: RefCell<Memory>,
    /// The kernel's state.
    pub kernel: RefCell<Kernel>,
    /// What went wrong first in this run.
    pub failure: RefCell<Option<String>>,
    /// What happened in this run, where a caller asks for it.
    pub log: RefCell<Option<Vec<Note>>>,
    /// Learned over all runs.
    pub racing: RefCell<Racing>,
    /// Told of all accesses.
    pub observer: RefCell<Option<Observer>>,
    range: (usize, usize),
    steps: Cell<u64>,
    stop: Cell<u64>,
    stop_racing: Cell<u64>,
    agent: Cell<usize>,
    stepped: Cell<bool>,
    eager: Cell<bool>,
    yielders: Cell<[*const Yielder<(), Wait>; AGENTS]>,
}

thread_local! {
    static HERE: Cell<*const World> = const { Cell::new(null()) };
}

impl World {
    /// A world at rest, before the policy's init.
    pub fn new(code: Rc<Code>, scenario: Scenario, options: &[u8]) -> World {
        let machine = scenario.machine();
        let threads = scenario.threads.len();
        let cpus = machine.cpus as usize;
        let memory = Memory::new(&code.sizes, threads, scenario.groups as usize, cpus);
        let range = memory.range();
        let words = options.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        });
        World {
            code,
            options: words.collect(),
            machine,
            kernel: RefCell::new(Kernel::new(&scenario, cpus)),
            scenario,
            memory: RefCell::new(memory),
            failure: RefCell::new(None),
            log: RefCell::new(None),
            racing: RefCell::new(Racing::new((range.1 - range.0) / 8 + 1)),
            observer: RefCell::new(None),
            range,
            steps: Cell::new(0),
            stop: Cell::new(u64::MAX),
            stop_racing: Cell::new(u64::MAX),
            agent: Cell::new(0),
            stepped: Cell::new(false),
            eager: Cell::new(false),
            yielders: Cell::new([null(); AGENTS]),
        }
    }

    /// Calls with this world as the one that C finds.
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        let before = HERE.replace(self);
        let result = call();
        HERE.set(before);
        result
    }

    /// The world that is entered.
    pub fn here<'a>() -> &'a World {
        // SAFETY: `enter` borrows the world for as long as the pointer stands there, and C is called below
        // `enter` only; the reference does not outlive a call of the seam.
        unsafe { HERE.get().as_ref() }.expect("C runs below World::enter")
    }

    /// Steps so far in this run.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Begins a run at step 0; unless `stepped`, nothing is interrupted.
    pub fn begin(&self, stepped: bool) {
        self.steps.set(0);
        self.stepped.set(stepped);
        self.failure.replace(None);
    }

    /// Ask again at this step, and at each access to a word that races from the other on.
    pub fn stop_at(&self, step: u64, racing: u64) {
        self.stop.set(step);
        self.stop_racing.set(racing);
    }

    /// Ask again also wherever a lock is released, since another may go on then.
    pub fn set_eager(&self, eager: bool) {
        self.eager.set(eager);
    }

    /// A lock was released.
    pub fn released(&self) {
        self.point();
        if self.eager.get() {
            self.suspend(Wait::Ready);
        }
    }

    /// Whose turn it is.
    pub fn agent(&self) -> usize {
        self.agent.get()
    }

    /// Gives the turn to a coroutine that is about to be resumed.
    pub fn turn(&self, agent: usize) {
        self.agent.set(agent);
    }

    /// Where a coroutine suspends.
    pub fn set_yielder(&self, agent: usize, yielder: &Yielder<(), Wait>) {
        let mut all = self.yielders.get();
        all[agent] = yielder;
        self.yielders.set(all);
    }

    /// Hands the turn back until what is waited for has come.
    pub fn suspend(&self, wait: Wait) {
        if !self.stepped.get() {
            return;
        }
        let yielder = self.yielders.get()[self.agent.get()];
        // SAFETY: the coroutine whose turn it is has put its own yielder there and is what calls here.
        unsafe { yielder.as_ref() }.expect("a coroutine runs").suspend(wait);
    }

    /// A step of the kernel's: here another CPU may come in between.
    pub fn point(&self) {
        if !self.stepped.get() {
            return;
        }
        let step = self.steps.get() + 1;
        self.steps.set(step);
        if step >= self.stop.get() || step >= self.stop_racing.get() {
            self.suspend(Wait::Ready);
        }
    }

    /// An access to memory that may be the policy's state.
    pub fn access(&self, at: usize, kind: u32, from: usize) {
        if at < self.range.0 || at >= self.range.1 || !self.stepped.get() {
            return;
        }
        let (step, agent) = (self.steps.get() + 1, self.agent.get());
        self.steps.set(step);
        let place = from.wrapping_sub(self.code.base) as u32;
        let word = (at - self.range.0) / 8;
        let races = self.racing.borrow_mut().note(word, agent, kind != 0, place);
        if let Some(log) = &mut *self.log.borrow_mut() {
            log.push(Note { agent, step, what: What::Access(place as usize, at, kind) });
        }
        if let Some(observer) = &mut *self.observer.borrow_mut() {
            observer(agent, at, kind != 0);
        }
        if step >= self.stop.get() || (races && step >= self.stop_racing.get()) {
            self.suspend(Wait::Ready);
        }
    }

    /// Says something in the time line.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut *self.log.borrow_mut() {
            log.push(Note { agent: self.agent(), step: self.steps(), what: What::Said(what()) });
        }
    }

    /// The run has failed.
    pub fn fail(&self, what: String) {
        self.say(|| format!("FAILS: {what}"));
        self.failure.borrow_mut().get_or_insert(what);
        self.suspend(Wait::Never);
    }
}
