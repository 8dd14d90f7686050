//! The documents of `rearguard ideal`: one curve, or a figure of several.

use serde::{Deserialize, Serialize};

use crate::document::{CcdfPoint, Estimate, Latency};
use crate::human;

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
    /// What another load generator measured, where it is held against the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredBeside>,
}

/// Latencies of another load generator beside an ideal queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredBeside {
    /// Measured over ideal: the medians.
    pub ratio_p50: Estimate,
    /// Measured over ideal: the 99th percentiles.
    pub ratio_p99: Estimate,
    /// Measured over ideal: the 99.9th percentiles.
    pub ratio_p99_9: Estimate,
    /// Whether the ideal has a better median. One that has not takes a longer service time than requests
    /// have.
    pub is_possible: bool,
    /// Whose they are, and the latencies.
    #[serde(flatten)]
    pub curve: Curve,
}

impl MeasuredBeside {
    /// What it comes to, in sentences.
    fn says(&self, ideal: &Latency) -> String {
        if !self.is_possible {
            return "The ideal's median is above the measured one: the service time that was given is longer than \
                    requests take, so nothing is held against the ideal."
                .to_string();
        }
        let (a, b) = (&self.curve.latency_ns, ideal);
        let all = [
            ("p50", a.p50, b.p50, self.ratio_p50),
            ("p99", a.p99, b.p99, self.ratio_p99),
            ("p99.9", a.p99_9, b.p99_9, self.ratio_p99_9),
        ];
        let one = |(name, measured, ideal, ratio): (&str, Estimate, Estimate, Estimate)| {
            let (shown, interval) = human::ratio(&ratio);
            let (measured, ideal) = (human::latency(&measured).0, human::latency(&ideal).0);
            let shown = [shown, interval].join(" ");
            format!("{name} {measured}, ideal {ideal}: {}.", shown.trim_end())
        };
        let what = "Of a closed-loop generator, which waits for answers before it sends, the latencies lack their \
                    requests' waits and are no better for it.";
        all.map(one).join(" ") + " " + what
    }
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
    /// The load: how often requests arrive, a second; `None` where that is not known.
    #[serde(default)]
    pub rate_per_s: Option<f64>,
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
            caption: ideal
                .measured
                .as_ref()
                .map_or(String::new(), |m| m.says(&ideal.curve.latency_ns)),
            command: ideal.command,
            version: ideal.version,
            seed: ideal.seed,
            curves: ideal
                .measured
                .map(|measured| measured.curve)
                .into_iter()
                .chain([ideal.curve])
                .collect(),
        }
    }
}
