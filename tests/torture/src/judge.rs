//! What decides whether a scheduler stood a piece: it watches from above, by real-time priority, and looks at
//! the kernel's own words.

mod audit;
mod heart;
mod log;

use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use audit::Audit;
use heart::Hearts;
use log::Log;

use torture::rank;

/// A heart may have to wait for so many turns.
const TURNS: u32 = 10;

/// What a piece promises.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// A thread that sleeps for moments waits at most so long for a CPU.
    pub beat: Duration,
    /// Any thread that wants a CPU waits at most so long.
    pub wait: Duration,
    /// The piece is over by then.
    pub end: Duration,
}

/// The judge of one piece.
pub struct Judge {
    bounds: Bounds,
    hearts: Hearts,
    pacers: Hearts,
    log: Log,
    stop: Arc<AtomicBool>,
    found: Arc<Mutex<Found>>,
    auditor: JoinHandle<()>,
}

/// What the auditor saw.
#[derive(Default)]
struct Found {
    longest: Duration,
    looks: u32,
}

impl Judge {
    /// Begins to watch.
    pub fn start(bounds: Bounds, cpus: usize) -> std::io::Result<Judge> {
        let log = Log::from_now()?;
        let (stop, found) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let auditor = {
            let (stop, found) = (Arc::clone(&stop), Arc::clone(&found));
            thread::spawn(move || audit(bounds, &stop, &found))
        };
        let (hearts, pacers) = (Hearts::start(cpus, None), Hearts::start(cpus, Some(rank::JUDGE)));
        Ok(Judge { bounds, hearts, pacers, log, stop, found, auditor })
    }

    /// Ends the watch: the faults, and what was seen.
    pub fn finish(self) -> (Vec<String>, String) {
        self.stop.store(true, Ordering::Relaxed);
        self.auditor.join().expect("no panic");
        let (mut faults, beats, late) = (self.log.faults(), self.hearts.beats(), self.hearts.end());
        if beats == 0 {
            faults.push("no heart has beaten: the judge saw nothing".into());
        }
        // An ordinary thread waits for the turns of others, and a machine that is busy stretches each.
        let stall = self.pacers.end();
        let bound = self.bounds.beat + stall * TURNS;
        if late > bound {
            faults.push(format!("a heartbeat came {late:?} late, not {bound:?}"));
        }
        let found = self.found.lock().expect("no panic");
        let seen = format!(
            "{beats} heartbeats, the latest by {late:.0?} where the machine stalls for {stall:.0?}; longest wait in {} looks {:.0?}",
            found.looks, found.longest
        );
        (faults, seen)
    }
}

/// Looks at all threads again and again. Whatever it finds ends the run at once: a thread that is lost may be
/// the one that waits for the end.
fn audit(bounds: Bounds, stop: &AtomicBool, found: &Mutex<Found>) {
    rank::above_all(rank::JUDGE);
    let (begin, mut audit) = (Instant::now(), Audit::default());
    while !stop.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(500));
        let waiting = audit.longest_wait();
        let mut found = found.lock().expect("no panic");
        found.looks += 1;
        if let Some((wait, who)) = waiting {
            found.longest = found.longest.max(wait);
            if wait > bounds.wait {
                die(&format!("{who} has waited for a CPU for {wait:?}"));
            }
        }
        if begin.elapsed() > bounds.end {
            die(&format!("no end after {:?}", bounds.end));
        }
    }
}

fn die(fault: &str) -> ! {
    eprintln!("torture: {fault}");
    let _ = Log::tail().map(|lines| eprintln!("the kernel's last words:\n{lines}"));
    exit(1);
}
