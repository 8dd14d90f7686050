//! The sim arm: a discrete-event model of the kernel, not of a scheduler.
#![forbid(unsafe_code)]

pub mod class;
pub mod core;
