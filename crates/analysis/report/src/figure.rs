//! The documents of `rearguard ideal`: one curve, or a figure of several.

use serde::{Deserialize, Serialize};

use crate::document::{CcdfPoint, Latency};

/// The `schema` of an [`Ideal`].
pub const IDEAL_SCHEMA: &str = "rearguard.ideal/1";
/// The `schema` of a [`Figure`].
pub const FIGURE_SCHEMA: &str = "rearguard.figure/1";

/// What one ideal queue does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ideal {
    /// [`IDEAL_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The seed of arrivals and services; `None` for a trace.
    pub seed: Option<u64>,
    /// The queue and its latencies.
    #[serde(flatten)]
    pub curve: Curve,
}

/// One ideal queue: how it was asked for, what was simulated, and what is known in closed form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What tells it from the figure's other curves: `FIFO`, `95%`.
    pub name: String,
    /// Requests that were simulated.
    pub requests: u64,
    /// Simulated latency.
    pub latency_ns: Latency,
    /// Latency in closed form, where there is one; `None` inside where a figure has none.
    pub exact_ns: Option<ExactLatency>,
    /// Requests that were simulated in a second of this machine's time; not reproducible.
    pub requests_per_s: Option<f64>,
    /// The tail as a curve.
    pub ccdf: Vec<CcdfPoint>,
}

/// A latency distribution in closed form, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExactLatency {
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// Nine of ten are faster.
    pub p90: Option<f64>,
    /// All but one in a hundred are faster.
    pub p99: Option<f64>,
    /// All but one in a thousand are faster.
    pub p99_9: Option<f64>,
}

/// Several ideal queues beside each other, as figures 1 to 4 of Tales.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// [`FIGURE_SCHEMA`].
    pub schema: String,
    /// What the figure shows, in a few words.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The seed of arrivals and services; `None` for traces.
    pub seed: Option<u64>,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

impl From<Ideal> for Figure {
    fn from(ideal: Ideal) -> Figure {
        Figure {
            schema: FIGURE_SCHEMA.to_string(),
            title: format!("The ideal: {}", ideal.curve.name),
            caption: String::new(),
            command: ideal.command,
            version: ideal.version,
            seed: ideal.seed,
            curves: vec![ideal.curve],
        }
    }
}
