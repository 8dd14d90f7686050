//! What CFS and EEVDF each say about one queue of entities, and about ticks and wake-ups.

use model::{CpuId, Nanos};

use super::tree::{Entity, EntityId, Tree};
use super::tunables::Tunables;
use crate::core::Core;

/// How an entity comes to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// For the first time in its life.
    New,
    /// Awake, on the CPU where it fell asleep.
    Wake,
    /// Awake, on another CPU than it fell asleep on.
    WakeElsewhere,
    /// Runnable, moved from another CPU.
    Move,
}

/// How an entity leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It sleeps.
    Sleep,
    /// It moves to another CPU, runnable.
    Move,
    /// It slept before and stayed only to work off its debt, which is done; or it is throttled
    /// (`DEQUEUE_DELAYED`, `DEQUEUE_THROTTLE`).
    Served,
}

/// The running entity, of which a queue's order knows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its virtual time.
    pub vruntime: i64,
    /// Its weight.
    pub weight: u64,
}

/// The discipline of one queue.
///
/// `waits` says whether an entity is in the order; the running entity is not. `others` is the running entity
/// when it is another one.
pub trait Timeline: Clone + Default {
    /// What the discipline keeps for each entity.
    type Mark: Clone + Default;
    /// The kernel whose behaviour this is.
    const KERNEL: &'static str;
    /// Whether turns end on time by a timer of their own, not at the next tick (`HRTICK`).
    const PRECISE_TURNS: bool;
    /// Whether a CPU that falls idle looks for work only as often as that found some lately (`NI_RANDOM`).
    const RARE_NEWIDLE: bool;
    /// Whether a group is throttled with all its threads on a CPU, not each thread when it would run.
    const THROTTLES_GROUPS: bool;

    /// Puts an entity into the order.
    fn insert(&mut self, id: EntityId, entity: &mut Entity<Self::Mark>);

    /// Takes an entity out of the order, to run.
    fn remove(&mut self, id: EntityId, entity: &mut Entity<Self::Mark>);

    /// The running entity's virtual time grew. True: its turn is over if there are others.
    fn charged(&mut self, current: &mut Entity<Self::Mark>, tunables: &Tunables) -> bool;

    /// Gives an entity that arrives its place in virtual time.
    fn place(
        &mut self,
        others: Option<Peer>,
        entity: &mut Entity<Self::Mark>,
        arrival: Arrival,
        tunables: &Tunables,
    );

    /// An entity leaves, and the order if it was in it. False: it sleeps but stays.
    fn leave(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut Entity<Self::Mark>,
        waits: bool,
        departure: Departure,
        tunables: &Tunables,
    ) -> bool;

    /// An entity that stayed asleep is awake again.
    fn resume(
        &mut self,
        _others: Option<Peer>,
        _id: EntityId,
        _entity: &mut Entity<Self::Mark>,
        _waits: bool,
        _tunables: &Tunables,
    ) {
    }

    /// Whether an entity sleeps but stays.
    fn is_delayed(_entity: &Entity<Self::Mark>) -> bool {
        false
    }

    /// A sleeping entity goes to another CPU; its virtual time must mean something there.
    fn emigrate(&self, _entity: &mut Entity<Self::Mark>) {}

    /// Which entity should run, of the `count` that the queue holds with the running one, `current`.
    fn pick(
        &mut self,
        entities: &[Entity<Self::Mark>],
        current: Option<EntityId>,
        count: u32,
        tunables: &Tunables,
    ) -> Option<EntityId>;

    /// An entity begins to run.
    fn started(&mut self, id: EntityId, entity: &mut Entity<Self::Mark>);

    /// A group's entity gets another weight.
    fn reweigh(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut Entity<Self::Mark>,
        waits: bool,
        weight: u64,
        tunables: &Tunables,
    );

    /// How far from the queue's own virtual time a new thread begins.
    fn debut(_tree: &Tree<Self>, _id: EntityId) -> i64 {
        0
    }

    /// A thread is created, runs for no time to speak of and blocks, with the CPU to itself or not.
    fn on_fork(&mut self, _entity: &mut Entity<Self::Mark>, _debut: i64, _alone: bool) {}

    /// The timer tick: asks for a new choice where a turn is over. The running thread is charged already.
    fn tick(_tree: &mut Tree<Self>, _core: &mut Core, _cpu: CpuId, _running: EntityId) {}

    /// A running thread calls `sched_yield`; there are others on its CPU, and it is charged to now.
    fn give_way(tree: &mut Tree<Self>, running: EntityId);

    /// Whether `woken` takes the CPU from `running`; both are threads of one CPU, `running` charged to now.
    fn preempts(
        tree: &mut Tree<Self>,
        now: Nanos,
        running: EntityId,
        woken: EntityId,
        arrival: Arrival,
    ) -> bool;

    /// How long the running thread may go on before its turn ends by itself.
    fn turn_left(_entity: &Entity<Self::Mark>) -> Nanos {
        Nanos::NEVER
    }

    /// Whether a thread was named to run next, so that it should not be moved (`CACHE_HOT_BUDDY`).
    fn is_buddy(&self, _id: EntityId) -> bool {
        false
    }
}
