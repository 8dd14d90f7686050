//! The threads of a program and what its main thread holds of them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

use model::trace::Window;
use nix::unistd::gettid;

use super::command::Runs;
use crate::clock;

/// Room for the little that these threads do; the default of 2 MB would add up over thousands.
pub const STACK_BYTES: usize = 128 * 1024;

/// All threads of a program, waiting to begin.
pub struct ThreadPool {
    /// Their kernel ids, in order.
    pub thread_ids: Vec<i32>,
    /// What holds them back.
    pub gate: Arc<Gate>,
    /// What they completed.
    pub rounds: Arc<Rounds>,
    /// Where a command's runs come; `None`: it is none.
    pub runs: Option<Receiver<Runs>>,
}

impl ThreadPool {
    /// Starts one thread for each piece of `work`; it begins with it once the gate is open.
    pub fn spawn<W>(work: impl IntoIterator<Item = W>) -> io::Result<ThreadPool>
    where
        W: FnOnce(&Rounds) + Send + 'static,
    {
        let (gate, rounds) = (Arc::new(Gate::default()), Arc::new(Rounds::default()));
        let mut thread_ids = Vec::new();
        for piece in work {
            let (tell, told) = mpsc::channel();
            let (gate, rounds) = (Arc::clone(&gate), Arc::clone(&rounds));
            thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
                // The main thread waits for exactly this.
                let _ = tell.send(gettid().as_raw());
                gate.pass();
                piece(&rounds);
            })?;
            thread_ids.push(told.recv().map_err(io::Error::other)?);
        }
        Ok(ThreadPool { thread_ids, gate, rounds, runs: None })
    }
}

impl ThreadPool {
    /// What a command did, once its last run has ended; of anything else nothing.
    pub fn runs(&self) -> Runs {
        let told = self.runs.as_ref().map(|runs| runs.recv().map_err(io::Error::other));
        told.unwrap_or_else(|| Ok(Ok(Vec::new())))?
    }
}

/// A gate that opens once.
#[derive(Default)]
pub struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Lets all threads through, from now on.
    pub fn open(&self) {
        *self.is_open.lock().expect("no thread panics with it") = true;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let closed = self.is_open.lock().expect("no thread panics with it");
        let _open =
            self.opened.wait_while(closed, |open| !*open).expect("no thread panics with it");
    }
}

/// Counts what is completed inside the window.
#[derive(Default)]
pub struct Rounds {
    window: OnceLock<Window>,
    count: AtomicU64,
}

impl Rounds {
    /// Sets the window, before the gate opens.
    pub fn watch(&self, window: Window) {
        self.window.get_or_init(|| window);
    }

    /// One more was completed just now. Whether the window is still to come, or open.
    pub fn complete(&self) -> bool {
        let (now, window) = (clock::now(), self.window.get());
        if window.is_some_and(|window| window.contains(now)) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        window.is_none_or(|window| now < window.end)
    }

    /// How many so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
