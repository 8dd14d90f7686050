//! The arm's part in the guest: makes it calm, puts the scheduler in force, runs the scenario, and makes sure
//! of both.

mod calm;
mod crossings;
mod wakeups;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;

use host::{Stage, run_on};
use model::role::Role;
use model::trace_session::KernelTracer;
use model::{Failure, Trace, Watch};

use crate::order::{ORDER, Order, PROGRESS, REPORT, ROLE, Report};
use crossings::Crossings;

/// The arm's part in a guest.
pub const ROLES: &[Role] = &[(ROLE, play)];

fn play(_: &[String]) -> ExitCode {
    match obey() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn obey() -> Result<(), Failure> {
    let order: Order = serde_json::from_slice(&fs::read(ORDER).map_err(broken)?)
        .map_err(|error| Failure::Run(format!("the order is broken: {error}")))?;
    let report = perform(&order)?;
    let bytes = postcard::to_stdvec(&report)
        .map_err(|error| Failure::Run(format!("the report cannot be written: {error}")))?;
    fs::write(REPORT, bytes).map_err(broken)
}

fn perform(order: &Order) -> Result<Report, Failure> {
    calm::settle(&order.placement)?;
    let mut scheduler = order.scheduler.enter()?;
    let wakeups = wakeups::measure(&order.placement).map_err(broken)?;
    let crossings = Crossings::watch(&order.scenario.machine).map_err(broken)?;
    let runs = order.seeds.len();
    let traces = order.seeds.iter().enumerate().map(|(run, &seed)| {
        let reporter = Reporter { run, runs, told: Mutex::default() };
        let trace = run_seed(order, seed, &crossings, &reporter).map_err(|failure| {
            match (failure, wakeups) {
                (Failure::Run(why), Some(late)) => {
                    Failure::Run(format!("seed {seed}: {why} ({late})"))
                }
                (failure, _) => failure,
            }
        })?;
        scheduler.check()?;
        Ok(trace)
    });
    Ok(Report { traces: traces.collect::<Result<_, Failure>>()?, wakeups })
}

/// What records scheduling events on the machine that this runs on; `None`: the program was built without the
/// kernel's part.
pub fn kernel_tracer() -> Option<&'static dyn KernelTracer> {
    #[cfg(feature = "bpf")]
    return Some(&tracer::Hooks);
    #[cfg(not(feature = "bpf"))]
    None
}

fn run_seed(
    order: &Order,
    seed: u64,
    crossings: &Crossings,
    reporter: &Reporter,
) -> Result<Trace, Failure> {
    let stage = Stage {
        scenario: &order.scenario,
        policy: order.policy.clone(),
        services: order.services,
        placement: order.placement.clone(),
        seed,
        tracer: if order.events { kernel_tracer() } else { None },
        pulls: &|| crossings.count(),
    };
    run_on(&stage, reporter)
}

/// Steps of progress that are reported: each line costs the guest some work.
const STEPS: f64 = 10.0;

/// Says on stdout how far the runs are.
struct Reporter {
    run: usize,
    runs: usize,
    told: Mutex<f64>,
}

impl Watch for Reporter {
    fn progress(&self, done: f64) {
        let mut told = self.told.lock().expect("no thread panics with it");
        if done - *told >= 1.0 / STEPS {
            *told = done;
            let mut stdout = io::stdout().lock();
            // A host that receives nothing more has ended the guest already.
            let all = (self.run as f64 + done) / self.runs as f64;
            let _ = writeln!(stdout, "{PROGRESS}{all:.3}").and_then(|()| stdout.flush());
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

fn broken(error: io::Error) -> Failure {
    Failure::Run(format!("the guest broke off: {error}"))
}
