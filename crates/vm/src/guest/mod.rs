//! The arm's part in the guest: makes it calm, puts the scheduler in force, runs the scenario, and makes sure of both.

mod calm;
mod scheduler;
mod wakeups;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;

use load::{Stage, run_on};
use model::{Failure, Watch};

use crate::order::{ORDER, Order, PROGRESS, REPORT, ROLE, Report};

/// Plays the arm's part in a guest if the arguments ask for it, and says how it ended; `None`: they do not.
pub fn role_main(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let is_role = args.into_iter().nth(1).is_some_and(|argument| argument == ROLE);
    is_role.then(|| match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    })
}

fn play() -> Result<(), Failure> {
    let order: Order = serde_json::from_slice(&fs::read(ORDER).map_err(broken)?)
        .map_err(|error| Failure::Run(format!("the order is broken: {error}")))?;
    let report = perform(&order)?;
    let bytes = postcard::to_stdvec(&report)
        .map_err(|error| Failure::Run(format!("the report cannot be written: {error}")))?;
    fs::write(REPORT, bytes).map_err(broken)
}

fn perform(order: &Order) -> Result<Report, Failure> {
    calm::settle(&order.placement)?;
    let mut scheduler = scheduler::enter(order)?;
    let wakeups = wakeups::measure(&order.placement).map_err(broken)?;
    let stage = Stage {
        scenario: &order.scenario,
        policy: order.policy.clone(),
        services: order.services,
        placement: order.placement.clone(),
        seed: order.seed,
        events: order.events,
    };
    let trace =
        run_on(&stage, &Reporter::default()).map_err(|failure| match (failure, wakeups) {
            (Failure::Run(why), Some(late)) => Failure::Run(format!("{why} ({late})")),
            (failure, _) => failure,
        })?;
    scheduler.check()?;
    Ok(Report { trace, wakeups })
}

/// Steps of progress that are reported: each line costs the guest some work.
const STEPS: f64 = 10.0;

/// Says on stdout how far the run is.
#[derive(Default)]
struct Reporter {
    told: Mutex<f64>,
}

impl Watch for Reporter {
    fn progress(&self, done: f64) {
        let mut told = self.told.lock().expect("no thread panics with it");
        if done - *told >= 1.0 / STEPS {
            *told = done;
            let mut stdout = io::stdout().lock();
            // A host that hears nothing more has ended the guest already.
            let _ = writeln!(stdout, "{PROGRESS}{done:.2}").and_then(|()| stdout.flush());
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn broken(error: io::Error) -> Failure {
    Failure::Run(format!("the guest broke off: {error}"))
}
