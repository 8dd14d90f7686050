//! Threads join and leave the tree: the walk from an entity up through its groups.

use model::{Nanos, ThreadId};

use super::timeline::{Arrival, Departure, Timeline};
use super::tree::{EntityId, Tree};

impl<T: Timeline> Tree<T> {
    /// A thread begins to want its CPU (`enqueue_task_fair()`).
    pub fn enqueue(&mut self, now: Nanos, thread: ThreadId, arrival: Arrival) {
        let (mut next, mut arrival) = (Some(self.entity_of(thread)), arrival);
        let joins = u32::from(!self.entity(self.entity_of(thread)).on_queue);
        while let Some(id) = next {
            self.touch(now, id);
            if !self.entity(id).on_queue {
                self.enqueue_entity(now, id, arrival);
                arrival = Arrival::Wake;
            } else if T::is_delayed(self.entity(id)) {
                self.resume(id);
            } else {
                self.update_share(now, id);
            }
            let queue = self.entity(id).queue;
            self.count(queue, |queue| {
                queue.runnable += 1;
                queue.queued += joins;
            });
            next = self.parent(id);
        }
    }

    fn enqueue_entity(&mut self, now: Nanos, id: EntityId, arrival: Arrival) {
        self.update_share(now, id);
        let queue_id = self.entity(id).queue;
        let others = self.peer(queue_id, Some(id));
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[queue_id.0 as usize];
        queue.timeline.place(others, entity, arrival, &self.tunables);
        queue.weight += entity.weight;
        queue.count += 1;
        entity.on_queue = true;
        if queue.current != Some(id) {
            queue.timeline.insert(id, entity);
        }
    }

    /// An entity that slept on its queue wants to run again (`requeue_delayed_entity()`).
    fn resume(&mut self, id: EntityId) {
        let queue_id = self.entity(id).queue;
        let others = self.peer(queue_id, Some(id));
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[queue_id.0 as usize];
        let waits = queue.current != Some(id);
        queue.timeline.resume(others, id, entity, waits, &self.tunables);
    }

    /// A thread stops wanting its CPU, or leaves for another (`dequeue_task_fair()`). False: the discipline
    /// keeps it queued for a while although it sleeps.
    pub fn dequeue(&mut self, now: Nanos, thread: ThreadId, departure: Departure) -> bool {
        let id = self.entity_of(thread);
        let (mut going, mut next) = (Some(departure), Some(id));
        while let Some(at) = next {
            self.touch(now, at);
            let queue_id = self.entity(at).queue;
            if let Some(departure) = going {
                let gone = self.dequeue_entity(now, at, departure);
                let emptied = gone && self.queue(queue_id).count == 0;
                let up = if departure == Departure::Served { departure } else { Departure::Sleep };
                going = emptied.then_some(up);
            } else {
                self.update_share(now, at);
            }
            let leaves = u32::from(!self.entity(id).on_queue);
            self.count(queue_id, |queue| {
                queue.runnable -= 1;
                queue.queued -= leaves;
            });
            next = self.parent(at);
        }
        !self.entity(id).on_queue
    }

    fn dequeue_entity(&mut self, now: Nanos, id: EntityId, departure: Departure) -> bool {
        let queue_id = self.entity(id).queue;
        let others = self.peer(queue_id, Some(id));
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[queue_id.0 as usize];
        let waits = queue.current != Some(id);
        if !queue.timeline.leave(others, id, entity, waits, departure, &self.tunables) {
            return false;
        }
        entity.on_queue = false;
        queue.weight -= entity.weight;
        queue.count -= 1;
        self.update_share(now, id);
        true
    }

    /// A sleeping entity that the discipline kept has served its time (`pick_next_entity()` of 7.2): it
    /// leaves, and so do the groups that it leaves empty.
    pub fn finish_delayed(&mut self, now: Nanos, id: EntityId) {
        let (mut next, mut departure) = (Some(id), Departure::Served);
        while let Some(at) = next {
            self.touch(now, at);
            let queue = self.entity(at).queue;
            let gone = self.dequeue_entity(now, at, departure);
            next = self.parent(at).filter(|_| gone && self.queue(queue).count == 0);
            departure = Departure::Sleep;
        }
        let mut around = Some(id).filter(|&id| self.entity(id).owns.is_none());
        while let Some(at) = around {
            let queue = self.entity(at).queue;
            self.count(queue, |queue| queue.queued -= 1);
            around = self.parent(at);
        }
    }
}
