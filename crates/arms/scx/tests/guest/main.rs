//! Policies in a real kernel, in a guest of the lab. `make lab-test` runs what boots one; `cargo test` shows
//! it as ignored.

mod costs;
mod faulty;
mod groups;
mod guest;
mod hotplug;
mod jumps;
mod life;
mod parity;
mod pipes;
mod promise;
mod promise_live;
mod quota;
mod requests;
#[path = "../../../../core/policy-native/tests/toy/mod.rs"]
mod toy;
mod yields;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = model::role::play(&[lab::ROLES], std::env::args_os()) {
        return code;
    }
    if let Some(code) = guest::play(std::env::args()) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let trials = [
        costs::trials(),
        faulty::trials(),
        hotplug::trials(),
        life::trials(),
        parity::trials(),
        pipes::trials(),
        promise::trials(),
        quota::trials(),
        requests::trials(),
        yields::trials(),
    ];
    let trials: Vec<Trial> = trials.into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
