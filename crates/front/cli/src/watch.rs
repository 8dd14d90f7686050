//! A progress bar on a terminal, and Ctrl-C turned into a wish to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use model::Watch;

/// Turns true at Ctrl-C or SIGTERM. Once a process: the signal handler is set here.
pub fn interrupt_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    ctrlc::set_handler(move || set.store(true, Ordering::Relaxed)).expect("set once a process");
    stop
}

/// Shows progress on stderr where that is a terminal, and handles Ctrl-C and SIGTERM.
pub struct Terminal {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Terminal {
    /// A bar with `label` before it. One a process, see [`interrupt_flag`].
    pub fn new(label: &str) -> Terminal {
        let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent:>3}%  {eta} left")
            .expect("a valid template");
        let bar = ProgressBar::new(1_000).with_style(style).with_prefix(label.to_string());
        Terminal { bar, stop: interrupt_flag() }
    }
}

impl Watch for Terminal {
    fn progress(&self, done: f64) {
        self.bar.set_position((done * 1_000.0) as u64);
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
