//! A loaded policy at work, for monitors: shares, lag, queues, targets.
//!
//! The rows of the tables are read where they lie (libbpf maps them into this process), so a look costs the
//! scheduler nothing.

mod due;
mod figures;
mod lag;
mod meta;
mod names;
mod report;
mod rows;
mod sample;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use rows::{Keeping, Rows};
pub use sample::{Meter, Sample};
pub use server::{Server, describe};
