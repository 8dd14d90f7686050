//! EEVDF of Linux 7.2: of the entities that received no more than their due, the one with the earliest
//! virtual deadline runs.
//!
//! All requests have the same length here, since nothing in a scenario sets another. What the kernel does for
//! shorter ones (`PREEMPT_SHORT`, the least slice of a queue) has nothing to act on.

use model::Nanos;

use super::deadline_tree::{DeadlineTree, Key};
use super::timeline::{Arrival, Departure, Peer, Timeline};
use super::tree::{Entity, EntityId, Tree};
use super::tunables::{TICK, Tunables};
use super::weight::{NICE_0, virtual_time};

/// One queue, ordered by deadline, with the sums that give the average virtual time.
#[derive(Clone, Debug, Default)]
pub struct Eevdf {
    order: DeadlineTree,
    /// The sum of weight times virtual time over the order. Exact: the kernel keeps it relative to a moving
    /// origin to fit 64 bits.
    moment: i128,
    weight: i128,
    /// The average when it was last computed; where an empty queue stands (`zero_vruntime`).
    average: i64,
}

/// What EEVDF keeps for an entity.
#[derive(Clone, Copy, Debug, Default)]
pub struct EevdfMark {
    /// Virtual time at which its request should be done.
    pub deadline: i64,
    /// How far behind the average it was when it left (`vlag`).
    pub lag: i64,
    /// Virtual time up to which no eligible other takes its place (`vprot`).
    protected: i64,
    /// The deadline counts from the virtual time, for it moves between queues (`PLACE_REL_DEADLINE`).
    relative: bool,
    /// It sleeps but stays (`DELAY_DEQUEUE`).
    pub delayed: bool,
    /// Its place among equal deadlines of the order; 0: it is not in it.
    order: u64,
}

type EevdfEntity = Entity<EevdfMark>;

impl Eevdf {
    fn sums(&self, current: Option<Peer>) -> (i128, i128) {
        let (moment, weight) = current.map_or((0, 0), |peer| {
            (i128::from(peer.vruntime) * i128::from(peer.weight), i128::from(peer.weight))
        });
        (self.moment + moment, self.weight + weight)
    }

    /// The average virtual time, weighted, rounded down so that an entity at the average is eligible
    /// (`avg_vruntime()`).
    fn mean(&mut self, current: Option<Peer>) -> i64 {
        let (moment, weight) = self.sums(current);
        if weight > 0 {
            self.average = moment.div_euclid(weight) as i64;
        }
        self.average
    }

    /// Whether an entity of this virtual time received no more than its due (`vruntime_eligible()`), without
    /// rounding.
    fn eligible(&self, current: Option<Peer>, vruntime: i64) -> bool {
        let (moment, weight) = self.sums(current);
        moment >= i128::from(vruntime) * weight
    }

    /// Notes how far behind the average an entity is, within a request and a tick (`update_entity_lag()`).
    /// True: the note says something else than its place does.
    fn note_lag(
        &mut self,
        current: Option<Peer>,
        entity: &mut EevdfEntity,
        tunables: &Tunables,
    ) -> bool {
        let mean = self.mean(current);
        let limit = virtual_time(tunables.base_slice + TICK, entity.weight);
        let mut lag = (mean - entity.vruntime).clamp(-limit, limit);
        if entity.mark.delayed {
            // Debt may shrink while it sleeps, not grow, and no entity earns credit asleep (DELAY_ZERO).
            lag = lag.max(entity.mark.lag).min(0);
        }
        entity.mark.lag = lag;
        mean - lag != entity.vruntime
    }
}

fn as_peer(entity: &EevdfEntity) -> Peer {
    Peer { vruntime: entity.vruntime, weight: entity.weight }
}

fn request(entity: &EevdfEntity, tunables: &Tunables) -> i64 {
    virtual_time(tunables.base_slice, entity.weight)
}

impl Timeline for Eevdf {
    type Mark = EevdfMark;
    const KERNEL: &'static str = "7.2";
    const PRECISE_TURNS: bool = true;
    const RARE_NEWIDLE: bool = true;
    const THROTTLES_GROUPS: bool = false;

    fn insert(&mut self, id: EntityId, entity: &mut EevdfEntity) {
        self.moment += i128::from(entity.vruntime) * i128::from(entity.weight);
        self.weight += i128::from(entity.weight);
        entity.mark.order = self.order.insert(id, entity.mark.deadline, entity.vruntime).order;
    }

    fn remove(&mut self, _id: EntityId, entity: &mut EevdfEntity) {
        let order = std::mem::take(&mut entity.mark.order);
        if order > 0 {
            self.order.remove(Key { deadline: entity.mark.deadline, order });
            self.moment -= i128::from(entity.vruntime) * i128::from(entity.weight);
            self.weight -= i128::from(entity.weight);
        }
    }

    /// As `update_deadline()` and the end of `update_curr()`.
    fn charged(&mut self, current: &mut EevdfEntity, tunables: &Tunables) -> bool {
        let done = current.vruntime >= current.mark.deadline;
        if done {
            current.mark.deadline = current.vruntime + request(current, tunables);
            self.mean(Some(as_peer(current)));
        }
        done || current.vruntime >= current.mark.protected
    }

    /// As `place_entity()`: where the entity has the lag again that it left with. Its own weight will pull
    /// the average towards it, so the lag is enlarged before (`PLACE_LAG`).
    fn place(
        &mut self,
        others: Option<Peer>,
        entity: &mut EevdfEntity,
        arrival: Arrival,
        tunables: &Tunables,
    ) {
        let mean = self.mean(others);
        let (_, load) = self.sums(others);
        let lag = i128::from(entity.mark.lag);
        let lag = if load > 0 { lag * (load + i128::from(entity.weight)) / load } else { 0 };
        entity.vruntime = mean - lag as i64;
        if std::mem::take(&mut entity.mark.relative) {
            entity.mark.deadline += entity.vruntime;
            return;
        }
        // The others are halfway through their requests on average (PLACE_DEADLINE_INITIAL).
        let parts = if arrival == Arrival::New { 2 } else { 1 };
        entity.mark.deadline = entity.vruntime + request(entity, tunables) / parts;
    }

    /// As `dequeue_entity()`: an entity that sleeps in debt stays until the others caught up.
    fn leave(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut EevdfEntity,
        waits: bool,
        departure: Departure,
        tunables: &Tunables,
    ) -> bool {
        let current = if waits { others } else { Some(as_peer(entity)) };
        let in_debt = !self.eligible(current, entity.vruntime);
        self.note_lag(current, entity, tunables);
        if departure == Departure::Sleep && in_debt {
            entity.mark.delayed = true;
            return false;
        }
        if waits {
            self.remove(id, entity);
        }
        if departure == Departure::Move {
            entity.mark.deadline -= entity.vruntime;
            entity.mark.relative = true;
        }
        entity.mark.delayed = false;
        true
    }

    /// As `requeue_delayed_entity()`.
    fn resume(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut EevdfEntity,
        waits: bool,
        tunables: &Tunables,
    ) {
        let current = if waits { others } else { Some(as_peer(entity)) };
        if self.note_lag(current, entity, tunables) {
            if waits {
                self.remove(id, entity);
            }
            self.place(others, entity, Arrival::Wake, tunables);
            if waits {
                self.insert(id, entity);
            }
        }
        entity.mark.delayed = false;
    }

    fn is_delayed(entity: &EevdfEntity) -> bool {
        entity.mark.delayed
    }

    /// As `pick_eevdf()`: the running entity to its deadline while it is eligible (`RUN_TO_PARITY`), else the
    /// earliest deadline among the eligible.
    fn pick(
        &mut self,
        entities: &[EevdfEntity],
        current: Option<EntityId>,
        count: u32,
        _tunables: &Tunables,
    ) -> Option<EntityId> {
        let first = self.order.first();
        if count == 1 {
            return current.or(first.map(|(_, id)| id));
        }
        let running = current.map(|id| (id, &entities[id.0 as usize]));
        let peer = running.map(|(_, entity)| as_peer(entity));
        let running = running.filter(|(_, entity)| self.eligible(peer, entity.vruntime));
        if let Some((id, entity)) = running
            && entity.vruntime < entity.mark.protected
        {
            return Some(id);
        }
        let (moment, weight) = self.sums(peer);
        let best = self.order.earliest(|vruntime| moment >= i128::from(vruntime) * weight);
        match (best, running) {
            (Some((key, _)), Some((id, entity))) if entity.mark.deadline < key.deadline => Some(id),
            (Some((_, id)), _) => Some(id),
            (None, running) => running.map(|(id, _)| id).or(first.map(|(_, id)| id)),
        }
    }

    fn started(&mut self, _id: EntityId, entity: &mut EevdfEntity) {
        entity.mark.protected = entity.mark.deadline;
    }

    /// As `reweight_entity()`: lag, deadline and protection keep their real length.
    fn reweigh(
        &mut self,
        others: Option<Peer>,
        id: EntityId,
        entity: &mut EevdfEntity,
        waits: bool,
        weight: u64,
        tunables: &Tunables,
    ) {
        let was = i128::from(entity.weight);
        let scaled = |span: i64| (i128::from(span) * was / i128::from(weight)) as i64;
        if !entity.on_queue {
            entity.mark.lag = scaled(entity.mark.lag);
            entity.weight = weight;
            return;
        }
        let current = if waits { others } else { Some(as_peer(entity)) };
        self.note_lag(current, entity, tunables);
        if waits {
            self.remove(id, entity);
        }
        let protected = scaled(entity.mark.protected - entity.vruntime);
        entity.mark.lag = scaled(entity.mark.lag);
        entity.mark.deadline = scaled(entity.mark.deadline - entity.vruntime);
        entity.mark.relative = true;
        entity.weight = weight;
        self.place(others, entity, Arrival::Move, tunables);
        entity.mark.protected = entity.vruntime + protected;
        if waits {
            self.insert(id, entity);
        }
    }

    /// As `yield_task_fair()` since 6.18: an eligible thread forfeits what is left of its request.
    fn give_way(tree: &mut Tree<Eevdf>, running: EntityId) {
        let tunables = tree.tunables;
        let entity = &mut tree.entities[running.0 as usize];
        let queue = &tree.queues[entity.queue.0 as usize].timeline;
        if queue.eligible(Some(as_peer(entity)), entity.vruntime) {
            entity.vruntime = entity.mark.deadline;
            entity.mark.deadline += request(entity, &tunables);
        }
    }

    /// As `wakeup_preempt_fair()`: the entity that the queue would choose now. New threads do not preempt.
    fn preempts(
        tree: &mut Tree<Eevdf>,
        now: Nanos,
        running: EntityId,
        woken: EntityId,
        arrival: Arrival,
    ) -> bool {
        let (_, new) = tree.siblings(running, woken);
        let queue = tree.entity(new).queue;
        arrival != Arrival::New && tree.choose(now, queue) == Some(new)
    }

    /// As `hrtick_start_fair()`: up to the deadline.
    fn turn_left(entity: &EevdfEntity) -> Nanos {
        let left = (entity.mark.deadline - entity.vruntime).max(0);
        let span = i128::from(left) * i128::from(entity.weight) / i128::from(NICE_0);
        Nanos(span as u64 + 1)
    }
}

#[cfg(test)]
mod tests;
