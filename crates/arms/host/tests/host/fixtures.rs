//! Scenarios to run, and this executable as the command that runs one: what is interrupted and killed by the
//! teardown tests.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;
use std::time::{Duration, Instant};

use host::{Exclusive, HostArm};
use libtest_mimic::{Failed, Trial};
use model::law::Law;
use model::scenario::{
    Architecture, Arrivals, Kind, Machine, Mechanisms, Program, Scenario, Service,
};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Silent, Trace, Watch};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Runs a scenario of several programs until a signal comes.
pub const RUN: &str = "__run-until-signalled";
/// Prints what the arm says to a policy for a user without privileges, at nice 0 where this user may go
/// there.
pub const CHECK_UNPRIVILEGED: &str = "__check-as-nobody";

/// How the failure of a run begins that this machine has no time for.
const TOO_BUSY: &str = "this machine is too busy";
/// How failures begin of which the surroundings of the tests are the reason.
const UNFIT: [&str; 2] = [TOO_BUSY, "another run is measured on this machine"];

/// How long it is asked whether it is: less than the kernel lets a real-time thread keep a CPU from all
/// others.
const PROBE: Duration = Duration::from_millis(500);
/// Between two looks at the clock pass some tens of nanoseconds, and an interrupt now and then.
const GAP: Duration = Duration::from_micros(20);

/// A service of 500 us at `utilisation` over `connections` connections.
pub fn service(architecture: Architecture, connections: u32, utilisation: f64) -> Program {
    let service = Service {
        architecture,
        connections,
        request_bytes: 128,
        response_bytes: 128,
        service_law: Law::Fixed,
        service_time: Nanos::from_micros(500),
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Utilisation(utilisation),
    };
    Program::new("rpc", Kind::Service(service))
}

/// One CPU, a warm-up of half a second.
pub fn scenario(programs: Vec<Program>, duration: Nanos) -> Scenario {
    Scenario {
        name: "exhibit".to_string(),
        shows: String::new(),
        machine: Machine::ONE_CPU,
        groups: Vec::new(),
        programs,
        duration,
        warm_up: Nanos::from_millis(500),
        seeds: vec![1],
        outlier_threshold: Nanos::from_millis(10),
        slice: None,
        mechanisms: Mechanisms::default(),
        alterations: Vec::new(),
    }
}

/// Why this arm cannot run anything here: a measurement that takes longer than a run waits for it, or `nice`
/// without the privilege to go back to nice 0.
pub fn unfit() -> Option<Failure> {
    let refused = HostArm::default().check(&probe(), &PolicySpec::plain("default")).err();
    refused.or_else(|| Exclusive::acquire(&Silent).err())
}

/// Whether this user may run services under SCHED_FIFO.
pub fn may_have_real_time() -> bool {
    HostArm::default().check(&probe(), &PolicySpec::plain("fifo")).is_ok()
}

fn probe() -> Scenario {
    scenario(vec![service(Architecture::ThreadPerConnection, 1, 0.1)], Nanos(1))
}

/// The policy under which other work on this machine disturbs a service least, of those that this user may
/// have.
pub fn calmest_policy() -> PolicySpec {
    PolicySpec::plain(if may_have_real_time() { "fifo" } else { "default" })
}

/// Runs a scenario, with as much patience as [`patiently`].
pub fn run(scenario: &Scenario, policy: &PolicySpec) -> Result<Trace, Failure> {
    patiently(|seed| HostArm::default().run(scenario, policy, seed, Events::Omitted, &Silent))
}

/// Runs once; where the self-check fails the run, twice more.
///
/// A busy machine keeps any generator from its schedule. Whether this one is busy is asked of a thread that
/// has nothing to do with the generator, and then the failure says [`TOO_BUSY`].
pub fn patiently<T>(run: impl Fn(u64) -> Result<T, Failure>) -> Result<T, Failure> {
    for seed in 1..=3 {
        match run(seed) {
            Err(Failure::Run(reason)) if reason.contains("load generator") && seed < 3 => {}
            Err(Failure::Run(reason)) if reason.contains("load generator") && is_busy() => {
                return Err(Failure::Run(format!("{TOO_BUSY}: {reason}")));
            }
            outcome => return outcome,
        }
    }
    unreachable!("the third run returns")
}

/// A test that is shown as skipped, with the reason, in surroundings that are [`UNFIT`] for it.
pub fn trial(name: &str, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    let shown = name.to_string();
    Trial::test(name, move || match test() {
        Err(failed)
            if UNFIT.iter().any(|why| failed.message().unwrap_or_default().starts_with(why)) =>
        {
            eprintln!("skipped {shown}: {}", failed.message().unwrap_or_default());
            Ok(())
        }
        outcome => outcome,
    })
}

/// Whether a thread in the generator's place would lose more than one part in 200 of its CPU. Other work
/// takes it, or the machine's own host, which takes time from real-time threads, too. A p99 cannot stand
/// more.
fn is_busy() -> bool {
    let lost = || {
        sched_setaffinity(Pid::from_raw(0), &generators_cpu()).expect("a CPU of this process");
        generator::thread::shield().expect("timers to the nanosecond");
        let start = Instant::now();
        let (mut last, mut lost) = (start, Duration::ZERO);
        while last - start < PROBE {
            let now = Instant::now();
            lost += Some(now - last).filter(|gap| *gap > GAP).unwrap_or_default();
            last = now;
        }
        lost
    };
    spawn(lost).join().expect("no panic") > PROBE / 200
}

/// The generator's CPU: the first that this process may use.
pub fn generators_cpu() -> CpuSet {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("an affinity");
    let first = (0..CpuSet::count()).find(|&cpu| allowed.is_set(cpu) == Ok(true));
    let mut set = CpuSet::new();
    set.set(first.expect("a CPU")).expect("a valid number");
    set
}

/// Plays one of the commands above if the arguments ask for it.
pub fn play(mut arguments: impl Iterator<Item = String>) -> Option<ExitCode> {
    match arguments.nth(1)?.as_str() {
        RUN => Some(run_until_signalled()),
        CHECK_UNPRIVILEGED => Some(check_unprivileged(&arguments.next()?)),
        _ => None,
    }
}

/// Sees SIGINT and SIGTERM, as the command line's does.
struct Signals(Arc<AtomicBool>);

impl Watch for Signals {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn run_until_signalled() -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted)).expect("a handler");
    }
    let programs = vec![
        service(Architecture::ThreadPerConnection, 8, 0.2),
        Program::new("hogs", Kind::Batch { threads: 2 }),
    ];
    let endless = scenario(programs, Nanos::from_secs(600));
    match HostArm::default().run(
        &endless,
        &calmest_policy(),
        1,
        Events::Omitted,
        &Signals(interrupted),
    ) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn check_unprivileged(policy: &str) -> ExitCode {
    let nobody = nix::unistd::Uid::from_raw(65_534);
    let _ = rustix::process::setpriority_process(None, 0);
    if nix::unistd::geteuid().is_root() {
        nix::unistd::setuid(nobody).expect("root may become nobody");
    }
    match HostArm::default().check(&probe(), &PolicySpec::plain(policy)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
