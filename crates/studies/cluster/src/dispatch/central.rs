//! One queue a shard, first come, first served, from which whatever worker is free takes the next: the ideal
//! that all other rules approach, M/G/c where services are alike everywhere. It is one scheduler that must
//! keep up with them all.

use std::collections::VecDeque;

/// The queue of a shard.
pub(crate) struct Central<T> {
    waiting: VecDeque<T>,
    /// A server for each of its free workers.
    free: Vec<u32>,
}

impl<T> Central<T> {
    /// A shard with all workers free: those of a server stand together, and the first server's are taken
    /// first.
    pub fn new(servers: std::ops::Range<u32>, workers: u32) -> Central<T> {
        let free = servers.rev().flat_map(|server| (0..workers).map(move |_| server));
        Central { waiting: VecDeque::new(), free: free.collect() }
    }

    /// A server that can begin at once; without one `item` waits.
    pub fn place(&mut self, item: T) -> Option<u32> {
        let server = self.free.pop();
        if server.is_none() {
            self.waiting.push_back(item);
        }
        server
    }

    /// A worker of a server is free: the next that waits and that `wanted` still wants.
    pub fn feed(&mut self, server: u32, wanted: impl Fn(&T) -> bool) -> Option<T> {
        while let Some(item) = self.waiting.pop_front() {
            if wanted(&item) {
                return Some(item);
            }
        }
        self.free.push(server);
        None
    }
}
