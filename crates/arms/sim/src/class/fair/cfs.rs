//! CFS of Linux 6.1: the entity that had the least virtual time runs.

use std::collections::BTreeSet;

use model::{CpuId, Nanos};

use super::timeline::{Arrival, Departure, Peer, Timeline};
use super::tree::{Entity, EntityId, Tree};
use super::tunables::Tunables;
use super::weight::virtual_time;
use crate::core::Core;

/// So many entities fit into one latency; from here on turns have their least length (`sched_nr_latency`).
const NR_LATENCY: u32 = 8;

/// One queue, ordered by virtual time.
#[derive(Clone, Debug, Default)]
pub struct Cfs {
    waiting: BTreeSet<(i64, u64, EntityId)>,
    inserted: u64,
    /// The least virtual time of the queue, which never goes back.
    min_vruntime: i64,
    /// A waker that preempted and should now run (`set_next_buddy()`).
    next: Option<EntityId>,
    /// A thread that was preempted and would find its caches warm (`set_last_buddy()`).
    last: Option<EntityId>,
    /// A thread that yielded and should let the next one go first (`set_skip_buddy()`).
    skip: Option<EntityId>,
}

/// Where an entity stands in the order.
#[derive(Clone, Copy, Debug, Default)]
pub struct CfsMark {
    inserted: u64,
}

type CfsEntity = Entity<CfsMark>;

impl Cfs {
    /// Raises the least virtual time to that of what is there (`update_min_vruntime()`).
    fn update_min(&mut self, current: Option<i64>) {
        let first = self.waiting.first().map(|&(vruntime, _, _)| vruntime);
        if let Some(least) = first.into_iter().chain(current).min() {
            self.min_vruntime = self.min_vruntime.max(least);
        }
    }

    fn forget_buddy(&mut self, id: EntityId) {
        self.next = self.next.filter(|&buddy| buddy != id);
        self.last = self.last.filter(|&buddy| buddy != id);
        self.skip = self.skip.filter(|&buddy| buddy != id);
    }

    /// The entity to run in place of the first, which yielded: the second, if it is hardly behind.
    fn second(
        &self,
        entities: &[CfsEntity],
        least: EntityId,
        current: Option<EntityId>,
        tunables: &Tunables,
    ) -> Option<EntityId> {
        let vruntime = |id: EntityId| entities[id.0 as usize].vruntime;
        let waiting = |&(_, _, id): &(i64, u64, EntityId)| id;
        let second = match current {
            Some(running) if running == least => self.waiting.first().map(waiting),
            current => {
                let next = self.waiting.iter().nth(1).map(waiting);
                let first = |next: EntityId| match current {
                    Some(running) if vruntime(running) < vruntime(next) => running,
                    _ => next,
                };
                next.map(first).or(current)
            }
        };
        let left = &entities[least.0 as usize];
        second.filter(|&second| !far_behind(vruntime(second), left, tunables))
    }
}

/// Whether `woken` is so far behind `running` that it takes the CPU (`wakeup_preempt_entity()`).
fn far_behind(running: i64, woken: &CfsEntity, tunables: &Tunables) -> bool {
    running - woken.vruntime > virtual_time(tunables.wakeup_granularity, woken.weight)
}

impl Timeline for Cfs {
    type Mark = CfsMark;
    const KERNEL: &'static str = "6.1";
    const PRECISE_TURNS: bool = false;
    const RARE_NEWIDLE: bool = false;
    const THROTTLES_GROUPS: bool = true;

    fn insert(&mut self, id: EntityId, entity: &mut CfsEntity) {
        self.inserted += 1;
        entity.mark.inserted = self.inserted;
        self.waiting.insert((entity.vruntime, self.inserted, id));
    }

    fn remove(&mut self, id: EntityId, entity: &mut CfsEntity) {
        self.waiting.remove(&(entity.vruntime, entity.mark.inserted, id));
    }

    fn charged(&mut self, current: &mut CfsEntity, _tunables: &Tunables) -> bool {
        self.update_min(Some(current.vruntime));
        false
    }

    /// As `place_entity()` and the renormalisation in `enqueue_entity()`: a sleeper comes back at most half a
    /// latency before the others (`GENTLE_FAIR_SLEEPERS`), and never gains by it.
    fn place(
        &mut self,
        _others: Option<Peer>,
        entity: &mut CfsEntity,
        arrival: Arrival,
        tunables: &Tunables,
    ) {
        if arrival != Arrival::Wake {
            entity.vruntime += self.min_vruntime;
        }
        if matches!(arrival, Arrival::Wake | Arrival::WakeElsewhere) {
            let credit = (tunables.latency.0 / 2) as i64;
            entity.vruntime = entity.vruntime.max(self.min_vruntime - credit);
        }
    }

    fn leave(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut CfsEntity,
        waits: bool,
        departure: Departure,
        _tunables: &Tunables,
    ) -> bool {
        self.forget_buddy(id);
        if waits {
            self.remove(id, entity);
        }
        if departure == Departure::Move {
            self.emigrate(entity);
        }
        // What is throttled stays in its group's queue, which is taken out as a whole.
        if departure != Departure::Served {
            self.update_min(others.map(|peer| peer.vruntime));
        }
        true
    }

    /// Makes the virtual time relative to the queue that it leaves (`migrate_task_rq_fair()`).
    fn emigrate(&self, entity: &mut CfsEntity) {
        entity.vruntime -= self.min_vruntime;
    }

    /// As `pick_next_entity()`: the least virtual time, unless a buddy is hardly behind it.
    fn pick(
        &mut self,
        entities: &[CfsEntity],
        current: Option<EntityId>,
        _count: u32,
        tunables: &Tunables,
    ) -> Option<EntityId> {
        let vruntime = |id: EntityId| entities[id.0 as usize].vruntime;
        let first = self.waiting.first().map(|&(_, _, id)| id);
        let least = match (first, current) {
            (Some(waiting), Some(running)) if vruntime(running) < vruntime(waiting) => running,
            (first, current) => first.or(current)?,
        };
        let left = &entities[least.0 as usize];
        let skipped = self.skip == Some(least);
        let second = skipped.then(|| self.second(entities, least, current, tunables)).flatten();
        let close = |buddy: &EntityId| !far_behind(vruntime(*buddy), left, tunables);
        self.next.filter(close).or(self.last.filter(close)).or(second).or(Some(least))
    }

    fn started(&mut self, id: EntityId, _entity: &mut CfsEntity) {
        self.forget_buddy(id);
    }

    /// As `reweight_entity()` of 6.1: the virtual time stays.
    fn reweigh(
        &mut self,
        _others: Option<Peer>,
        _id: EntityId,
        entity: &mut CfsEntity,
        _waits: bool,
        weight: u64,
        _tunables: &Tunables,
    ) {
        entity.weight = weight;
    }

    /// A new thread starts behind one turn of its own beside what is there, its parent included
    /// (`START_DEBIT`).
    fn debut(tree: &Tree<Cfs>, id: EntityId) -> i64 {
        let entity = tree.entity(id);
        let parent = Arrivals { threads: 2, weight: 2 * entity.weight };
        virtual_time(turn(tree, id, parent), entity.weight)
    }

    /// Running alone, it takes the queue's virtual time up to its own.
    fn on_fork(&mut self, entity: &mut CfsEntity, debut: i64, alone: bool) {
        entity.vruntime = self.min_vruntime + debut;
        if alone {
            self.min_vruntime = entity.vruntime;
        }
    }

    fn tick(tree: &mut Tree<Cfs>, core: &mut Core, cpu: CpuId, running: EntityId) {
        let mut next = Some(running);
        while let Some(id) = next {
            if tree.queue(tree.entity(id).queue).count > 1 && turn_is_over(tree, id) {
                core.resched(cpu);
            }
            next = tree.parent(id);
        }
    }

    /// As `yield_task_fair()` of 6.1, for the thread and the groups around it: virtual times stay.
    fn give_way(tree: &mut Tree<Cfs>, running: EntityId) {
        let queue = tree.entity(running).queue;
        tree.queues[queue.0 as usize].timeline.forget_buddy(running);
        name_buddies(tree, running, |timeline| &mut timeline.skip);
    }

    /// As `check_preempt_wakeup()`, with `LAST_BUDDY` on and `NEXT_BUDDY` off.
    fn preempts(
        tree: &mut Tree<Cfs>,
        _now: Nanos,
        running: EntityId,
        woken: EntityId,
        _arrival: Arrival,
    ) -> bool {
        let crowded = tree.queue(tree.entity(running).queue).count >= NR_LATENCY;
        let (old, new) = tree.siblings(running, woken);
        if !far_behind(tree.entity(old).vruntime, tree.entity(new), &tree.tunables) {
            return false;
        }
        name_buddies(tree, new, |timeline| &mut timeline.next);
        if crowded && tree.thread_of(old).is_some() {
            name_buddies(tree, old, |timeline| &mut timeline.last);
        }
        true
    }

    fn is_buddy(&self, id: EntityId) -> bool {
        self.next == Some(id) || self.last == Some(id)
    }
}

/// Names an entity and the groups around it, each in its queue.
fn name_buddies(
    tree: &mut Tree<Cfs>,
    id: EntityId,
    slot: impl Fn(&mut Cfs) -> &mut Option<EntityId>,
) {
    let mut next = Some(id);
    while let Some(id) = next.filter(|&id| tree.entity(id).on_queue) {
        let queue = tree.entity(id).queue;
        *slot(&mut tree.queues[queue.0 as usize].timeline) = Some(id);
        next = tree.parent(id);
    }
}

/// Threads that are not on the queue yet but count there.
#[derive(Clone, Copy, Default)]
struct Arrivals {
    threads: u32,
    weight: u64,
}

/// How long a turn lasts: the entity's part of the latency, level by level (`sched_slice()`).
fn turn(tree: &Tree<Cfs>, id: EntityId, arrivals: Arrivals) -> Nanos {
    let threads = tree.root_of(id).runnable + arrivals.threads;
    let tunables = &tree.tunables;
    let mut span = match threads {
        0..=NR_LATENCY => tunables.latency.0,
        _ => tunables.min_granularity.0 * u64::from(threads),
    };
    let (mut next, mut joining) = (Some(id), arrivals.weight);
    while let Some(id) = next {
        let entity = tree.entity(id);
        let weight = tree.queue(entity.queue).weight + joining;
        span = (u128::from(span) * u128::from(entity.weight) / u128::from(weight)) as u64;
        next = tree.parent(id);
        joining =
            next.map_or(0, |up| if tree.entity(up).on_queue { 0 } else { tree.entity(up).weight });
    }
    Nanos(span).max(tunables.min_granularity)
}

/// Whether the running entity had its turn, or is far ahead of the first that waits (`check_preempt_tick()`).
fn turn_is_over(tree: &mut Tree<Cfs>, id: EntityId) -> bool {
    let turn = turn(tree, id, Arrivals::default());
    let entity = tree.entity(id);
    let (ran, vruntime, queue) = (entity.ran - entity.ran_at_pick, entity.vruntime, entity.queue);
    let timeline = &mut tree.queues[queue.0 as usize].timeline;
    if ran > turn {
        timeline.forget_buddy(id);
        return true;
    }
    let first = timeline.waiting.first().map_or(i64::MAX, |&(first, _, _)| first);
    ran >= tree.tunables.min_granularity && vruntime.saturating_sub(first) > turn.0 as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entity(vruntime: i64) -> CfsEntity {
        let mut entity = Entity::bare();
        entity.vruntime = vruntime;
        entity
    }

    proptest! {
        /// The order must be that of a stable sort by virtual time, and the queue's least time must never go
        /// back.
        #[test]
        fn picks_what_a_sort_puts_first(steps in prop::collection::vec((0..3u8, -90..90i64), 1..120)) {
            let (mut queue, mut entities, mut waiting) = (Cfs::default(), Vec::new(), Vec::new());
            for (what, vruntime) in steps {
                let before = queue.min_vruntime;
                if what == 0 && !waiting.is_empty() {
                    let id: EntityId = waiting.remove(0);
                    let tunables = Tunables::beside_generator(1);
                    queue.leave(None, id, &mut entities[id.0 as usize], true, Departure::Sleep, &tunables);
                } else {
                    let id = EntityId(entities.len() as u32);
                    entities.push(entity(vruntime));
                    queue.insert(id, &mut entities[id.0 as usize]);
                    waiting.push(id);
                    waiting.sort_by_key(|id| entities[id.0 as usize].vruntime);
                }
                let picked = queue.pick(&entities, None, 0, &Tunables::beside_generator(1));
                prop_assert_eq!(picked, waiting.first().copied());
                prop_assert!(queue.min_vruntime >= before);
            }
        }
    }

    #[test]
    fn a_sleeper_gets_half_a_latency_and_no_more() {
        let tunables = Tunables::beside_generator(1);
        let mut queue = Cfs { min_vruntime: 100_000_000, ..Cfs::default() };
        let mut long = entity(0);
        queue.place(None, &mut long, Arrival::Wake, &tunables);
        assert_eq!(long.vruntime, 94_000_000);
        let mut short = entity(99_500_000);
        queue.place(None, &mut short, Arrival::Wake, &tunables);
        assert_eq!(short.vruntime, 99_500_000);
        let mut moved = entity(5);
        queue.place(None, &mut moved, Arrival::Move, &tunables);
        assert_eq!(moved.vruntime, 100_000_005);
    }

    #[test]
    fn a_buddy_runs_first_only_while_it_is_close() {
        let tunables = Tunables::beside_generator(1);
        for (behind, expected) in [(2_000_000, EntityId(1)), (2_000_001, EntityId(0))] {
            let mut entities = vec![entity(0), entity(behind)];
            let mut queue = Cfs { last: Some(EntityId(1)), ..Cfs::default() };
            queue.insert(EntityId(0), &mut entities[0]);
            queue.insert(EntityId(1), &mut entities[1]);
            assert_eq!(queue.pick(&entities, None, 2, &tunables), Some(expected));
        }
    }
}
