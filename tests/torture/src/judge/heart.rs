//! Threads that sleep for moments, one bound to each CPU and one free: how late the latest of their beats
//! came.
//!
//! Others like them stand above everything under test. Theirs come late only when the machine below the guest
//! gives it no time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use torture::rank;

const BEAT: Duration = Duration::from_millis(20);

/// The hearts of a run.
pub struct Hearts {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    beats: AtomicU64,
    latest_ns: AtomicU64,
}

impl Hearts {
    /// Lets them beat, with a real-time priority or as ordinary threads.
    pub fn start(cpus: usize, priority: Option<u8>) -> Hearts {
        let shared = Arc::new(Shared::default());
        let places = (0..cpus).map(Some).chain([None]);
        let handles = places.map(|place| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                priority.into_iter().for_each(rank::above_all);
                beat(place, &shared);
            })
        });
        Hearts { handles: handles.collect(), shared }
    }

    /// How often they have beaten.
    pub fn beats(&self) -> u64 {
        self.shared.beats.load(Ordering::Relaxed)
    }

    /// Ends them; how late the latest beat was.
    pub fn end(self) -> Duration {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.handles.into_iter().for_each(|handle| handle.join().expect("no panic"));
        Duration::from_nanos(self.shared.latest_ns.load(Ordering::Relaxed))
    }
}

fn beat(place: Option<usize>, shared: &Shared) {
    let mut beats = 0_u32;
    while !shared.stop.load(Ordering::Relaxed) {
        // A CPU that goes offline unbinds its threads: bind again now and then.
        if beats.is_multiple_of(50) {
            place.into_iter().for_each(bind);
        }
        let due = Instant::now() + BEAT;
        sleep(BEAT);
        let late = due.elapsed().as_nanos() as u64;
        shared.latest_ns.fetch_max(late, Ordering::Relaxed);
        shared.beats.fetch_add(1, Ordering::Relaxed);
        beats += 1;
    }
}

fn bind(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a CPU number of the guest");
    // Refused while that CPU is offline.
    let _ = sched_setaffinity(Pid::from_raw(0), &set);
}
