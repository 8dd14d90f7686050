//! The memory of a policy's state: one table for each kind of owner, zero at first.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

unsafe extern "C" {
    /// Sizes of the state types in bytes, in the order of the tables of [`State`], then that of the options.
    static rg_native_sizes: [u64; 7];
}

/// The size of the C options, to be compared with Rust's.
pub fn options_size() -> usize {
    sizes()[6]
}

fn sizes() -> [usize; 7] {
    // SAFETY: native.c defines a constant array of exactly this type, and nothing writes to it.
    unsafe { rg_native_sizes }.map(|size| size as usize)
}

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
        self.words.resize(self.words.len().max(count * self.stride), 0);
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

/// All state of one policy instance.
pub struct State {
    pub threads: Table,
    pub processes: Table,
    pub groups: Table,
    pub cpus: Table,
    pub queues: Table,
    pub shared: Table,
}

impl State {
    /// State for a machine, without threads.
    pub fn new(cpus: u32) -> State {
        let [threads, processes, groups, per_cpu, queues, shared, _] = sizes().map(Table::new);
        let mut state = State { threads, processes, groups, cpus: per_cpu, queues, shared };
        state.cpus.grow(cpus as usize);
        state.queues.grow(cpus as usize);
        state.shared.grow(1);
        state
    }
}
