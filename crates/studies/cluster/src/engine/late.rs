//! Binding late: sub-requests that get their server when a worker asks for them, from a central queue or by
//! reservations.

use super::Engine;
use super::work::{BatchKey, CopyKey, Item, Mail, RequestKey, TaskKey};
use crate::dispatch::sample;

/// Sub-requests of a request in one shard that no server has yet.
pub(super) struct Unbound {
    request: RequestKey,
    tasks: Vec<TaskKey>,
}

impl Engine<'_> {
    /// Sends a copy to a free worker of its shard, or into the shard's queue.
    pub(super) fn send_central(&mut self, task: TaskKey) {
        let Some(shard) = self.tasks.get(task).map(|open| open.shard as usize) else { return };
        let copy = self.copy(task, u32::MAX);
        if let Some(server) = self.central[shard].place(copy) {
            self.assign(copy, server);
        }
    }

    fn assign(&mut self, copy: CopyKey, server: u32) {
        if let Some(open) = self.copies.get_mut(copy) {
            open.server = server;
        }
        self.post(Mail::Item { server, item: Item::Copy(copy) });
    }

    /// The central queue is told that a server has a free worker.
    pub(super) fn feed(&mut self, server: u32) {
        let shard = &mut self.central[(server / self.shards.replicas) as usize];
        let (copies, tasks, requests) = (&self.copies, &self.tasks, &self.requests);
        let wanted = |copy: &CopyKey| {
            let task = copies.get(*copy).map(|open| tasks.get(open.task));
            task.is_some_and(|task| task.is_none_or(|open| requests.contains_key(open.request)))
        };
        if let Some(copy) = shard.feed(server, wanted) {
            self.assign(copy, server);
        }
    }

    /// Sends reservations for sub-requests of a request in a shard.
    pub(super) fn reserve(&mut self, request: RequestKey, shard: u32, count: u32, d: u32) {
        let tasks = (0..count).map(|_| self.create(request, shard)).collect();
        let batch = self.batches.insert(Unbound { request, tasks });
        let replicas = self.shards.replicas;
        for server in sample(shard * replicas, replicas, count * d, &mut self.rng) {
            self.post(Mail::Item { server, item: Item::Probe(batch) });
        }
    }

    /// A reservation's turn has come: its worker asks for work, and waits for the answer.
    pub(super) fn claim(&mut self, worker: u32, batch: BatchKey) -> bool {
        if self.network_ns > 0 {
            self.post(Mail::Ask { batch, worker });
            return true;
        }
        let copy = self.bind(batch, worker);
        copy.is_some_and(|copy| self.serve(worker, copy))
    }

    /// A worker asks its scheduler for work.
    pub(super) fn ask(&mut self, batch: BatchKey, worker: u32) {
        let copy = self.bind(batch, worker);
        self.post(Mail::Bound { worker, copy });
    }

    /// The scheduler's answer: work, or none that is left.
    pub(super) fn bound(&mut self, worker: u32, copy: Option<CopyKey>) {
        if !copy.is_some_and(|copy| self.serve(worker, copy)) {
            self.pull(worker);
        }
    }

    /// The next sub-request of a batch for a worker; none if all are bound, or not needed any more.
    fn bind(&mut self, batch: BatchKey, worker: u32) -> Option<CopyKey> {
        let open = self.batches.get_mut(batch)?;
        if !self.requests.contains_key(open.request) {
            for task in self.batches.remove(batch)?.tasks {
                self.tasks.remove(task);
            }
            return None;
        }
        let task = open.tasks.pop();
        if open.tasks.is_empty() {
            self.batches.remove(batch);
        }
        let server = self.leaves.station.server(worker);
        self.totals.decisions += 1;
        let copy = self.copy(task?, server);
        self.leaves.more(server, &mut *self.chooser);
        Some(copy)
    }
}
