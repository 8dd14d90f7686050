//! The open-loop generator: requests at their intended moments, whatever the server does.
//!
//! It knows neither scenario nor result. A [`Client`] holds the connections and requests of one service, a
//! [`Protocol`] says what goes over them, a [`Generator`] is the thread that attends to clients, and
//! [`SelfCheck`] says afterwards whether it kept its schedule.
#![forbid(unsafe_code)]

mod address;
mod client;
pub mod clock;
mod desk;
mod generator;
mod greeting;
mod incoming;
mod link;
mod live_counters;
mod neighbours;
mod null_rpc;
mod pipe;
mod processes;
mod protocol;
mod record;
mod schedstat;
mod secure_channel;
mod selfcheck;
mod session;
mod socket;
mod socket_timestamps;
pub mod thread;
mod undisturbed;
mod wire;

pub use address::Address;
pub use client::{Client, Limits, Peer, Plan, Tally};
pub use generator::Generator;
pub use greeting::{Greeted, Greeting};
pub use live_counters::{Histogram, LiveCounters};
pub use neighbours::{Neighbours, Sharing};
pub use null_rpc::{LEAST_BYTES, NullRpc};
pub use processes::started_by;
pub use protocol::{Answer, Ask, Protocol, ReceivedBytes, Verdict};
pub use record::{Loss, Place, Record};
pub use schedstat::Reading;
pub use secure_channel::SecureChannel;
pub use selfcheck::{GeneratorUsage, SelfCheck, remedy};
pub use session::{End, Session};
pub use socket::Transport;
pub use socket_timestamps::SocketTimestamps;
pub use undisturbed::undisturbed;
pub use wire::{NullAsk, Stamps};
