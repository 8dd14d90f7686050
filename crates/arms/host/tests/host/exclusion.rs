//! Two runs at once would measure each other.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::{Exclusive, HostArm};
use libtest_mimic::{Failed, Trial};
use model::scenario::{Kind, Program, Scenario};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Silent, Watch};

use crate::fixtures::{scenario, trial};
use crate::processes::programs_of;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_run_waits_for_another_one", waits),
        trial("a_wait_for_another_run_is_told_once", told),
        trial("another_user_cannot_keep_root_from_measuring", squatted),
    ]
}

/// The role of a process that holds the names of runs until its stdin ends.
pub const SQUATTER: &str = "__squatter";

/// Holds the names, says so, and waits for the end of its stdin.
pub fn squat() {
    let names = ["rearguard-host-arm", "rearguard-host-arm-of-root"];
    let bind = |name| UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?);
    let held: Vec<std::io::Result<UnixListener>> = names.into_iter().map(bind).collect();
    println!("{}", held.iter().all(Result::is_ok));
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts one as another user; whether it holds the names.
fn squatter(user: u32) -> std::io::Result<(Child, bool)> {
    let own = std::env::current_exe()?;
    // The folders above may be closed to that user: the executable is handed over open.
    let own = std::fs::File::open(own)?;
    let mut command = Command::new(format!("/proc/self/fd/{}", own.as_raw_fd()));
    let command = command.arg(SQUATTER).uid(user).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said)?;
    Ok((child, said == "true\n"))
}

fn squatted() -> Result<(), Failed> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    // The control: a run of root's own is waited for.
    let of_root = Exclusive::acquire(&Silent)?;
    let begin = Instant::now();
    let given_up = Deadline(begin + Duration::from_secs(7));
    assert!(matches!(Exclusive::acquire(&given_up), Err(Failure::Interrupted)));
    drop(of_root);
    let (mut child, holds) = squatter(65_534)?;
    assert!(holds, "control: the names are taken");
    Exclusive::acquire(&Deadline(Instant::now() + Duration::from_secs(30)))?;
    drop(child.stdin.take());
    child.wait()?;
    Ok(())
}

/// Cancels at a moment.
struct Deadline(Instant);

impl Watch for Deadline {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        Instant::now() > self.0
    }
}

/// Cancels at a moment, and keeps what it was told.
struct Told(Deadline, Mutex<Vec<String>>);

impl Watch for Told {
    fn progress(&self, _done: f64) {}
    fn waits(&self, what: &str) {
        self.1.lock().expect("no panic").push(what.to_string());
    }
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

fn told() -> Result<(), Failed> {
    let other = Exclusive::acquire(&Silent)?;
    let said = |wait: Duration| {
        let watch = Told(Deadline(Instant::now() + wait), Mutex::default());
        assert!(matches!(Exclusive::acquire(&watch), Err(Failure::Interrupted)));
        watch.1.into_inner().expect("no panic")
    };
    let all = said(Duration::from_millis(2_500));
    let process = format!("waiting for another run (process {} ", std::process::id());
    assert!(all.len() == 1 && all[0].starts_with(&process), "{all:?}");
    assert_eq!(said(Duration::from_millis(300)), [""; 0], "the control: a moment");
    drop(other);
    Ok(())
}

/// Cancels when told to.
struct Cancel(AtomicBool);

impl Watch for Cancel {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn waits() -> Result<(), Failed> {
    let me = std::process::id();
    let other = Exclusive::acquire(&Silent)?;
    cancelled_when(|_| {
        thread::sleep(Duration::from_millis(500));
        assert!(programs_of(me).is_empty(), "started beside another run");
    })?;
    drop(other);
    // The control: no other run is there, and it starts.
    let mut started = false;
    cancelled_when(|running| {
        while !started && running() {
            started = programs_of(me).len() == 1;
            thread::sleep(Duration::from_millis(10));
        }
    })?;
    assert!(started, "alone and not started");
    Ok(())
}

/// A run that is cancelled after `meanwhile`, which may ask whether it still runs.
fn cancelled_when(meanwhile: impl FnOnce(&dyn Fn() -> bool)) -> Result<(), Failure> {
    let cancel = Cancel(AtomicBool::new(false));
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| {
            HostArm::default().run(
                &endless(),
                &PolicySpec::plain("default"),
                1,
                Events::Omitted,
                &cancel,
            )
        });
        meanwhile(&|| !running.is_finished());
        cancel.0.store(true, Ordering::Relaxed);
        running.join().expect("no panic")
    });
    match outcome {
        Err(Failure::Interrupted) => Ok(()),
        other => other.map(|_| panic!("an endless run ended")),
    }
}

fn endless() -> Scenario {
    scenario(vec![Program::new("hog", Kind::Batch { threads: 1 })], Nanos::from_secs(600))
}
