//! The memory of a policy's state: one table for each kind of owner, zero at first.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::program::Sizes;

/// A line of the cache, in words: `RG_LINE` of state.h.
const LINE: usize = 8;

/// Entries of one size, as words so that they are aligned for any field; the first begins a line.
pub struct Table {
    words: Vec<u64>,
    /// The first word of the first entry.
    begin: usize,
    /// The words of all entries.
    len: usize,
    stride: usize,
}

impl Table {
    fn new(bytes: usize) -> Table {
        Table { words: Vec::new(), begin: 0, len: 0, stride: bytes.div_ceil(8) }
    }

    /// Makes room for `count` entries. Pointers to entries become stale: never while C runs.
    pub fn grow(&mut self, count: usize) {
        let len = self.len.max(count * self.stride);
        if self.begin + len > self.words.len() {
            // Untouched pages of a fresh allocation cost nothing.
            let mut words = vec![0; len.max(2 * self.len) + LINE];
            let begin = words.as_ptr().align_offset(LINE * 8);
            words[begin..begin + self.len].copy_from_slice(self.entries());
            (self.words, self.begin) = (words, begin);
        }
        self.len = len;
    }

    fn entries(&self) -> &[u64] {
        &self.words[self.begin..self.begin + self.len]
    }

    /// The entry at an index, or the first for an index beyond the table, which is not empty.
    pub fn some_mut(&mut self, index: u32) -> *mut c_void {
        let entry = self.at_mut(index);
        if entry.is_null() { self.at_mut(0) } else { entry }
    }

    /// The entry at an index, to read; null where there is none.
    pub fn at(&self, index: u32) -> *const c_void {
        let first = index as usize * self.stride;
        let words = self.entries().get(first..first + self.stride);
        words.map_or(null(), |words| words.as_ptr().cast())
    }

    /// The entry at an index, for C; null where there is none. Stays good until the table grows.
    pub fn at_mut(&mut self, index: u32) -> *mut c_void {
        let first = index as usize * self.stride;
        let entries = &mut self.words[self.begin..self.begin + self.len];
        let words = entries.get_mut(first..first + self.stride);
        words.map_or(null_mut(), |words| words.as_mut_ptr().cast())
    }
}

/// Rows of queues, `RG_QUEUES` of platform.h; tables of threads and groups grow.
pub const QUEUES: usize = 8192;
/// Rows of pools, `RG_POOLS`.
pub const POOLS: usize = 65_536;
/// Rows of heaps' entries, `RG_ENTRIES`.
pub const ENTRIES: usize = 1_048_576;

/// What the policy's state hangs on: a table of rows each. In the order of their types' sizes in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `struct rg_thread`, from row 1 on.
    Thread,
    /// `struct rg_process`.
    Process,
    /// `struct rg_group`, the root's first.
    Group,
    /// `struct rg_cpu`.
    Cpu,
    /// `struct rg_queue`.
    Queue,
    /// `struct rg_pool`.
    Pool,
    /// `struct rg_entry`.
    Entry,
    /// `struct rg_shared`, one row.
    Shared,
}

impl Owner {
    /// All, in their order.
    pub const ALL: [Owner; 8] = [
        Owner::Thread,
        Owner::Process,
        Owner::Group,
        Owner::Cpu,
        Owner::Queue,
        Owner::Pool,
        Owner::Entry,
        Owner::Shared,
    ];
}

/// All state of one policy instance.
pub struct State {
    pub threads: Table,
    pub processes: Table,
    pub groups: Table,
    pub cpus: Table,
    pub queues: Table,
    pub pools: Table,
    pub entries: Table,
    pub shared: Table,
}

impl State {
    /// The rows of a kind as words, and the words of a row.
    pub fn words(&self, owner: Owner) -> (&[u64], usize) {
        let table = self.table(owner);
        (table.entries(), table.stride)
    }

    /// The row that an address is in, and where in it.
    pub fn place(&self, address: usize) -> Option<(Owner, u32, u32)> {
        Owner::ALL.into_iter().find_map(|owner| {
            let (words, stride) = self.words(owner);
            let offset = address.checked_sub(words.as_ptr().addr())?;
            let row = offset / (stride * 8);
            (offset < words.len() * 8).then_some((
                owner,
                row as u32,
                (offset % (stride * 8)) as u32,
            ))
        })
    }

    fn table(&self, owner: Owner) -> &Table {
        match owner {
            Owner::Thread => &self.threads,
            Owner::Process => &self.processes,
            Owner::Group => &self.groups,
            Owner::Cpu => &self.cpus,
            Owner::Queue => &self.queues,
            Owner::Pool => &self.pools,
            Owner::Entry => &self.entries,
            Owner::Shared => &self.shared,
        }
    }

    /// State for a machine, without threads.
    pub fn new(sizes: &Sizes, cpus: u32) -> State {
        let [threads, processes, groups, per_cpu, queues, pools, entries, shared, _] =
            sizes.map(|size| Table::new(size as usize));
        let cpus = cpus as usize;
        let mut state =
            State { threads, processes, groups, cpus: per_cpu, queues, pools, entries, shared };
        state.threads.grow(1);
        state.groups.grow(1);
        state.cpus.grow(cpus);
        state.queues.grow(QUEUES);
        state.pools.grow(POOLS);
        state.entries.grow(ENTRIES);
        state.shared.grow(1);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_a_line_and_keep_what_they_hold() {
        let mut table = Table::new(24);
        assert!(table.at(0).is_null());
        for count in [1, 2, 3, 7, 100, 50] {
            table.grow(count);
            assert_eq!(table.at(0).addr() % 64, 0, "{count}");
            let last = count - 1;
            assert_eq!(table.at(last as u32).addr(), table.at(0).addr() + 24 * last);
            assert!(table.at(100).is_null());
            let (begin, stride) = (table.begin, table.stride);
            table.words[begin + stride * last] = count as u64;
        }
        let held: Vec<u64> = [0, 1, 2, 6, 99].map(|at| table.entries()[3 * at]).into();
        assert_eq!(held, [1, 2, 3, 7, 100]);
        assert!(table.at(99) != table.at(98) && !table.at(99).is_null());
    }
}
