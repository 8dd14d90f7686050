//! When the workers become free.

/// A set of workers, each free from some moment on.
pub(crate) trait Workers {
    /// When the first of them is free.
    fn earliest(&self) -> u64;

    /// Gives the first one free a request to serve from `start` on, and says when that is completed.
    fn occupy(&mut self, start: u64, service: u64) -> u64;
}

/// Workers whose services all take as long: they become free in the order in which they were taken, so that a
/// ring of the last completions is all there is to know.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    free: Box<[u64]>,
    head: usize,
}

impl Ring {
    /// As many workers, at least 1, all free.
    pub fn new(workers: u32) -> Ring {
        Ring { free: vec![0; workers as usize].into(), head: 0 }
    }
}

impl Workers for Ring {
    #[inline(always)]
    fn earliest(&self) -> u64 {
        self.free[self.head]
    }

    #[inline(always)]
    fn occupy(&mut self, start: u64, service: u64) -> u64 {
        let completion = start + service;
        self.free[self.head] = completion;
        let next = self.head + 1;
        self.head = if next == self.free.len() { 0 } else { next };
        completion
    }
}

/// Workers with any service times, as a winner tree: the root is the worker that is free first.
///
/// A key holds the moment above and the worker below, so that one comparison of integers decides.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Node 1 is the root, node n has children 2n and 2n + 1; the second half are the leaves.
    keys: Box<[u64]>,
    worker_bits: u32,
}

impl Tree {
    /// As many workers, at least 1, all free.
    pub fn new(workers: u32) -> Tree {
        let leaves = (workers as usize).next_power_of_two();
        let mut keys = vec![u64::MAX; 2 * leaves];
        (0..workers as usize).for_each(|worker| keys[leaves + worker] = worker as u64);
        for node in (1..leaves).rev() {
            keys[node] = keys[2 * node].min(keys[2 * node + 1]);
        }
        Tree { keys: keys.into(), worker_bits: leaves.trailing_zeros() }
    }

    /// The first moment that a set of `workers` cannot tell from another.
    pub fn horizon(workers: u32) -> u64 {
        u64::MAX >> u64::from(workers).next_power_of_two().trailing_zeros()
    }
}

impl Workers for Tree {
    #[inline(always)]
    fn earliest(&self) -> u64 {
        self.keys[1] >> self.worker_bits
    }

    #[inline(always)]
    fn occupy(&mut self, start: u64, service: u64) -> u64 {
        let leaves = self.keys.len() / 2;
        let worker = self.keys[1] as usize & (leaves - 1);
        let completion = start + service;
        let mut winner = (completion << self.worker_bits) | worker as u64;
        let mut node = leaves + worker;
        self.keys[node] = winner;
        while node > 1 {
            winner = winner.min(self.keys[node ^ 1]);
            node /= 2;
            self.keys[node] = winner;
        }
        completion
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_finds_the_first_free_of_any_number() {
        for workers in [1, 2, 3, 5, 8, 64, 100] {
            let mut tree = Tree::new(workers);
            let mut list = vec![0u64; workers as usize];
            for step in 0..2_000u64 {
                list.sort_unstable();
                assert_eq!(tree.earliest(), list[0], "{workers} workers");
                let service = step * 2_654_435_761 % 1_000;
                list[0] += service;
                assert_eq!(tree.occupy(tree.earliest(), service), list[0]);
            }
        }
    }
}
