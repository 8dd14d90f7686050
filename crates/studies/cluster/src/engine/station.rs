//! Servers that are alike, each with a queue and workers.

use std::collections::VecDeque;

/// The queues and free workers of a tier. Workers are numbered over all servers.
pub(super) struct Station<T> {
    workers: u32,
    queues: Vec<VecDeque<T>>,
    free: Vec<Vec<u32>>,
}

impl<T> Station<T> {
    /// So many servers with so many free workers each.
    pub fn new(servers: u32, workers: u32) -> Station<T> {
        let own = |server: u32| (server * workers..(server + 1) * workers).rev().collect();
        Station {
            workers,
            queues: (0..servers).map(|_| VecDeque::new()).collect(),
            free: (0..servers).map(own).collect(),
        }
    }

    /// A free worker of a server, which is then taken.
    pub fn take(&mut self, server: u32) -> Option<u32> {
        self.free[server as usize].pop()
    }

    /// A worker is free again.
    pub fn release(&mut self, worker: u32) {
        self.free[(worker / self.workers) as usize].push(worker);
    }

    /// The server of a worker.
    pub fn server(&self, worker: u32) -> u32 {
        worker / self.workers
    }

    /// Puts something at the end of a server's queue.
    pub fn push(&mut self, server: u32, item: T) {
        self.queues[server as usize].push_back(item);
    }

    /// The next in a server's queue.
    pub fn pop(&mut self, server: u32) -> Option<T> {
        self.queues[server as usize].pop_front()
    }
}
