//! Callbacks of several CPUs stepped against each other at each access to shared state and each call of the
//! seam: races found before a kernel finds them.
//!
//! The policy's source is compiled with a call before every load, store and atomic ([`code`]). A small kernel
//! behind the seam ([`kernel`]) has runqueues with locks, deferred insertions, idle CPUs and kicks. Each CPU
//! is a coroutine, and exactly one runs at a time ([`engine`]): which one is next is a decision, so a run is
//! a list of decisions and repeats exactly. [`explore`] enumerates decisions within a number of preemptions,
//! or draws them (probabilistic concurrency testing). [`rules`] says what must hold.

pub mod code;
pub mod engine;
pub mod explore;
pub mod kernel;
pub mod memory;
pub mod planted;
pub mod report;
pub mod rules;
pub mod scenario;
pub mod seam;
pub mod world;
