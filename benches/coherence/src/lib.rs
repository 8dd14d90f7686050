//! Counts cache lines that go from CPU to CPU under a policy.
//!
//! The policy's source is compiled with a call at each access to memory and runs in the simulator
//! ([`watched`]). [`lines`] says which accesses find a line that another CPU wrote last, and [`layout`] which
//! field lies there. Counts, not times: the same seed gives the same figures on every machine.

pub mod counter;
pub mod layout;
pub mod lines;
pub mod load;
pub mod table;
pub mod watched;
