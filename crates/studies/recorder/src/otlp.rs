//! OpenTelemetry's protocol (OTLP): kept requests as traces, and metrics, to a file or to a receiver.

mod endpoint;
mod points;
mod post;
mod proto;
mod queue;
mod sender;
mod spans;

pub use endpoint::{Endpoint, Signal};
pub use points::metrics;
pub use queue::Deliveries;
pub use sender::{Pace, Sender};
pub use spans::{Traced, exemplar};
