//! What a policy needs: a kernel, and a scheduler.

use std::path::PathBuf;

use host::Services;
use lab::{Kernel, Lab};
use loader::{PROGRAM, Scheduler, named};
use model::{Failure, PolicySpec, Scenario, did_you_mean};

use crate::order::OBJECT;

/// What a policy needs.
#[derive(Debug)]
pub struct Needs {
    /// The kernel to boot.
    pub kernel: Kernel,
    /// The scheduler of normal threads.
    pub scheduler: Scheduler,
    /// The programs of a policy in a file.
    pub object: Option<Vec<u8>>,
    /// How services are scheduled.
    pub services: Services,
}

/// Classes of the kernel itself, with the default class of the kernel that they need and how they schedule
/// services.
const CLASSES: [(&str, &str, Services); 6] = [
    ("cfs", "cfs", Services::Default),
    ("eevdf", "eevdf", Services::Default),
    ("default", "eevdf", Services::Default),
    ("nice", "eevdf", Services::Nice),
    ("fifo", "eevdf", Services::Fifo),
    ("rr", "eevdf", Services::RoundRobin),
];

/// Finds what a policy needs: kernels in the lab, programs among those given and in PATH.
pub fn needs(
    lab: &Lab,
    programs: &[PathBuf],
    scenario: &Scenario,
    spec: &PolicySpec,
) -> Result<Needs, Failure> {
    if let Some((_, _, services)) = class(spec) {
        no_options(spec)?;
        let kernel = kernel(lab, spec)?;
        return Ok(Needs { kernel, scheduler: Scheduler::Kernel, object: None, services });
    }
    let mut command = named(spec, scenario, programs)?.ok_or_else(|| unknown(spec))?;
    // A policy in a file is compiled here: guests have no compiler.
    let object = spec.file().map(loader::compile).transpose()?;
    command.extend(object.iter().flat_map(|_| ["--object", OBJECT].map(String::from)));
    let (kernel, scheduler) = (kernel(lab, spec)?, Scheduler::Program(command));
    Ok(Needs { kernel, scheduler, object, services: Services::Default })
}

/// The kernel that a policy is run under.
pub fn kernel(lab: &Lab, spec: &PolicySpec) -> Result<Kernel, Failure> {
    let Some((_, default, _)) = class(spec) else {
        return newest(lab, Kernel::has_sched_ext, "sched_ext", lab::NEWEST);
    };
    let of_class = |kernel: &Kernel| Ok(kernel.default_class() == default);
    let wanted = if default == "cfs" { "6.1" } else { lab::NEWEST };
    newest(lab, of_class, default, wanted)
}

fn class(spec: &PolicySpec) -> Option<(&'static str, &'static str, Services)> {
    CLASSES.into_iter().find(|(name, ..)| *name == spec.name)
}

fn no_options(spec: &PolicySpec) -> Result<(), Failure> {
    let Some(option) = spec.options.keys().next() else { return Ok(()) };
    Err(Failure::Input(format!(
        "policy `{spec}`: {} is the kernel's own and has no options; leave `{option}` out",
        spec.name
    )))
}

/// The newest kernel that will do.
fn newest(
    lab: &Lab,
    will_do: impl Fn(&Kernel) -> Result<bool, Failure>,
    what: &str,
    wanted: &str,
) -> Result<Kernel, Failure> {
    for kernel in lab.kernels().into_iter().rev() {
        if will_do(&kernel)? {
            return Ok(kernel);
        }
    }
    Err(Failure::Machine(format!(
        "no kernel with {what} is in the lab: bring one with `rearguard lab fetch {wanted}`"
    )))
}

fn unknown(spec: &PolicySpec) -> Failure {
    let classes = CLASSES.iter().map(|(name, ..)| *name);
    let known: Vec<&str> = classes.chain(policy_native::policies().map(|(name, _)| name)).collect();
    let hint = did_you_mean(&spec.name, &known);
    Failure::Input(format!(
        "policy `{}` is unknown to the vm arm{hint}: it knows {}, programs whose names begin with {PROGRAM}, and policies in files (./NAME.c)",
        spec.name,
        known.join(", ")
    ))
}
