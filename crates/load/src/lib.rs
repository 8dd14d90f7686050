//! The host arm: real servers and batch work on this machine's kernel.
#![forbid(unsafe_code)]
