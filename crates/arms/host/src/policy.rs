//! The policies that this machine's kernel can have.

use std::path::PathBuf;

use loader::{PROGRAM, Scheduler, named};
use model::{Failure, PolicySpec, Scenario, did_you_mean};
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

/// A policy: the scheduler to put into force, and how services are scheduled. [`Failure::Input`] for an
/// unknown name and for options of the kernel's own, of which these have none; `programs` are schedulers to
/// look for before PATH.
pub fn read(
    spec: &PolicySpec,
    scenario: &Scenario,
    programs: &[PathBuf],
) -> Result<(Scheduler, Policy), Failure> {
    if let Some((name, policy)) = NAMES.iter().find(|(name, _)| *name == spec.name) {
        return match spec.options.keys().next() {
            None => Ok((Scheduler::Kernel, *policy)),
            Some(key) => Err(Failure::Input(format!(
                "policy `{spec}`: `{name}` has no option `{key}` on the host arm; it has none at all"
            ))),
        };
    }
    let command = named(spec, scenario, programs)?;
    let command = command.ok_or_else(|| Failure::Input(unknown(&spec.name)))?;
    Ok((Scheduler::Program(command), Policy::Default))
}

fn unknown(name: &str) -> String {
    let names = NAMES.iter().map(|(name, _)| *name);
    let names: Vec<&str> = names.chain(policy_native::policies().map(|(name, _)| name)).collect();
    let hint = did_you_mean(name, &names);
    format!(
        "policy `{name}` is not one of the host arm's{hint}: {}, programs whose names begin with {PROGRAM}, and \
         policies in files (./NAME.c); the others run with --on sim",
        names.join(", ")
    )
}
