//! The choices of each policy, as `docs/reference/policies.md` has them.

use model::{Failure, Nanos, PolicySpec, Scenario, units};

use super::Scope;

/// Options with a word for a value, and their default.
const DEFAULTS: [(&str, &str); 14] = [
    ("balance", "steal"),
    ("pick", "process"),
    ("order", "fcfs"),
    ("queue", "llc"),
    ("requeue", "head"),
    ("fair", "thread"),
    ("preempt", "on"),
    ("burst_limit", "on"),
    ("infeasible", "on"),
    ("min_vruntime", "by balance"),
    ("sticky", "off"),
    ("vruntime_cap", "off"),
    ("starvation_limit", "on"),
    ("direct", "off"),
];

/// A policy and what it chooses beside the defaults.
type Row = (&'static str, &'static [(&'static str, &'static str)]);

const POLICIES: [Row; 9] = [
    (
        "rearguard",
        &[("balance", "gvts"), ("sticky", "on"), ("vruntime_cap", "on"), ("direct", "on")],
    ),
    ("cts", &[]),
    ("lcfs", &[("order", "lcfs")]),
    ("random", &[("order", "random")]),
    ("vtime", &[("pick", "thread")]),
    (
        "global",
        &[
            ("pick", "all"),
            ("queue", "machine"),
            ("requeue", "tail"),
            ("burst_limit", "off"),
            ("slice", "20ms"),
        ],
    ),
    ("gvts", &[("balance", "gvts"), ("pick", "thread"), ("queue", "cpu")]),
    ("dwrr", &[("balance", "dwrr"), ("pick", "thread"), ("queue", "cpu")]),
    (
        "credit",
        &[
            ("balance", "credit"),
            ("pick", "credit"),
            ("queue", "cpu"),
            ("requeue", "tail"),
            ("slice", "30ms"),
        ],
    ),
];

/// The kernel's own classes, which promise what [`super::Promises::of`] says.
const CLASSES: [&str; 4] = ["cfs", "eevdf", "fifo", "rr"];

/// One tick at HZ=250, where slices end; also the default slice.
const TICK: Nanos = Nanos::from_millis(4);

/// The least burst limit, and how many slices it is at least.
const LEAST_BURST_LIMIT: Nanos = Nanos::from_millis(50);
const BURST_LIMIT_SLICES: u64 = 4;

/// All policies of which something is known.
pub fn names() -> impl Iterator<Item = &'static str> {
    CLASSES.into_iter().chain(POLICIES.iter().map(|(name, _)| *name))
}

/// The choices of a policy with its options.
pub struct PolicyOptions {
    words: Vec<(String, String)>,
    /// CPUs that share a queue.
    pub scope: Scope,
    /// What threads get at a time.
    pub slice: Nanos,
    /// Between targets, if it was said.
    pub interval: Option<Nanos>,
}

impl PolicyOptions {
    /// Reads a policy that is valid otherwise; later choices go over earlier ones.
    pub fn read(policy: &PolicySpec, scenario: &Scenario) -> Result<PolicyOptions, Failure> {
        let Some((_, row)) = POLICIES.iter().find(|(name, _)| *name == policy.name) else {
            let text = format!("policy `{policy}`: nothing is known of what it promises");
            return Err(Failure::Input(text));
        };
        let given = policy.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let words = DEFAULTS.iter().copied().chain(row.iter().copied()).chain(given);
        let mut options = PolicyOptions {
            words: words.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            scope: Scope::Llc,
            slice: scenario.slice.unwrap_or(TICK),
            interval: None,
        };
        if let Some(slice) = options.find("slice") {
            options.slice = duration(slice)?;
        }
        options.interval = options.find("interval").map(duration).transpose()?;
        options.scope = match options.word("queue") {
            "cpu" => Scope::Cpu,
            "machine" => Scope::Machine,
            _ => Scope::Llc,
        };
        Ok(options)
    }

    fn find(&self, key: &str) -> Option<&str> {
        self.words.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The word chosen for an option.
    pub fn word(&self, key: &str) -> &str {
        self.find(key).unwrap_or("")
    }

    /// Whether an option is on.
    pub fn is(&self, key: &str) -> bool {
        self.word(key) == "on"
    }

    /// The CPU time that costs a thread its place, while `burst_limit` is on.
    pub fn burst_limit(&self) -> Nanos {
        LEAST_BURST_LIMIT.max(Nanos(BURST_LIMIT_SLICES * self.slice.0))
    }

    /// How long a thread runs at least when others wait: slices end at ticks.
    pub fn quantum(&self) -> Nanos {
        Nanos(self.slice.0.div_ceil(TICK.0) * TICK.0)
    }
}

fn duration(text: &str) -> Result<Nanos, Failure> {
    units::duration(text).map_err(|reason| Failure::Input(reason.to_string()))
}
