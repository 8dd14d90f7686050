//! Long work, beside an interpreter that stays free.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use model::{Failure, Watch};
use pyo3::prelude::*;

use crate::failure::{RunError, exception};

/// How often the calling thread looks for signals and reports progress.
const LOOK: Duration = Duration::from_millis(50);

/// What the work receives and sends.
#[derive(Default)]
struct Control {
    stop: AtomicBool,
    /// The done share, as the bits of an `f64`.
    done: AtomicU64,
}

impl Watch for Control {
    fn progress(&self, done: f64) {
        self.done.store(done.to_bits(), Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does something without the interpreter. Meanwhile the calling thread, where Python runs its signal
/// handlers, looks after Ctrl-C and calls `progress` with the share that is done. An exception there stops
/// the work and is the outcome.
pub fn work<T: Send>(
    py: Python,
    progress: Option<&Bound<PyAny>>,
    job: impl FnOnce(&dyn Watch) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let control = Control::default();
    let (send, receive) = channel();
    let receive = Mutex::new(receive);
    let receiver = || receive.lock().expect("one thread alone receives");
    let outcome = thread::scope(|scope| {
        let control = &control;
        let worker = scope.spawn(move || drop(send.send(job(control))));
        loop {
            match py.detach(|| receiver().recv_timeout(LOOK)) {
                Ok(outcome) => return outcome.map_err(exception),
                // A panic is a bug, and no reason to end the interpreter.
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = worker.join();
                    return Err(RunError::new_err("rearguard has a bug: its report is on stderr"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(stopped) = look(py, control, progress) {
                        control.stop.store(true, Ordering::Relaxed);
                        // The work sees it soon, and lets go of what it borrows.
                        let _ = py.detach(|| receiver().recv());
                        return Err(stopped);
                    }
                }
            }
        }
    });
    if outcome.is_ok() {
        progress.map(|progress| progress.call1((1.0,))).transpose()?;
    }
    outcome
}

fn look(py: Python, control: &Control, progress: Option<&Bound<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let done = f64::from_bits(control.done.load(Ordering::Relaxed));
    progress.map(|progress| progress.call1((done,))).transpose()?;
    Ok(())
}
