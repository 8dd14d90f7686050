//! Figures and tables of the papers: each is data (`figures/*.toml`), all are produced by one runner.
//!
//! A figure names the scenarios and policies to run, what is read off them, and what its paper says there.
#![forbid(unsafe_code)]

mod catalogue;
mod chart;
mod definition;
mod expression;
mod judge;
mod produce;
mod reading;
mod results;

pub use catalogue::{Entry, FIGURES, find};
pub use definition::{Definition, definition};
pub use judge::check;
pub use produce::{Effort, made, produce};
