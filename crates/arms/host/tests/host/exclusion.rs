//! Two runs at once would measure each other.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host::HostArm;
use libtest_mimic::{Failed, Trial};
use model::scenario::{Kind, Program, Scenario};
use model::{Arm, Failure, Nanos, PolicySpec, Watch};

use crate::exhibits::scenario;
use crate::processes::{programs_of, wait_for_programs};

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("a_run_waits_for_another_one", waits)]
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
    // A run of another process, if there is one, ends or is waited for.
    let other = hold()?;
    run_until_cancelled(|| {
        thread::sleep(Duration::from_millis(500));
        assert!(programs_of(me).is_empty(), "started beside another run");
    });
    drop(other);
    // The control: nobody else is there, and it starts.
    run_until_cancelled(|| drop(wait_for_programs(me, 1)));
    Ok(())
}

fn run_until_cancelled(meanwhile: impl FnOnce()) {
    let cancel = Cancel(AtomicBool::new(false));
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| {
            HostArm::default().run(&endless(), &PolicySpec::plain("default"), 1, &cancel)
        });
        meanwhile();
        cancel.0.store(true, Ordering::Relaxed);
        running.join().expect("no panic")
    });
    assert_eq!(outcome, Err(Failure::Interrupted));
}

/// What a run of another process holds.
fn hold() -> Result<UnixListener, Failed> {
    let name = SocketAddr::from_abstract_name("rearguard-host-arm")?;
    for _ in 0..600 {
        match UnixListener::bind_addr(&name) {
            Ok(held) => return Ok(held),
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
    Err("another process measures for ever".into())
}

fn endless() -> Scenario {
    scenario(vec![Program::new("hog", Kind::Batch { threads: 1 })], Nanos::from_secs(600))
}
