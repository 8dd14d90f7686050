//! What programs of the lab's guests share: the scheduler under test, and the ranks of real-time threads.
#![forbid(unsafe_code)]

pub mod rank;
pub mod scheduler;
