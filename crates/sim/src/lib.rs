//! The sim arm: a discrete-event model of the kernel.
#![forbid(unsafe_code)]
