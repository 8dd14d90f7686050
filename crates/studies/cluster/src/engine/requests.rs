//! Requests: they come, pass their root, fan out, and are answered or lost.

use model::Nanos;

use super::work::{Request, RequestKey, Task, TaskKey, Timer};
use super::{Engine, LOST};
use crate::dispatch::Dispatch;

impl Engine<'_> {
    /// A request comes.
    pub(super) fn arrive(&mut self) {
        let now = self.clock.now;
        self.next_arrival();
        let root = self.random_root();
        let request = Request { arrived: now, waiting: self.cluster.fan_out, root };
        let request = self.requests.insert(request);
        if let Some(deadline) = self.cluster.deadline {
            self.clock.remind(now + deadline.0, Timer::Deadline(request));
        }
        if let Some(after) = self.cluster.partial.after {
            self.clock.remind(now + after.0, Timer::Partial(request));
        }
        self.split(root, request);
    }

    /// A request has passed its root, unless it is lost already.
    pub(super) fn fan_out(&mut self, request: RequestKey) {
        if !self.requests.contains_key(request) {
            return;
        }
        for (shard, count) in self.shards.draw(self.cluster.fan_out) {
            if let Dispatch::BatchSampling(d) = self.dispatch {
                self.reserve(request, shard, count, d);
                continue;
            }
            for _ in 0..count {
                let task = self.create(request, shard);
                (0..self.rule.at_once()).for_each(|_| self.send(task));
                self.await_another(task);
            }
        }
    }

    /// A sub-request without a copy.
    pub(super) fn create(&mut self, request: RequestKey, shard: u32) -> TaskKey {
        let common = self.cluster.leaf.same_work;
        let work = common.then(|| self.leaves.service_times.draw(0.0..1.0));
        self.totals.tasks += 1;
        self.tasks.insert(Task::new(request, shard, self.clock.now, work))
    }

    /// A sub-request of a request is answered.
    pub(super) fn answer(&mut self, request: RequestKey) {
        let fan_out = self.cluster.fan_out;
        let Some(open) = self.requests.get_mut(request) else { return };
        open.waiting -= 1;
        let answered = f64::from(fan_out - open.waiting);
        // A share that is a whole number of answers but for rounding is that number.
        if answered + 1e-9 >= self.cluster.partial.enough * f64::from(fan_out) {
            self.close(request);
        }
    }

    /// A request is answered with what there is. What is left of it is dropped where it is met.
    fn close(&mut self, request: RequestKey) {
        if let Some(open) = self.requests.remove(request) {
            self.merge(open);
        }
    }

    /// A request is lost, and so is what is left of it.
    fn lose(&mut self, request: RequestKey) {
        if let Some(open) = self.requests.remove(request) {
            self.finish_request(open, true);
        }
    }

    /// The client has its answer, or gives up.
    pub(super) fn finish_request(&mut self, open: Request, lost: bool) {
        let fan_out = self.cluster.fan_out;
        self.totals.requests += 1;
        self.totals.lost += u64::from(lost);
        if !lost {
            self.totals.quality += f64::from(fan_out - open.waiting) / f64::from(fan_out);
            self.totals.complete += u64::from(open.waiting == 0);
        }
        let latency = Nanos(self.clock.now - open.arrived);
        self.answered.add(if lost { LOST } else { latency });
        if self.start.is_none() && self.answered.is_warm() {
            self.totals.at = self.clock.now;
            self.start = Some(self.totals);
        }
    }

    /// Something happens by the clock.
    pub(super) fn ring(&mut self, timer: Timer) {
        match timer {
            Timer::Another(task) => self.another(task),
            Timer::Partial(request) => self.close(request),
            Timer::Deadline(request) => self.lose(request),
            Timer::Served(copy) => self.complete(copy),
            Timer::VisitDone(visit) => self.visit_done(visit),
            Timer::Episode(slot) => self.turn(slot),
        }
    }

    /// A worker has served something, or a machine has something to do.
    pub(super) fn served(&mut self, slot: u32) {
        match slot.checked_sub(self.first_root) {
            Some(slot) => self.served_root(slot),
            None => self.served_leaf(slot),
        }
    }

    /// A server becomes slow or quick.
    fn turn(&mut self, slot: u32) {
        match (slot.checked_sub(self.first_root), &mut self.roots) {
            (Some(root), Some(roots)) => roots.servers.turn(root, &mut self.clock),
            _ => self.leaves.servers.turn(slot, &mut self.clock),
        }
    }
}
