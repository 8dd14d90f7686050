//! The host arm for real: servers, batch work, signals. Needs two CPUs and about 30 s.
//!
//! Programs of a scenario are this executable in another role, so it has a `main` of its own. What needs
//! real-time priority and does not get it is shown as ignored.

mod exclusion;
mod fixtures;
mod freeze;
mod ideal;
mod neighbours;
mod pipes;
mod processes;
mod refusals;
mod scenarios;
mod starvation;
mod teardown;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = model::role::play(&[host::ROLES], std::env::args_os()) {
        return code;
    }
    if std::env::args().nth(1).as_deref() == Some(exclusion::SQUATTER) {
        exclusion::squat();
        return ExitCode::SUCCESS;
    }
    if neighbours::play(std::env::args().nth(1).as_deref()) {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = fixtures::play(std::env::args()) {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // Runs measure time on the same CPUs: one after the other.
    arguments.test_threads = Some(1);
    let measured = [
        exclusion::trials(),
        scenarios::trials(),
        freeze::trials(),
        neighbours::trials(),
        pipes::trials(),
        starvation::trials(),
        teardown::trials(),
    ];
    let unfit = fixtures::unfit();
    if let Some(reason) = &unfit {
        eprintln!("skipped all that runs: {reason}");
    }
    let measured = measured.into_iter().flatten();
    let measured = measured.map(|trial| trial.with_ignored_flag(unfit.is_some()));
    let trials: Vec<Trial> = refusals::trials().into_iter().chain(measured).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
