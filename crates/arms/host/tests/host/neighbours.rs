//! Who else had the CPUs of a run is named: a real program that spins beside one.

use std::fs;
use std::hint::spin_loop;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use model::scenario::{Kind, Program, Scenario};
use model::{Nanos, PolicySpec};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::fixtures::{generators_cpu, run, scenario, trial};

/// The role of a program that starts a hog and ends, so that the hog is nobody's of the test.
pub const STARTER: &str = "__starter-of-a-hog";
/// The role of the hog.
const HOG: &str = "__hog";
/// What /proc calls it.
const NAME: &str = "rg-test-hog";
/// A hog lives no longer, whatever becomes of the test.
const LIFETIME: Duration = Duration::from_secs(60);

pub fn trials() -> Vec<Trial> {
    vec![trial("a_hog_beside_a_run_is_named", named)]
}

/// Plays one of the roles, if it is one.
pub fn play(role: Option<&str>) -> bool {
    match role {
        Some(STARTER) => start(),
        Some(HOG) => spin(),
        _ => return false,
    }
    true
}

/// Starts the hog, which has this program's stdin and stdout.
#[expect(clippy::zombie_processes, reason = "it shall outlive this program")]
fn start() {
    let own = std::env::current_exe().expect("this executable");
    Command::new(own).arg(HOG).spawn().expect("a hog");
}

/// Takes a CPU of the run, never the generator's, until stdin ends; tells when it begins.
fn spin() {
    fs::write("/proc/self/comm", NAME).expect("a name");
    let (mut cpus, generators) =
        (sched_getaffinity(Pid::from_raw(0)).expect("an affinity"), generators_cpu());
    for cpu in (0..CpuSet::count()).filter(|cpu| generators.is_set(*cpu) == Ok(true)) {
        cpus.unset(cpu).expect("a valid number");
    }
    sched_setaffinity(Pid::from_raw(0), &cpus).expect("a CPU beside the generator's");
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    println!("{}", std::process::id());
    let begin = Instant::now();
    while begin.elapsed() < LIFETIME {
        spin_loop();
    }
}

/// A hog, and what ends it when it is dropped: its stdin.
struct Hog(Child);

impl Hog {
    fn start() -> std::io::Result<Hog> {
        let mut starter = Command::new(std::env::current_exe()?)
            .arg(STARTER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = String::new();
        BufReader::new(starter.stdout.take().expect("piped")).read_line(&mut said)?;
        assert!(said.trim().parse::<u32>().is_ok(), "no hog: {said}");
        // `wait` would close its stdin.
        while starter.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Hog(starter))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
    }
}

/// One thread that spins on one CPU: what else is there has as much of it.
fn spinning() -> Scenario {
    let own = Program::new("own", Kind::Batch { threads: 1 });
    scenario(vec![own], Nanos::from_millis(1_500))
}

/// What the hog had of the run's CPUs, where it is named.
fn share() -> Result<Option<f64>, Failed> {
    let trace = run(&spinning(), &PolicySpec::plain("default")).map_err(|why| why.to_string())?;
    let others = trace.neighbours.ok_or("no neighbours in the trace")?;
    let mut hogs = others.programs.iter().filter(|(name, _)| name == NAME);
    Ok(hogs.next().map(|(_, share)| *share))
}

fn named() -> Result<(), Failed> {
    assert_eq!(share()?, None, "the control: there is no hog");
    let hog = Hog::start()?;
    let with = share()?;
    drop(hog);
    assert!(with.is_some_and(|share| share > 0.0), "{with:?}");
    Ok(())
}
