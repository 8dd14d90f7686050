//! However a run ends, none of its processes stays.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use libtest_mimic::{Failed, Trial};
use model::scenario::{Architecture, Kind, Program};
use model::{Failure, Nanos};
use nix::sys::signal::Signal::{self, SIGINT, SIGKILL, SIGTERM};

use crate::fixtures::{self, RUN, calmest_policy, scenario, service};
use crate::processes::{programs_of, signal, wait_for_end, wait_for_programs};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("an_interrupted_run_leaves_nothing", || ended_by(SIGINT, Some(130))),
        Trial::test("a_terminated_run_leaves_nothing", || ended_by(SIGTERM, Some(130))),
        Trial::test("a_killed_run_leaves_nothing", || ended_by(SIGKILL, None)),
        Trial::test("a_program_that_dies_fails_the_run", dead_program),
    ]
}

/// Starts a run in another process, sends it a signal and looks for what is left.
fn ended_by(by: Signal, code: Option<i32>) -> Result<(), Failed> {
    let mut runner = start_runner()?;
    let programs = wait_for_programs(runner.id(), 2);
    // The control: before the signal they are there, and stay.
    thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(programs_of(runner.id()), programs);
    signal(runner.id() as i32, by);
    let status: ExitStatus = runner.wait()?;
    assert_eq!(status.code(), code, "{status}");
    let left = wait_for_end(&programs);
    assert!(left.is_empty(), "{left:?} of {programs:?} outlived {by}");
    Ok(())
}

fn start_runner() -> Result<Child, Failed> {
    let mut command = Command::new("/proc/self/exe");
    Ok(command.arg(RUN).stdin(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

fn dead_program() -> Result<(), Failed> {
    let programs = vec![
        service(Architecture::ThreadPerConnection, 4, 0.1),
        Program::new("victim", Kind::Batch { threads: 1 }),
    ];
    let endless = scenario(programs, Nanos::from_secs(600));
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| fixtures::run(&endless, &calmest_policy()));
        let started = wait_for_programs(std::process::id(), 2);
        thread::sleep(std::time::Duration::from_millis(700));
        signal(*started.iter().max().expect("two"), SIGKILL);
        running.join().expect("no panic")
    });
    assert!(
        matches!(&outcome, Err(Failure::Run(reason)) if reason.contains("ended early")),
        "{outcome:?}"
    );
    assert!(programs_of(std::process::id()).is_empty());
    Ok(())
}
