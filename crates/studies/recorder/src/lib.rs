//! The flight recorder: which slow requests are kept, for how long, and what is said of each.
//!
//! [`Threshold`] says what is slow. [`Selection`] takes one request an event, at most so many a minute, the
//! worst first. [`Store`] keeps them in a folder within a budget. [`Told`] is the verdict on one request.
//! [`Traced`] is one for collectors of spans, [`Metric`] is what was counted, and [`Sender`] takes both to a
//! receiver.
#![forbid(unsafe_code)]

mod exponential;
mod families;
mod kept;
mod metric;
mod otlp;
mod selection;
mod store;
mod threshold;
mod told;

pub use exponential::Exponential;
pub use families::families;
pub use kept::{KEPT_SCHEMA, KeptRequest, list, read_kept, trace_path};
pub use metric::{Data, Exemplar, Histogram, Labels, Metric, Unit};
pub use otlp::{Deliveries, Endpoint, Pace, Sender, Signal, Traced, exemplar, metrics};
pub use selection::{Place, Selection};
pub use store::{Put, Store};
pub use threshold::Threshold;
pub use told::Told;
