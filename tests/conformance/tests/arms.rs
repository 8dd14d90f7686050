//! The bodies on the sim arm, always, and on the vm arm, on demand: it boots machines.

use std::process::ExitCode;

use conformance::BODIES;
use libtest_mimic::{Arguments, Trial};
use sim::SimArm;
use vm::VmArm;

fn main() -> ExitCode {
    let roles = [host::ROLES, lab::ROLES, loader::ROLES, vm::ROLES];
    if let Some(code) = model::role::play(&roles, std::env::args_os()) {
        return code;
    }
    let on_sim = BODIES.iter().map(|body| {
        let check = body.check;
        Trial::test(format!("sim::{}", body.name), move || check(&SimArm))
    });
    let on_vm = BODIES.iter().map(|body| {
        let check = body.check;
        let trial = Trial::test(format!("vm::{}", body.name), move || {
            check(&VmArm::new(Vec::new(), None, None)?)
        });
        trial.with_ignored_flag(true)
    });
    let trials: Vec<Trial> = on_sim.chain(on_vm).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
