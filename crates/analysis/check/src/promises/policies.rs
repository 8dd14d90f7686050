//! The choices of each policy, as `policy/policies.def` has them.

use model::{Failure, Nanos, PolicySpec, Scenario, units};

use policy_native::{OPTIONS, POLICIES, option};

use super::Scope;

/// The kernel's own classes, which promise what [`super::Promises::of`] says.
const CLASSES: [&str; 4] = ["cfs", "eevdf", "fifo", "rr"];

/// One tick at HZ=250, where slices end; also the default slice.
const TICK: Nanos = Nanos::from_millis(4);

/// All policies of which something is known.
pub fn names() -> impl Iterator<Item = &'static str> {
    CLASSES.into_iter().chain(POLICIES.iter().map(|row| row.name))
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
        let Some(row) = policy_native::policy(&policy.name) else {
            let text = format!("policy `{policy}`: nothing is known of what it promises");
            return Err(Failure::Input(text));
        };
        let given = policy.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let defaults = OPTIONS.iter().filter_map(|row| Some((row.name, row.default_word()?)));
        let words = defaults.chain(row.options.iter().copied()).chain(given);
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

    /// Whether an option is on, or a duration.
    pub fn is(&self, key: &str) -> bool {
        !["", "off"].contains(&self.word(key))
    }

    /// The CPU time that costs a thread its place; [`Nanos::NEVER`] where `burst_limit` is off.
    pub fn burst_limit(&self) -> Nanos {
        self.limit("burst_limit").unwrap_or(Nanos::NEVER)
    }

    /// The span of time that an option means; `None` where it is off.
    pub fn limit(&self, key: &str) -> Option<Nanos> {
        match self.word(key) {
            "off" => None,
            "on" => option(key)?.limit(self.slice),
            said => units::duration(said).ok(),
        }
    }

    /// How long a thread runs at least when others wait: slices end at ticks.
    pub fn quantum(&self) -> Nanos {
        Nanos(self.slice.0.div_ceil(TICK.0) * TICK.0)
    }
}

fn duration(text: &str) -> Result<Nanos, Failure> {
    units::duration(text).map_err(|reason| Failure::Input(reason.to_string()))
}
