//! The policies that the kernel has without any help.

use model::{Failure, PolicySpec, did_you_mean};
use serde::{Deserialize, Serialize};

/// How the scenario's services are scheduled. Everything else stays in the kernel's default class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// The kernel's default class, at the scenario's nice values.
    Default,
    /// Services at nice -20 (Tales section 4.1).
    Nice,
    /// Services under SCHED_FIFO (Tales sections 4.1 and 4.2).
    Fifo,
    /// Services under SCHED_RR.
    RoundRobin,
}

const NAMES: [(&str, Policy); 4] = [
    ("default", Policy::Default),
    ("nice", Policy::Nice),
    ("fifo", Policy::Fifo),
    ("rr", Policy::RoundRobin),
];

impl Policy {
    /// The policy of that name; [`Failure::Input`] for another one and for options, of which these have none.
    pub fn read(spec: &PolicySpec) -> Result<Policy, Failure> {
        let Some((name, policy)) = NAMES.iter().find(|(name, _)| *name == spec.name) else {
            return Err(Failure::Input(unknown(&spec.name)));
        };
        match spec.options.keys().next() {
            None => Ok(*policy),
            Some(key) => Err(Failure::Input(format!(
                "policy `{spec}`: `{name}` has no option `{key}` on the host arm; it has none at all"
            ))),
        }
    }
}

fn unknown(name: &str) -> String {
    let names = NAMES.map(|(name, _)| name);
    let hint = did_you_mean(name, &names);
    format!(
        "policy `{name}` is not one of the host arm's{hint}: {}; the others run with --on sim",
        names.join(", ")
    )
}
