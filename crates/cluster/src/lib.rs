//! From one server to ten thousand: what fan-out, dispatch and redundancy make of the tail.
//!
//! [`Measured`] is one server's latency as somebody measured it.
#![forbid(unsafe_code)]

mod measured;

pub use measured::Measured;
