//! A trace as a scenario: the same requests at the same moments, and what ran beside them, simulated under
//! another policy, weight, quota or machine.
//!
//! A foretelling is worth what the model is: simulated as it was, it must give what was measured.
#![forbid(unsafe_code)]

mod activity;
mod admission;
mod architecture;
mod foretell;
mod others;
mod scenario;
mod service;
mod usual;
mod without;

pub use admission::{Admission, Admitted, AtOnce, Enough, admission};
pub use foretell::{Change, Question, foretell};
pub use scenario::{Found, release, scenario};
pub use usual::usual;
