//! A figure as its file says it.

use std::collections::BTreeMap;

use model::Failure;
use serde::Deserialize;

use crate::catalogue::Entry;

/// One figure or table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// What it shows, in a few words.
    pub title: String,
    /// Where it stands: paper, section, figure.
    pub section: String,
    /// What we took where the paper says nothing, or does otherwise.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// What of the figure is not produced, and what it would take.
    #[serde(default)]
    pub missing: Vec<String>,
    /// The number of a figure of ideal queues in Tales.
    pub queues: Option<u32>,
    /// Comparisons to run on the sim arm.
    #[serde(default, rename = "run")]
    pub runs: Vec<Run>,
    /// What is drawn.
    pub chart: Option<Chart>,
    /// Numbers that the paper prints.
    #[serde(default, rename = "value")]
    pub values: Vec<Value>,
    /// What the paper says in words.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A scenario under policies, with what differs from the shipped file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What tells it from the figure's other runs.
    pub name: String,
    /// Its place on the horizontal axis of a sweep.
    pub at: Option<f64>,
    /// The curve of a sweep that it is a point of; its policies' unless given.
    pub series: Option<String>,
    /// The stem of a scenario file.
    pub scenario: String,
    /// The policies.
    pub policies: Vec<String>,
    /// Weights of groups.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// The share of the machine that the service wants.
    pub utilisation: Option<f64>,
    /// The service's connections: of thread per connection, its threads.
    pub connections: Option<u32>,
    /// So many CPUs; of a service with workers, a worker each.
    pub cores: Option<u32>,
    /// Whether each thread's memory lies on its own node, whatever the file says.
    #[serde(default)]
    pub local_memory: bool,
    /// Text that stands behind the scenario's: what its machine does beside, programs, changes.
    #[serde(default)]
    pub add: String,
    /// Whether the batch programs are left out.
    #[serde(default)]
    pub without_batch: bool,
}

/// What a figure draws.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// What lies to the right.
    pub over: Over,
    /// The words of the horizontal axis; [`Over::Runs`] alone has its own.
    #[serde(default)]
    pub x: String,
    /// The words of the upright axis.
    #[serde(default)]
    pub y: String,
    /// The metrics read off each run.
    #[serde(default)]
    pub read: Vec<String>,
    /// Whether the upright axis is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// The run whose ideal is drawn beside the tails.
    pub ideal: Option<String>,
}

/// What lies to the right in a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The runs of a sweep.
    Runs,
    /// Time: the lag of threads, least and greatest.
    Time,
    /// Latency: how many requests are slower.
    Latency,
    /// Programs that count what they do: each against their mean.
    Work,
}

/// A number that the paper prints.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// What it is, with its unit.
    pub what: String,
    /// What of ours stands beside it; `None` where nothing can.
    pub ours: Option<String>,
    /// The paper's number; `None` where it prints none.
    pub paper: Option<f64>,
    /// The other end, where it prints a range that begins with `paper`.
    pub to: Option<f64>,
    /// Where the number stands.
    #[serde(default)]
    pub from: String,
    /// Why the two differ.
    #[serde(default)]
    pub why: String,
}

/// What the paper says in words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim, in our words.
    pub says: String,
    /// Where it stands.
    #[serde(default)]
    pub from: String,
    /// A comparison of two expressions, `A < B`, that says whether it holds here.
    pub holds: String,
    /// Why it does not hold, or under which reservation it does.
    #[serde(default)]
    pub why: String,
}

/// The definition of a figure.
pub fn definition(entry: &Entry) -> Result<Definition, Failure> {
    toml::from_str(entry.text)
        .map_err(|error| Failure::Input(format!("{} {}: {error}", entry.paper, entry.figure)))
}
