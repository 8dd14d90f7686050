//! What a policy needs: a kernel, and somebody who schedules.

use lab::{Kernel, Lab};
use load::Services;
use model::{Failure, PolicySpec, did_you_mean};

use crate::order::Scheduler;

/// What a policy needs.
#[derive(Debug)]
pub struct Needs {
    /// The kernel to boot.
    pub kernel: Kernel,
    /// Who schedules normal threads.
    pub scheduler: Scheduler,
    /// How services are scheduled.
    pub services: Services,
}

/// Classes of the kernel itself, with the default class of the kernel that they need and how they schedule services.
const CLASSES: [(&str, &str, Services); 6] = [
    ("cfs", "cfs", Services::Default),
    ("eevdf", "eevdf", Services::Default),
    ("default", "eevdf", Services::Default),
    ("nice", "eevdf", Services::Nice),
    ("fifo", "eevdf", Services::Fifo),
    ("rr", "eevdf", Services::RoundRobin),
];

/// Finds what a policy needs in the lab.
pub fn needs(lab: &Lab, spec: &PolicySpec) -> Result<Needs, Failure> {
    let class = CLASSES.into_iter().find(|(name, ..)| *name == spec.name);
    let Some((name, default, services)) = class else { return Err(unknown(spec)) };
    if let Some(option) = spec.options.keys().next() {
        return Err(Failure::Input(format!(
            "policy `{spec}`: {name} is the kernel's own and has no options; leave `{option}` out"
        )));
    }
    let kernel = newest(lab, default)?;
    Ok(Needs { kernel, scheduler: Scheduler::Kernel, services })
}

/// The newest kernel with this default class.
fn newest(lab: &Lab, default: &str) -> Result<Kernel, Failure> {
    let found = lab.kernels().into_iter().rev().find(|kernel| kernel.default_class() == default);
    found.ok_or_else(|| {
        let wanted = if default == "cfs" { "6.1" } else { lab::NEWEST };
        Failure::Machine(format!(
            "no kernel with {default} is in the lab: bring one with `rearguard lab fetch {wanted}`"
        ))
    })
}

fn unknown(spec: &PolicySpec) -> Failure {
    let known: Vec<&str> = CLASSES.iter().map(|(name, ..)| *name).collect();
    let hint = did_you_mean(&spec.name, &known);
    Failure::Input(format!(
        "policy `{}` is unknown to the vm arm{hint}: it knows {}",
        spec.name,
        known.join(", ")
    ))
}
