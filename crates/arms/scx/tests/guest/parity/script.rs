//! What a callback is told and what it did natively, in the form of script.bpf.h.

use model::{CpuId, ThreadId};
use policy_native::{Platform, Policy};

use crate::toy::Toy;

/// `PARITY_THREADS` and `PARITY_ACTS`.
const THREADS: usize = 64;
pub const ACTS: usize = 512;

/// Acts, and questions whose answer an act changes: `enum parity_call`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum Call {
    Random = 1,
    DefaultCpu,
    PickIdle,
    Kick,
    Create,
    Insert,
    Local,
    Length,
    Peek,
    Move,
    Visit,
    VisitMove,
    SetSlice,
}

impl Call {
    /// All kinds: each is made by some policy.
    pub const ALL: [Call; 13] = [
        Call::Random,
        Call::DefaultCpu,
        Call::PickIdle,
        Call::Kick,
        Call::Create,
        Call::Insert,
        Call::Local,
        Call::Length,
        Call::Peek,
        Call::Move,
        Call::Visit,
        Call::VisitMove,
        Call::SetSlice,
    ];
}

/// One of them; a thread is its number plus 1.
#[derive(Clone, Copy, Debug)]
pub struct Act {
    pub call: Call,
    pub args: [u64; 4],
    pub answer: u64,
}

/// A callback of the policy.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    Init,
    InitGroup(u32, u32, u32),
    WeighGroup(u32, u32),
    InitThread(ThreadId, u32),
    MoveThreadGroup(ThreadId, u32),
    SelectCpu(ThreadId, u32),
    Enqueue(ThreadId, bool),
    Dispatch(u32, Option<ThreadId>),
    GiveWay(ThreadId),
    Tick(ThreadId),
    Stopping(ThreadId, bool),
    Idle(u32),
    ExitThread(ThreadId),
}

impl Event {
    /// Makes the native callback.
    pub fn play(self, policy: &mut Policy, on: &mut dyn Platform) -> i64 {
        match self {
            Event::Init => return i64::from(policy.init(on).is_err()),
            Event::InitGroup(group, parent, weight) => policy.init_group(on, group, parent, weight),
            Event::WeighGroup(group, weight) => policy.weigh_group(on, group, weight),
            Event::InitThread(thread, group) => {
                return i64::from(policy.init_thread(on, thread, group).is_err());
            }
            Event::MoveThreadGroup(thread, group) => policy.move_thread_group(on, thread, group),
            Event::SelectCpu(thread, prev) => {
                return i64::from(policy.select_cpu(on, thread, CpuId(prev)).0);
            }
            Event::Enqueue(thread, woken) => policy.enqueue(on, thread, woken),
            Event::Dispatch(cpu, prev) => policy.dispatch(on, CpuId(cpu), prev),
            Event::GiveWay(thread) => policy.give_way(on, thread),
            Event::Tick(thread) => policy.tick(on, thread),
            Event::Stopping(thread, runnable) => policy.stopping(on, thread, runnable),
            Event::Idle(cpu) => policy.idle(on, CpuId(cpu)),
            Event::ExitThread(thread) => policy.exit_thread(on, thread),
        }
        0
    }

    /// The kernel's program, the thread that it is about, and its other arguments.
    pub fn program(self) -> (&'static str, Option<ThreadId>, [u32; 3]) {
        match self {
            Event::Init => ("init", None, [0; 3]),
            Event::InitGroup(group, parent, weight) => {
                ("init_group", None, [group, parent, weight])
            }
            Event::WeighGroup(group, weight) => ("weigh_group", None, [group, weight, 0]),
            Event::InitThread(thread, group) => ("init_thread", Some(thread), [group, 0, 0]),
            Event::MoveThreadGroup(thread, group) => {
                ("move_thread_group", Some(thread), [group, 0, 0])
            }
            Event::SelectCpu(thread, prev) => ("select_cpu", Some(thread), [prev, 0, 0]),
            Event::Enqueue(thread, woken) => ("enqueue", Some(thread), [woken.into(), 0, 0]),
            Event::Dispatch(cpu, prev) => ("dispatch", prev, [cpu, 0, 0]),
            Event::GiveWay(thread) => ("give_way", Some(thread), [0; 3]),
            Event::Tick(thread) => ("tick", Some(thread), [0; 3]),
            Event::Stopping(thread, runnable) => {
                ("stopping", Some(thread), [runnable.into(), 0, 0])
            }
            Event::Idle(cpu) => ("idle", None, [cpu, 0, 0]),
            Event::ExitThread(thread) => ("exit_thread", Some(thread), [0; 3]),
        }
    }
}

/// `input`: the callback, the machine as it was before, and what was done natively.
pub struct Input(Vec<u8>);

impl Input {
    /// Of a callback about to be made.
    pub fn before(event: Event, toy: &Toy) -> Input {
        let (_, thread, args) = event.program();
        let (cpu, runnable) = toy.dispatching;
        let mut input = Input(Vec::new());
        input.long(toy.now);
        input.words([number(thread)]);
        input.words(args);
        // The count of acts is not yet known.
        input.words([cpu, number(runnable), 0, 0]);
        for at in 0..THREADS {
            input.thread(toy, at);
        }
        input
    }

    fn thread(&mut self, toy: &Toy, at: usize) {
        let Some(thread) = toy.threads.get(at) else { return self.words([0; 8]) };
        self.long(thread.exec_ns);
        let only_on = thread.only_on.map_or(u32::MAX, |cpu| cpu);
        let kthread = thread.percpu_kthread.into();
        let id = at as u32 + 1;
        self.words([id, thread.process, thread.weight, thread.cpu, only_on, kthread]);
    }

    /// With what the callback did.
    pub fn after(mut self, acts: &[Act]) -> Vec<u8> {
        const COUNT: usize = 32;
        assert!(acts.len() <= ACTS, "{} acts in a callback", acts.len());
        self.0[COUNT..COUNT + 4].copy_from_slice(&(acts.len() as u32).to_ne_bytes());
        for act in acts {
            self.long(act.call as u64);
            act.args.iter().for_each(|arg| self.long(*arg));
            self.long(act.answer);
        }
        self.0.resize(self.0.len() + (ACTS - acts.len()) * size_of::<[u64; 6]>(), 0);
        self.0
    }

    fn long(&mut self, word: u64) {
        self.0.extend(word.to_ne_bytes());
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) {
        words.iter().for_each(|word| self.0.extend(word.to_ne_bytes()));
    }
}

fn number(thread: Option<ThreadId>) -> u32 {
    thread.map_or(0, |thread| thread.0 + 1)
}
