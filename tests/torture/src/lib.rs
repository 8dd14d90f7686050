//! What programs of the lab's guests share: the scheduler under test, and who stands above whom.
#![forbid(unsafe_code)]

pub mod rank;
pub mod scheduler;
