//! Where the excess of a service's slow requests comes from (Tales section 4 and Table 1).
//!
//! Sweeps a trace with scheduling events over time: the thread that held a CPU which a waiting request could
//! have used is to blame for its wait. Knows neither the arm that made the trace nor the policy that ran.
#![forbid(unsafe_code)]

mod admission;
mod amounts;
mod apportion;
mod cure;
mod debt;
mod document;
mod explanation;
mod finding;
#[cfg(test)]
mod hostile;
mod ideal;
mod long;
mod nesting;
mod queueing;
mod room;
mod serving;
mod setting;
mod source;
mod spans;
mod split;
mod sweep;
mod timeline;
mod verdict;

pub use document::{Slow, pooled, slow_sources};
pub use explanation::{Explanation, SLOWEST, Service, explain};
pub use finding::Finding;
pub use long::Long;
pub use setting::{Program, Setting};
pub use source::{Blame, Culprit, Holder, Source};
pub use spans::{Kind, Span};
pub use split::Explained;
pub use verdict::{Class, Confidence, Lack, MOST_OF_TIME, Verdict};
