//! Knobs of a machine against the sources of tail latency: seen, turned, and turned back.

mod apply;
mod knobs;
mod list;
mod scope;
mod status;
pub mod trial;

pub use apply::{apply, undo_all};
pub use knobs::{ADVICE, Advice, KNOBS, Kind, Knob, State, parse};
pub use list::{Knobs, Standing, list};
pub use scope::Scope;
pub use status::{Change, Other, Status, Turned, others, status};
