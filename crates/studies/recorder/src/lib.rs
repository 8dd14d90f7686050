//! The flight recorder: which slow requests are kept, for how long, and what is said of each.
//!
//! [`Threshold`] says what is slow. [`Selection`] takes one request an event, at most so many a minute, the
//! worst first. [`Store`] keeps them in a folder within a budget. [`Told`] is the verdict on one request.
//! [`otlp`] writes one for collectors of spans.
#![forbid(unsafe_code)]

mod kept;
mod otlp;
mod selection;
mod store;
mod threshold;
mod told;

pub use kept::{KEPT_SCHEMA, KeptRequest, list, read_kept, trace_path};
pub use otlp::otlp;
pub use selection::{Place, Selection};
pub use store::{Put, Store};
pub use threshold::Threshold;
pub use told::Told;
