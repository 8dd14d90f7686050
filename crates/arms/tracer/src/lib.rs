//! The stages of requests, T1 to T6 (Tales section 3.3.1), of a server that need not know: from tracepoints,
//! joined by byte offsets.
//!
//! A [`Tracer`] records what every hook saw at a server's port, and the holders of the CPUs. The
//! [`Recording`] is joined to [`Connections`], which answer with the [`Stages`](model::trace::Stages) of a
//! request by its bytes: the client's own offsets, or those that [`Connection::exchanges`] finds where no
//! client tells. [`Hooks`] records the holders of the CPUs alone, for arms that run real programs.

mod answering;
mod client;
mod compact;
mod connection;
mod cpu_time;
mod descent;
mod events;
mod exchange;
mod follower;
mod handover;
mod hooks;
mod interrupts;
mod lives;
mod process_cache;
mod programs;
mod quiet;
mod quotas;
mod recording;
mod ring;
mod scene;
mod service;
mod skeleton;
mod thread_table;
mod threads;
mod tracer;

pub use bpf::{FILES, SOCKETS, keep_least, now};
pub use client::{Asked, join};
pub use connection::{Connection, Connections};
pub use exchange::Exchange;
pub use follower::{Ended, Follower};
pub use hooks::Hooks;
pub use recording::{Peer, Recording};
pub use ring::Ring;
pub use service::{Observed, observe, snapshot};
pub use tracer::{Bounds, Scheduling, Tracer, Wanted};
