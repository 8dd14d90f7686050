//! Copies of sub-requests: sent, queued, served, cancelled.

use model::Nanos;

use super::Engine;
use super::servers::Answered;
use super::work::{Copy, CopyKey, Item, Mail, Place, Task, TaskKey, Timer};
use crate::dispatch::{Dispatch, Shard};
use crate::redundancy::Cancel;

impl Engine<'_> {
    /// Sends another copy of a sub-request.
    pub(super) fn send(&mut self, task: TaskKey) {
        self.totals.decisions += 1;
        if self.dispatch == Dispatch::Central {
            return self.send_central(task);
        }
        let Some(open) = self.tasks.get(task) else { return };
        let replicas = self.shards.replicas;
        let first = open.shard * replicas;
        let lengths = &self.leaves.lengths[first as usize..(first + replicas) as usize];
        let shard = Shard { number: open.shard, first, lengths, taken: open.servers() };
        let server = self.chooser.choose(&shard, &mut self.rng);
        let copy = self.copy(task, server);
        self.leaves.more(server, &mut *self.chooser);
        self.post(Mail::Item { server, item: Item::Copy(copy) });
    }

    /// A copy of a sub-request that is still open, for a server.
    pub(super) fn copy(&mut self, task: TaskKey, server: u32) -> CopyKey {
        self.totals.copies += 1;
        let copy = self.copies.insert(Copy { task, server, place: Place::Waiting });
        if let Some(open) = self.tasks.get_mut(task) {
            open.add(copy, server);
        }
        copy
    }

    /// Sees to it that another copy is sent if the rule wants one later.
    pub(super) fn await_another(&mut self, task: TaskKey) {
        let Some(open) = self.tasks.get(task) else { return };
        if let Some(after) = self.rule.another_after(open.sent()) {
            self.clock.remind(self.clock.now + after, Timer::Another(task));
        }
    }

    /// It is time for another copy, unless the sub-request or its request is answered.
    pub(super) fn another(&mut self, task: TaskKey) {
        let open = self.tasks.get(task);
        if open.is_some_and(|open| self.requests.contains_key(open.request)) {
            self.send(task);
            self.await_another(task);
        }
    }

    /// A message goes out; without a network it is there.
    pub(super) fn post(&mut self, mail: Mail) {
        if self.network_ns == 0 {
            self.deliver(mail)
        } else {
            self.clock.post(self.network_ns, mail)
        }
    }

    /// A message arrives.
    pub(super) fn deliver(&mut self, mail: Mail) {
        match mail {
            Mail::Item { server, item } => self.enqueue(server, item),
            Mail::Answer { task, served_ns } => self.answered(task, served_ns),
            Mail::Cancel { copy, abort } => self.cancel(copy, abort),
            Mail::Free { server } => self.feed(server),
            Mail::Ask { batch, worker } => self.ask(batch, worker),
            Mail::Bound { worker, copy } => self.bound(worker, copy),
        }
    }

    /// Something reaches a leaf.
    fn enqueue(&mut self, server: u32, item: Item) {
        if !self.leaves.servers.are_queues() {
            if let Item::Copy(copy) = item {
                self.hand(copy);
            }
            return;
        }
        match self.leaves.station.take(server) {
            Some(worker) if self.give(worker, item) => {}
            Some(worker) => self.free(worker),
            None => self.leaves.station.push(server, item),
        }
    }

    /// A copy reaches a leaf that is no queue, unless it was cancelled.
    fn hand(&mut self, copy: CopyKey) {
        let Some(open) = self.copies.get_mut(copy) else { return };
        open.place = Place::Served { worker: None, since: self.clock.now };
        let server = open.server;
        let work = self.tasks.get(open.task).and_then(Task::work);
        let takes_ns = self.leaves.takes(server, work);
        let answered = self.leaves.servers.hand(server, copy, takes_ns, &mut self.clock);
        self.complete_all(answered);
    }

    /// A worker is free: it serves the next that still wants it.
    pub(super) fn pull(&mut self, worker: u32) {
        let server = self.leaves.station.server(worker);
        while let Some(item) = self.leaves.station.pop(server) {
            if self.give(worker, item) {
                return;
            }
        }
        self.leaves.station.release(worker);
    }

    /// Gives a worker something; says whether that keeps it.
    fn give(&mut self, worker: u32, item: Item) -> bool {
        match item {
            Item::Copy(copy) => self.serve(worker, copy),
            Item::Probe(batch) => self.claim(worker, batch),
        }
    }

    /// Serves a copy, unless it is not wanted any more.
    pub(super) fn serve(&mut self, worker: u32, copy: CopyKey) -> bool {
        let now = self.clock.now;
        let Some(open) = self.copies.get_mut(copy) else { return false };
        let (task, server) = (open.task, open.server);
        open.place = Place::Served { worker: Some(worker), since: now };
        let mut work = None;
        if let Some(open) = self.tasks.get_mut(task) {
            let beaten =
                self.rule.start_cancels() && open.began.saturating_add(self.network_ns) <= now;
            if beaten || !self.requests.contains_key(open.request) {
                self.drop_copy(copy);
                return false;
            }
            work = open.work();
            open.began = open.began.min(now);
        }
        let takes_ns = self.leaves.takes(server, work);
        self.leaves.servers.serve(worker, copy, takes_ns, &mut self.clock);
        if self.rule.start_cancels() {
            self.cancel_others(task, copy, false);
        }
        true
    }

    /// Tells all servers with a copy but one that they need not serve it.
    fn cancel_others(&mut self, task: TaskKey, but: CopyKey, abort: bool) {
        let Some(open) = self.tasks.get(task) else { return };
        let (copies, sent) = open.copies();
        for copy in copies[..sent].iter().filter(|copy| **copy != but) {
            if self.copies.contains_key(*copy) {
                self.post(Mail::Cancel { copy: *copy, abort });
            }
        }
    }

    /// A worker of a leaf has served something, or a machine has something to do.
    pub(super) fn served_leaf(&mut self, slot: u32) {
        match self.leaves.servers.due(slot, &mut self.clock) {
            Some(answered) => self.complete_all(answered),
            None => {
                self.complete(self.leaves.servers.served_by(slot));
                self.free(slot);
            }
        }
    }

    /// Machines have served copies. Those that were cancelled meanwhile were served all the same: a kernel is
    /// not told.
    fn complete_all(&mut self, answered: Answered<CopyKey>) {
        self.unless_fault(answered).into_iter().for_each(|copy| self.complete(copy));
    }

    /// A copy was served, unless it was cancelled.
    pub(super) fn complete(&mut self, copy: CopyKey) {
        let Some(open) = self.copies.get(copy) else { return };
        let (task, served_ns) = (open.task, self.time_of(open.place));
        self.drop_copy(copy);
        self.totals.busy_ns += u128::from(served_ns);
        self.post(Mail::Answer { task, served_ns });
    }

    /// How long a copy has been served.
    fn time_of(&self, place: Place) -> u64 {
        match place {
            Place::Waiting => 0,
            Place::Served { since, .. } => self.clock.now - since,
        }
    }

    /// A worker has nothing to do any more.
    fn free(&mut self, worker: u32) {
        if self.dispatch == Dispatch::Central {
            let server = self.leaves.station.server(worker);
            self.leaves.station.release(worker);
            self.post(Mail::Free { server });
        } else {
            self.pull(worker);
        }
    }

    /// An answer reaches the root: the first counts.
    fn answered(&mut self, task: TaskKey, served_ns: u64) {
        let open = self.tasks.get(task).map(|open| (open.request, open.created));
        let Some((request, created)) = open else {
            self.totals.wasted_ns += u128::from(served_ns);
            return;
        };
        if self.requests.contains_key(request) {
            let latency = self.clock.now - created;
            self.sub_answered.add(Nanos(latency));
            self.rule.learn(latency);
            self.cancel_answered(task);
        } else {
            self.totals.wasted_ns += u128::from(served_ns);
        }
        self.tasks.remove(task);
        self.answer(request);
    }

    /// The root cancels what the first answer makes needless.
    fn cancel_answered(&mut self, task: TaskKey) {
        let how = self.rule.answer_cancels();
        if how != Cancel::Nothing {
            self.cancel_others(task, CopyKey::default(), how == Cancel::Running);
        }
        if !self.rule.start_cancels() {
            return;
        }
        // Tied: what the first copy's server said when it began is everywhere by now, also where a copy has
        // yet to arrive.
        let Some(open) = self.tasks.get(task) else { return };
        let (copies, sent) = open.copies();
        copies[..sent].iter().for_each(|copy| self.cancel(*copy, false));
    }

    /// A copy is not needed any more: it leaves its queue, or its worker if it shall be aborted.
    fn cancel(&mut self, copy: CopyKey, abort: bool) {
        let Some(open) = self.copies.get(copy) else { return };
        let place = open.place;
        match place {
            Place::Waiting => self.drop_copy(copy),
            Place::Served { worker, .. } if abort => {
                let served_ns = u128::from(self.time_of(place));
                self.totals.busy_ns += served_ns;
                self.totals.wasted_ns += served_ns;
                self.drop_copy(copy);
                if let Some(worker) = worker {
                    self.leaves.servers.abort(worker, &mut self.clock);
                    self.free(worker);
                }
            }
            Place::Served { .. } => {}
        }
    }

    /// Forgets a copy, and with the last one a sub-request that is no longer awaited.
    pub(super) fn drop_copy(&mut self, copy: CopyKey) {
        let Some(gone) = self.copies.remove(copy) else { return };
        if self.dispatch != Dispatch::Central {
            self.leaves.less(gone.server, &mut *self.chooser);
        }
        if let Some(open) = self.tasks.get_mut(gone.task) {
            open.live -= 1;
            if open.live == 0 && !self.requests.contains_key(open.request) {
                self.tasks.remove(gone.task);
            }
        }
    }
}
