//! Two runs at once would measure each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host::{Exclusive, HostArm};
use libtest_mimic::{Failed, Trial};
use model::scenario::{Kind, Program, Scenario};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Silent, Watch};

use crate::fixtures::{scenario, trial};
use crate::processes::programs_of;

pub fn trials() -> Vec<Trial> {
    vec![trial("a_run_waits_for_another_one", waits)]
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
