//! The memory of a policy's state: one table for each kind of owner, zero at first.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::program::Sizes;

/// Entries of one size, as words so that they are aligned for any field.
pub struct Table {
    words: Vec<u64>,
    stride: usize,
}

impl Table {
    fn new(bytes: usize) -> Table {
        Table { words: Vec::new(), stride: bytes.div_ceil(8) }
    }

    /// Makes room for `count` entries. Pointers to entries become stale: never while C runs.
    pub fn grow(&mut self, count: usize) {
        let words = count * self.stride;
        if self.words.is_empty() {
            // Untouched pages of a fresh allocation cost nothing.
            self.words = vec![0; words];
        } else {
            self.words.resize(self.words.len().max(words), 0);
        }
    }

    /// The entry at an index, or the first for an index beyond the table, which is not empty.
    pub fn some_mut(&mut self, index: u32) -> *mut c_void {
        let entry = self.at_mut(index);
        if entry.is_null() { self.at_mut(0) } else { entry }
    }

    /// The entry at an index, to read; null where there is none.
    pub fn at(&self, index: u32) -> *const c_void {
        let first = index as usize * self.stride;
        self.words.get(first..first + self.stride).map_or(null(), |words| words.as_ptr().cast())
    }

    /// The entry at an index, for C; null where there is none. Stays good until the table grows.
    pub fn at_mut(&mut self, index: u32) -> *mut c_void {
        let first = index as usize * self.stride;
        let words = self.words.get_mut(first..first + self.stride);
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
        (&table.words, table.stride)
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
