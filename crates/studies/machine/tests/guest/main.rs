//! Changes of a real kernel and their undo, in guests of the lab. `make lab-test` runs what boots one; `cargo
//! test` shows it as ignored.

mod fuse;
mod guest;
#[path = "../shared/life.rs"]
mod life;
mod snapshot;
mod starve;
mod ways_out;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let role = model::role::play(&[lab::ROLES, machine::ROLES], std::env::args_os());
    if let Some(code) = role.or_else(|| guest::play(std::env::args())) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials: Vec<Trial> = [ways_out::trials(), starve::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
