//! Honest statistics of dependent samples: quantiles, intervals, shares, lag, outliers, verdicts.
#![forbid(unsafe_code)]

mod batch;
mod estimate;
mod latency;
mod quantile;

pub use estimate::Estimate;
pub use latency::{Latency, latency_estimates};
pub use quantile::Quantile;
