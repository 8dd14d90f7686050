//! Bisection: of the versions between one that was good and one that is worse, the first that is worse.
//!
//! The two ends are held against each other as a gate does, and the figure that became worse most surely is
//! the one to look for. A version between them is worse if that figure has gone more than half of the way.
//! Runs are added until a version's side is sure, so the probability of any wrong answer on the way is
//! bounded, and what stays open is said.
#![forbid(unsafe_code)]

mod builds;
mod crates_io;
mod family;
mod runs;
mod search;
mod study;
mod text;
mod versions;

pub use builds::{Builds, Recipe};
pub use runs::Runs;
pub use search::{Found, Side};
pub use study::{Asked, Ends, Outcome, Study, Subject, Tested, most_runs};
pub use text::told;
pub use versions::{Origin, Version};
