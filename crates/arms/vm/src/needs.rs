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

/// The kernels that a policy may be run under.
#[derive(Clone, Copy)]
pub enum Kernels<'a> {
    /// All of the lab.
    Any(&'a Lab),
    /// This one, which the user asked for.
    One(&'a Kernel),
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
    kernels: Kernels,
    programs: &[PathBuf],
    scenario: &Scenario,
    spec: &PolicySpec,
) -> Result<Needs, Failure> {
    if let Some((_, _, services)) = class(spec) {
        no_options(spec)?;
        let kernel = kernel(kernels, spec)?;
        return Ok(Needs { kernel, scheduler: Scheduler::Kernel, object: None, services });
    }
    let mut command = named(spec, scenario, programs)?.ok_or_else(|| unknown(spec))?;
    // A policy in a file is compiled here: guests have no compiler.
    let object = spec.file().map(loader::compile).transpose()?;
    command.extend(object.iter().flat_map(|_| ["--object", OBJECT].map(String::from)));
    let (kernel, scheduler) = (kernel(kernels, spec)?, Scheduler::Program(command));
    Ok(Needs { kernel, scheduler, object, services: Services::Default })
}

/// The kernel that a policy is run under.
pub fn kernel(kernels: Kernels, spec: &PolicySpec) -> Result<Kernel, Failure> {
    let class = class(spec).map(|(_, default, _)| default);
    let will_do = |kernel: &Kernel| match class {
        Some(default) => Ok(kernel.default_class() == default),
        None => kernel.has_sched_ext(),
    };
    let what = class.unwrap_or("sched_ext");
    let wanted = if class == Some("cfs") { "6.1" } else { lab::NEWEST };
    match kernels {
        Kernels::Any(lab) => newest(lab, will_do, what, wanted),
        Kernels::One(kernel) if will_do(kernel)? => Ok(kernel.clone()),
        Kernels::One(kernel) => Err(Failure::Input(format!(
            "policy `{spec}`: Linux {} is without {what}: `rearguard lab list` shows what each kernel has",
            kernel.release
        ))),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A lab with kernels that are none.
    fn sham(releases: &[&str]) -> (tempfile::TempDir, Lab) {
        let folder = tempfile::tempdir().expect("a folder");
        let lab = Lab::at(folder.path().into());
        for release in releases {
            let place = lab.make(&format!("kernels/{release}")).expect("a folder");
            std::fs::write(place.join("vmlinuz"), "").expect("a file");
        }
        (folder, lab)
    }

    fn release(kernels: Kernels, policy: &str) -> Result<String, Failure> {
        let spec = PolicySpec::parse(policy).expect("a policy");
        kernel(kernels, &spec).map(|kernel| kernel.release)
    }

    #[test]
    fn a_policy_runs_under_the_kernel_that_was_asked_for() {
        let (_folder, lab) = sham(&["6.1.0-9", "6.12.90", "6.18.15", "7.3.4"]);
        let policies = ["cfs", "eevdf", "fifo", "cts", "scx_lavd"];
        let of = |kernels| policies.map(|policy| release(kernels, policy).ok());
        let all = |found: [&str; 5]| found.map(|release| Some(release.to_string()));
        assert_eq!(
            of(Kernels::Any(&lab)),
            all(["6.1.0-9", "7.3.4", "7.3.4", "7.3.4", "7.3.4"]),
            "control: none was asked for"
        );
        let asked = lab.find("6.18").expect("a kernel");
        let [cfs, rest @ ..] = of(Kernels::One(&asked));
        assert_eq!((cfs, rest), (None, [(); 4].map(|()| Some("6.18.15".to_string()))));
    }

    #[test]
    fn a_kernel_without_what_a_policy_needs_is_refused() {
        let (_folder, lab) = sham(&["6.1.0-9", "6.12.90"]);
        let refused = |kernel: &str, policy: &str, what: &str| {
            let asked = lab.find(kernel).expect("a kernel");
            let failure = release(Kernels::One(&asked), policy).expect_err("refused");
            assert_eq!(failure.exit_code(), 2);
            let message = failure.to_string();
            let words = [policy, &asked.release, what, "rearguard lab list"];
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        };
        refused("6.12", "cts", "sched_ext");
        refused("6.12", "cfs", "cfs");
        refused("6.1", "nice", "eevdf");
    }
}
