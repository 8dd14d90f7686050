//! What this machine must have before anything is started, each with its remedy.

use std::path::{Path, PathBuf};

use loader::Scheduler;
use model::scenario::{AlterationKind, Kind, Program, Scenario};
use model::{Failure, PolicySpec};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::groups;
use crate::machine::{self, Placement};
use crate::policy::{self, Policy};
use crate::privilege::Class;

/// The longest request: it must fit into the sockets' buffers, or a server that does not read would block the
/// generator.
const LONGEST_REQUEST_BYTES: u32 = 64 * 1024;
/// Files that a process has open beside those of its threads and connections, generously.
const OTHER_FILES: u64 = 64;

/// A run that this machine can do.
pub struct Ready {
    /// What is in force meanwhile.
    pub scheduler: Scheduler,
    /// How services are scheduled.
    pub policy: Policy,
    /// Which CPUs are used.
    pub placement: Placement,
}

/// Finds everything that would make the run fail, and changes nothing.
pub fn check(
    scenario: &Scenario,
    spec: &PolicySpec,
    programs: &[PathBuf],
) -> Result<Ready, Failure> {
    let (scheduler, policy) = policy::read(spec, scenario, programs)?;
    scheduler.check()?;
    check_abilities(scenario)?;
    check_scenario(scenario)?;
    groups::check_machine(scenario)?;
    let placement = place(scenario)?;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(unreadable)?;
    let files = open_files(scenario);
    if files > hard {
        return Err(Failure::Machine(format!(
            "the scenario needs {files} open files, and this machine allows {hard}: raise `ulimit -Hn`, or use fewer connections"
        )));
    }
    for program in &scenario.programs {
        class(program, policy).permitted()?;
    }
    for alteration in &scenario.alterations {
        if let AlterationKind::Nice { nice, .. } = alteration.kind {
            Class::Normal { nice }.permitted()?;
        }
    }
    Ok(Ready { scheduler, policy, placement })
}

/// Raises this process's own limit of open files, which children inherit, to what is wanted.
pub fn allow_open_files(wanted: u64) -> Result<(), Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(unreadable)?;
    let wanted = soft.max(wanted);
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).map_err(unreadable)
}

/// The class of a program's threads: services as the policy says, everything else at the scenario's nice
/// value.
pub fn class(program: &Program, policy: Policy) -> Class {
    let own = Class::Normal { nice: program.nice };
    match (&program.kind, policy) {
        (Kind::Service(_), Policy::Nice) => Class::Normal { nice: -20 },
        (Kind::Service(_), Policy::Fifo) => Class::Fifo,
        (Kind::Service(_), Policy::RoundRobin) => Class::RoundRobin,
        _ => own,
    }
}

/// What the host arm does not do, whatever the machine.
fn check_abilities(scenario: &Scenario) -> Result<(), Failure> {
    let refuse = |what: &str| Err(Failure::Machine(format!("{what}: use --on sim")));
    let machine = &scenario.machine;
    if machine.smt > 1 || machine.llcs > 1 || machine.nodes > 1 {
        return refuse(
            "the host arm places programs by the number of CPUs alone, not by SMT, caches or nodes",
        );
    }
    if let Some(program) = scenario.of_kernels_alone() {
        let name = &program.name;
        return Err(Failure::Machine(format!(
            "`{name}` is a command, whose processes could outlive a run on this machine: use --on vm"
        )));
    }
    if !Path::new("/proc/self/schedstat").exists() {
        return refuse(
            "this kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO), from which CPU time is read",
        );
    }
    Ok(())
}

/// What real programs and cgroups do not do on any machine.
pub fn check_scenario(scenario: &Scenario) -> Result<(), Failure> {
    groups::check_shape(scenario)?;
    if let Some(what) = scenario.of_simulation_alone() {
        return Err(Failure::Machine(format!("{what}: use --on sim")));
    }
    let long =
        scenario.programs.iter().find(|program| request_bytes(program) > LONGEST_REQUEST_BYTES);
    if let Some(program) = long {
        let (name, bytes) = (&program.name, request_bytes(program));
        return Err(Failure::Machine(format!(
            "`{name}` has requests of {bytes} bytes, and real ones have at most {LONGEST_REQUEST_BYTES}: use --on sim"
        )));
    }
    Ok(())
}

fn place(scenario: &Scenario) -> Result<Placement, Failure> {
    let cpus = machine::cpus();
    let wanted = scenario.machine.cpus as usize;
    Placement::choose(&cpus, wanted).ok_or_else(|| {
        let (all, have) = (wanted + 1, cpus.len());
        Failure::Machine(format!(
            "scenario `{}` needs {all} CPUs, {wanted} for its programs and one for the generator; this machine has {have}: \
             use --on sim, or lower `cpus`",
            scenario.name
        ))
    })
}

/// Open files at most in one process of a scenario: its connections, and in the parent a probe a thread.
pub fn open_files(scenario: &Scenario) -> u64 {
    let connections = |program: &Program| match &program.kind {
        Kind::Service(service) => service.connections,
        _ => 0,
    };
    let of = |program: &Program| u64::from(connections(program) + program.kind.threads());
    scenario.programs.iter().map(of).sum::<u64>() + OTHER_FILES
}

fn request_bytes(program: &Program) -> u32 {
    match &program.kind {
        Kind::Service(service) => service.request_bytes,
        _ => 0,
    }
}

fn unreadable(error: nix::Error) -> Failure {
    Failure::Machine(format!("the limit of open files cannot be read or set ({error})"))
}
