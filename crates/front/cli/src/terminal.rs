//! A progress bar on a terminal, and signals turned into a wish to stop.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use model::{Arm, Failure, Watch};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long a command that has nothing to restore goes on after the first signal.
const GRACE: Duration = Duration::from_millis(800);

/// What a command wants to be told of signals; none: it is ended by the first one.
static ASKED: OnceLock<Asked> = OnceLock::new();

/// The last signal.
static CAUGHT: AtomicI32 = AtomicI32::new(SIGINT);

struct Asked {
    stop: Arc<AtomicBool>,
    grace: Option<Duration>,
}

/// From now on Ctrl-C, SIGTERM and SIGHUP end this process without leaving temporary files, at once unless
/// the command asks to be told. Once a process, before it begins with anything.
pub fn handle_signals() {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).expect("signals that may be caught");
    thread::spawn(move || signals.forever().for_each(caught));
}

fn caught(signal: i32) {
    CAUGHT.store(signal, Ordering::Relaxed);
    let Some(Asked { stop, grace }) = ASKED.get() else { end() };
    if stop.swap(true, Ordering::Relaxed) {
        end();
    }
    if let Some(grace) = *grace {
        thread::spawn(move || {
            thread::sleep(grace);
            end();
        });
    }
}

/// Turns true at the first of these signals; the second one ends the process at once, as a kill would: what
/// is to be restored then is by other processes or later ones. Once a process.
pub fn interrupt_flag() -> Arc<AtomicBool> {
    flag(None)
}

/// [`interrupt_flag`] of a command that only computes: it has ended within a second, whatever it does.
pub fn computing_flag() -> Arc<AtomicBool> {
    flag(Some(GRACE))
}

fn flag(grace: Option<Duration>) -> Arc<AtomicBool> {
    let asked = ASKED.get_or_init(|| Asked { stop: Arc::default(), grace });
    Arc::clone(&asked.stop)
}

fn end() -> ! {
    fileio::leave(exit_code(&Failure::Interrupted).into())
}

/// The exit code of a failed command. One that a signal ended has 128 and the signal's number, as shells
/// expect.
pub fn exit_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Interrupted => 128 + CAUGHT.load(Ordering::Relaxed) as u8,
        other => other.exit_code(),
    }
}

/// Shows progress on stderr where that is a terminal, and handles signals.
pub struct Terminal {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Terminal {
    /// A bar with `label` before it. One a process, see [`interrupt_flag`].
    pub fn new(label: &str) -> Terminal {
        Terminal::of(label, interrupt_flag())
    }

    /// The same for a command that only computes: a signal ends it within a second, whatever it is about.
    pub fn computing(label: &str) -> Terminal {
        Terminal::of(label, computing_flag())
    }

    /// The one for runs on an arm: real ones have something to restore.
    pub fn on(arm: &dyn Arm, label: &str) -> Terminal {
        if arm.exclusive() { Terminal::new(label) } else { Terminal::computing(label) }
    }

    fn of(label: &str, stop: Arc<AtomicBool>) -> Terminal {
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}%  {eta} left")
            .expect("a valid template");
        let bar = ProgressBar::new(1_000).with_style(style).with_prefix(label.to_string());
        Terminal { bar, stop }
    }
}

impl Watch for Terminal {
    fn progress(&self, done: f64) {
        self.bar.set_position((done * 1_000.0) as u64);
    }

    fn waits(&self, what: &str) {
        self.bar.suspend(|| anstream::eprintln!("rearguard: {what}"));
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
