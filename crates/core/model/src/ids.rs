//! Indices with a meaning.

use serde::{Deserialize, Serialize};

/// A CPU of the scenario's machine, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CpuId(pub u32);

/// A thread of the run, counted from 0 in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

impl CpuId {
    /// The position in a table with one entry a CPU.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ThreadId {
    /// The position in a table with one entry a thread.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
