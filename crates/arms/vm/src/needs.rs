//! What a policy needs: a kernel, and a scheduler.

use std::path::{Path, PathBuf};

use host::Services;
use lab::{Kernel, Lab};
use model::{Failure, Nanos, PolicySpec, Scenario, did_you_mean};

use crate::order::{OBJECT, Scheduler};

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

/// What the names of programs that are sched_ext schedulers begin with.
const PROGRAM: &str = "scx_";

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
    let (scheduler, object) = match spec.file() {
        Some(path) => of_file(path, scenario, spec)?,
        None if spec.name.starts_with(PROGRAM) => {
            (Scheduler::Program(command(programs, spec)?), None)
        }
        None => (of_ours(scenario, spec)?, None),
    };
    let kernel = kernel(lab, spec)?;
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

/// A policy behind the seam; its options are checked here and not only in the guest.
fn of_ours(scenario: &Scenario, spec: &PolicySpec) -> Result<Scheduler, Failure> {
    let known: Vec<&str> = policy_native::policies().map(|(name, _)| name).collect();
    if !known.contains(&spec.name.as_str()) {
        return Err(unknown(spec, &known));
    }
    let options = policy_native::Options::parse(spec, &scenario.machine, scenario.slice)?;
    ours(spec, scenario.slice.map(|_| options.slice()), &[])
}

/// A policy in a file. It is compiled here: guests have no compiler.
fn of_file(
    path: &Path,
    scenario: &Scenario,
    spec: &PolicySpec,
) -> Result<(Scheduler, Option<Vec<u8>>), Failure> {
    policy_native::FileOptions::parse(spec, &scenario.machine, scenario.slice)?;
    let object = loader::compile(path)?;
    let spec = PolicySpec { name: path.display().to_string(), ..spec.clone() };
    let slice = scenario.slice.filter(|_| !spec.options.contains_key("slice"));
    Ok((ours(&spec, slice, &["--object", OBJECT])?, Some(object)))
}

/// Our loader with a policy, and with the slice where the scenario has a say in it.
fn ours(spec: &PolicySpec, slice: Option<Nanos>, more: &[&str]) -> Result<Scheduler, Failure> {
    let program = loader::find()?.to_string_lossy().into_owned();
    let slice = slice.map(|slice| ["--slice".to_string(), format!("{}ns", slice.0)]);
    let more = more.iter().map(|word| (*word).to_string());
    let words = [program, spec.to_string()].into_iter();
    Ok(Scheduler::Program(words.chain(slice.into_iter().flatten()).chain(more).collect()))
}

/// The program of that name, and `--key value` for each option.
fn command(programs: &[PathBuf], spec: &PolicySpec) -> Result<Vec<String>, Failure> {
    let given = programs.iter().find(|path| path.file_name() == Some(spec.name.as_ref()));
    let name = given.map_or(Path::new(&spec.name), PathBuf::as_path);
    let path = lab::locate(&name.to_string_lossy()).map_err(|_| {
        Failure::Input(format!(
            "policy `{0}`: no such program in PATH: install it (`cargo install {0}`), or name it with --with",
            spec.name
        ))
    })?;
    let options = spec.options.iter().flat_map(|(key, value)| [format!("--{key}"), value.clone()]);
    Ok(std::iter::once(path.to_string_lossy().into_owned()).chain(options).collect())
}

fn unknown(spec: &PolicySpec, policies: &[&str]) -> Failure {
    let classes = CLASSES.iter().map(|(name, ..)| *name);
    let known: Vec<&str> = classes.chain(policies.iter().copied()).collect();
    let hint = did_you_mean(&spec.name, &known);
    Failure::Input(format!(
        "policy `{}` is unknown to the vm arm{hint}: it knows {}, programs whose names begin with {PROGRAM}, and policies in files (./NAME.c)",
        spec.name,
        known.join(", ")
    ))
}
