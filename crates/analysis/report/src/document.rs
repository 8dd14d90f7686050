//! The result document: what one comparison found, with all that its reports draw.
//!
//! `docs/reference/results.md` describes every key. Keys end in their unit, unknown values are `None` (null
//! in JSON), and nothing is rounded. Times are nanoseconds, shares and proportions 0 to 1.

pub use model::Answer;
use serde::{Deserialize, Serialize};

use crate::disturbance::SharedCpus;

/// The `schema` of a [`Document`]; it changes when a key changes its meaning.
pub const COMPARE_SCHEMA: &str = "rearguard.compare/1";

/// One comparison: a scenario under several policies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario shows, in its author's words.
    pub shows: String,
    /// The scenario file as it was read.
    pub scenario_text: String,
    /// `sim`, `host` or `vm`.
    pub arm: String,
    /// The seeds that were run, in order.
    pub seeds: Vec<u64>,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// What ran it.
    pub machine: Machine,
    /// Runs that failed their own checks and were repeated: which, and why. They are in no result.
    pub discarded: Vec<String>,
    /// One entry a policy, pooled over the seeds, in the order of the command line; runs of one seed may
    /// follow.
    pub results: Vec<PolicyResult>,
    /// Policies against each other, and the A/A pair.
    pub verdicts: Vec<Verdict>,
    /// Where seeds were added until the verdicts could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
}

/// Looks at growing numbers of seeds. The intervals of verdicts are wider than those of one look, so that all
/// looks together have 95% confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// Those that were taken.
    pub taken: u64,
    /// Those that might have been.
    pub planned: u64,
    /// Whether every service's p99.9 was told from the first policy's.
    pub is_sure: bool,
}

/// The machine of the scenario, and the one that stood for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// One line from the arm.
    pub description: String,
    /// Logical CPUs.
    pub cpus: u32,
    /// Logical CPUs a core.
    pub smt: u32,
    /// Last-level caches.
    pub llcs: u32,
    /// NUMA nodes.
    pub nodes: u32,
}

/// A number with its 95% confidence interval.
///
/// All `None`: unknown. No `value` above a `low`: beyond every measurement, as the quantiles of lost requests
/// are. A `value` with `low` alone: the interval has no upper end; with neither: no interval is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate itself.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end of the interval.
    pub high: Option<f64>,
}

impl Estimate {
    /// An estimate from plain numbers; infinities and NaN become `None`.
    pub fn new(value: f64, low: f64, high: f64) -> Estimate {
        let finite = |x: f64| Some(x).filter(|x| x.is_finite());
        Estimate { value: finite(value), low: finite(low), high: finite(high) }
    }

    /// A number that is known exactly or comes without an interval.
    pub fn exact(value: f64) -> Estimate {
        Estimate::new(value, f64::NAN, f64::NAN)
    }

    /// This over another, the interval from both at their worst ends: wider than it needs to be, and in need
    /// of nothing that the two share. No interval where either has none.
    pub fn over(&self, other: &Estimate) -> Estimate {
        let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
        let known = |one: &Estimate| one.low.is_some() || one.high.is_some();
        if !known(self) || !known(other) {
            return Estimate { value: ratio(self.value, other.value), ..Estimate::default() };
        }
        Estimate {
            value: ratio(self.value, other.value),
            low: Some(ratio(self.low, other.high).unwrap_or(0.0)),
            high: ratio(self.high, other.low),
        }
    }

    /// What may be said of a ratio from so many runs a side, where less, or more, is better; `None` where
    /// nothing is known of its reach.
    pub fn answer(&self, runs: usize, less_is_better: bool) -> Option<Answer> {
        self.low.or(self.high)?;
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(f64::INFINITY));
        let (low, high) = Answer::allowing_for_runs(low, high, runs);
        Some(if less_is_better { Answer::of(low, high) } else { Answer::of(1.0 / high, 1.0 / low) })
    }
}

/// What one policy did, over all seeds or with one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyResult {
    /// The policy as given on the command line, with its options.
    pub policy: String,
    /// The kernel release that ran or was modelled.
    pub kernel: Option<String>,
    /// The seed; `None`: pooled over all seeds.
    pub seed: Option<u64>,
    /// One entry for each program of the scenario.
    pub programs: Vec<ProgramResult>,
    /// One entry for each group, or for each program where the scenario has no groups.
    pub groups: Vec<GroupResult>,
    /// The least and the greatest lag of a thread over the whole run, in seconds: positive where it got less
    /// than was due.
    pub threads_lag_s: Range,
    /// The least and the greatest CPU time received over CPU time due, over threads (1: exactly fair).
    pub fairness: Range,
    /// Context switches.
    pub switches: Option<u64>,
    /// Moves of a thread from one CPU to another.
    pub migrations: Option<u64>,
    /// Moves of a thread between balancing domains, a second.
    pub pulls_per_s: Option<f64>,
    /// The share of the machine's CPU time that was idle.
    pub idle_share: Option<f64>,
    /// The share of it that neither the scenario's threads had nor was idle: interrupts, other processes and
    /// the host. `None` where the CPUs are not real ones.
    pub others_share: Option<f64>,
    /// Who the others were; `None` as for their share.
    #[serde(default)]
    pub others: Option<SharedCpus>,
    /// The lag at regular moments, for the chart.
    pub lag_samples: Vec<LagSample>,
}

/// The least and the greatest of something; `None` where it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

/// What one program did. Fields that only services have are `None` for others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// Its name in the scenario.
    pub name: String,
    /// The word of its kind, such as `service`.
    pub kind: String,
    /// Requests in the measured window, lost ones included.
    pub requests: u64,
    /// Requests that were never answered; they rank as infinitely slow.
    pub lost: u64,
    /// Rounds of a fork-join program, cycles of a daemon or a periodic one, runs of a command.
    pub rounds: Option<u64>,
    /// The mean time of a round or a run, where one follows the other at once: geometric over the seeds.
    #[serde(default)]
    pub round_ns: Option<Estimate>,
    /// Requests a second that were intended.
    pub rate_per_s: Option<f64>,
    /// The share of the machine's CPU time that the program used.
    pub utilisation: Option<f64>,
    /// Latency, from the intended time to the response.
    pub latency_ns: Option<Latency>,
    /// The latency of an ideal first-come, first-served queue with the same arrivals and services.
    pub ideal_ns: Option<Latency>,
    /// Measured p99.9 over ideal p99.9.
    pub excess_p99_9: Option<f64>,
    /// Requests that started before an earlier arrival did, a request.
    pub inversions_per_request: Option<f64>,
    /// Requests that completed before an earlier arrival did, a request.
    pub completion_inversions_per_request: Option<f64>,
    /// Requests slower than the scenario's threshold.
    pub outlier: Option<Outlier>,
    /// The same of the ideal.
    #[serde(default)]
    pub ideal_outlier: Option<Outlier>,
    /// Where the slow requests' time went; `None` without scheduling events.
    pub sources_ns: Option<Sources>,
    /// The tail as a curve, for the chart: latencies rise, proportions fall.
    pub ccdf: Vec<CcdfPoint>,
    /// The ideal's tail.
    pub ideal_ccdf: Vec<CcdfPoint>,
}

/// A latency distribution in figures, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The mean.
    pub mean: Estimate,
    /// The median.
    pub p50: Estimate,
    /// Nine of ten are faster.
    pub p90: Estimate,
    /// All but one in a hundred are faster.
    pub p99: Estimate,
    /// All but one in a thousand are faster.
    pub p99_9: Estimate,
    /// The slowest that was seen; `None` with lost requests.
    pub max: Option<u64>,
}

/// Outliers (10-ms computing section II).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    /// A request slower than this is an outlier.
    pub threshold_ns: u64,
    /// Outliers over requests.
    pub proportion: Estimate,
    /// Requests a second that were no outliers.
    pub valid_throughput_per_s: Option<f64>,
}

/// Where the waiting of slow requests came from (Tales table 1), nanoseconds a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sources {
    /// Siblings that came first: what the load itself costs.
    pub inherent: f64,
    /// Siblings that came later.
    pub inversion: f64,
    /// Other processes.
    pub background: f64,
    /// Interrupts and softirqs.
    pub interrupt: f64,
    /// A CPU that the thread could have used stood idle.
    pub idle_elsewhere: f64,
    /// A CPU on its way out of an idle state.
    pub power: f64,
    /// Service stretched by remote memory.
    pub numa: f64,
}

/// A point of a complementary distribution function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CcdfPoint {
    /// A latency.
    pub latency_ns: u64,
    /// The proportion of requests slower than it.
    pub proportion: f64,
    /// The lower end of the proportion's 95% interval.
    pub low: Option<f64>,
    /// The upper end of the proportion's 95% interval.
    pub high: Option<f64>,
}

/// What one group got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its name or path.
    pub name: String,
    /// Its weight against its siblings.
    pub weight: Option<u64>,
    /// The share of the machine's CPU time that was due to it.
    pub due_share: Option<f64>,
    /// The share that it received.
    pub share: Option<f64>,
    /// The share received since the sample before, for the chart.
    pub share_samples: Vec<ShareSample>,
}

/// A group's share at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareSample {
    /// Since the start of the run.
    pub at_ns: u64,
    /// Of the machine's CPU time.
    pub share: f64,
}

/// The band of the threads' lags at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LagSample {
    /// Since the start of the run.
    pub at_ns: u64,
    /// The lag of the thread that is furthest ahead, in seconds.
    pub min_s: f64,
    /// The lag of the thread that is furthest behind, in seconds.
    pub max_s: f64,
}

/// Whether policy `a` does better than policy `b`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What was compared: the key's path within a program, such as `latency_ns.p99_9`.
    pub metric: String,
    /// The program it was compared on.
    pub program: Option<String>,
    /// A policy. The same as `b`: an A/A pair, which no honest method tells apart.
    pub a: String,
    /// The policy that it is held against.
    pub b: String,
    /// Whether `a` is better than `b`.
    pub answer: Answer,
    /// The metric of `a` over that of `b`.
    pub ratio: Estimate,
    /// Whether the answer is about the median of the pairs of runs, since one or two of them hold the tail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_pairs: bool,
}

impl ProgramResult {
    /// Whether a figure of its latency surely lies beyond any: lost requests rank as infinitely slow, and
    /// infinity is no number of a document.
    pub fn is_never(&self, latency: &Estimate) -> bool {
        self.lost > 0 && *latency == Estimate::default()
    }
}

impl Document {
    /// The results that stand for their policies: pooled over the seeds where that exists, else the policy's
    /// only run.
    pub fn shown(&self) -> Vec<&PolicyResult> {
        let pooled = |policy: &str| {
            self.results.iter().any(|result| result.policy == policy && result.seed.is_none())
        };
        self.results.iter().filter(|r| r.seed.is_none() || !pooled(&r.policy)).collect()
    }
}
