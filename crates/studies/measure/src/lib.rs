//! Real servers under open-loop load, beside the ideal for the very same arrivals (Tales section 3.2).
//!
//! Nothing about the server is changed. Latency counts from the intended moment; a run in which the generator
//! was late is no result.
#![forbid(unsafe_code)]

mod hdr;
mod kinds;
mod local;
mod measurement;
mod observe;
mod plan;
pub mod protocol;
mod result;
mod round_trips;
mod saturate;
mod secret;
mod server;
mod service_time;
mod socket_stages;
mod sockets;
mod target;
pub mod tls;
mod until_sure;
mod warnings;

pub use hdr::write_log;
pub use measurement::{Load, Measurement, Quiet, fill, first_loss, measure, scenario_text};
pub use observe::Setup;
pub use plan::{Wanted, plan};
pub use result::{Reported, machine, saturated};
pub use round_trips::{Cost, RoundTrips};
pub use saturate::{Saturation, saturate};
pub use secret::{Login, Secret};
pub use server::{Kind, Placed, ROLES, Started};
pub use service_time::ServiceTime;
pub use socket_stages::{SocketStages, socket_stages, stage};
pub use sockets::{check_listening, port_of};
pub use target::{Target, without_password};
pub use until_sure::Looks;
