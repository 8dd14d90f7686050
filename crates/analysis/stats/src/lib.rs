//! Honest statistics of dependent samples: quantiles, intervals, shares, lag, outliers, verdicts.
//!
//! Queueing makes the latencies of neighbouring requests alike, so formulas for independent samples give
//! intervals that miss the truth three times in four. `docs/reference/statistics.md` says what stands here
//! instead and how often it is right.
#![forbid(unsafe_code)]

mod batch;
mod capacity;
mod ccdf;
mod course;
mod delta;
mod due;
mod estimate;
mod fan_out;
mod group;
mod heavy;
mod inversion;
mod latency;
mod memory;
mod needed;
mod paired;
mod pairs;
mod proportion;
mod quantile;
mod round;
mod runs;
mod share;
mod summary;
mod verdict;
mod waiting;

pub use batch::batch_spread;
pub use ccdf::{CcdfPoint, ccdf};
pub use course::{Course, ThreadLag};
pub use estimate::{Estimate, Spread};
pub use fan_out::{required_proportion, service_estimate, service_proportion};
pub use group::GroupShare;
pub use inversion::{Inversions, inverted_pairs};
pub use latency::{Latency, latency_estimates, quantile_at};
pub use needed::{Enough, Needed, enough, needed};
pub use paired::paired_p;
pub use proportion::{Outlier, batch_proportion, outlier, share_of, telling};
pub use quantile::Quantile;
pub use round::round_ns;
pub use runs::{geometric_mean, mean_of_runs, ratio_of_pairs, ratio_of_pairs_at, ratio_of_runs};
pub use share::Shares;
pub use summary::{ProgramSummary, Summary, summarise, window_latencies, window_requests};
pub use verdict::{Basis, FALSE_ALARM, Metric, Verdict, compare, compare_at, compare_pooled};
