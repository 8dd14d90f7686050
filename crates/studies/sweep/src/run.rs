//! A sweep in threads of this process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use model::{Failure, Watch};
use serde::Serialize;

use crate::{Failed, Folder, Point, PointFailure, SWEEP_SCHEMA};

/// How a sweep went.
#[derive(Debug, Serialize)]
pub struct Swept {
    /// [`SWEEP_SCHEMA`].
    pub schema: &'static str,
    /// Points of the grid.
    pub points: usize,
    /// Of these, finished before.
    pub reused: usize,
    /// Those that failed, in the grid's order.
    pub failed: Vec<Failed>,
}

/// Runs the points that the folder does not have yet, `jobs` at a time. Those that fail do not stop the
/// others.
pub fn sweep(
    points: &[Point],
    folder: &Folder,
    jobs: usize,
    watch: &dyn Watch,
) -> Result<Swept, Failure> {
    let missing: Vec<&Point> = points.iter().filter(|point| !folder.has(point)).collect();
    let reused = points.len() - missing.len();
    let queue = WorkQueue {
        missing,
        folder,
        watch,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        failed: Mutex::default(),
        broken: Mutex::default(),
    };
    thread::scope(|scope| {
        (0..jobs.clamp(1, queue.missing.len().max(1)))
            .for_each(|_| drop(scope.spawn(|| queue.work())));
    });
    if let Some(failure) = queue.broken.into_inner().expect("no worker panics") {
        return Err(failure);
    }
    if queue.stopped.into_inner() {
        return Err(Failure::Interrupted);
    }
    let mut failed = queue.failed.into_inner().expect("no worker panics");
    failed.sort_by_key(|(place, _)| *place);
    let failed = failed.into_iter().map(|(_, failed)| failed).collect();
    Ok(Swept { schema: SWEEP_SCHEMA, points: points.len(), reused, failed })
}

/// What the workers share.
struct WorkQueue<'a> {
    missing: Vec<&'a Point>,
    folder: &'a Folder,
    watch: &'a dyn Watch,
    next: AtomicUsize,
    done: AtomicUsize,
    stopped: AtomicBool,
    failed: Mutex<Vec<(usize, Failed)>>,
    broken: Mutex<Option<Failure>>,
}

impl WorkQueue<'_> {
    fn work(&self) {
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = self.missing.get(place).filter(|_| !self.cancelled()) else { return };
            match point.run(self) {
                Ok(bytes) => self.keep(point, &bytes),
                Err(PointFailure::Failed(failed)) => {
                    self.failed.lock().expect("no worker panics").push((place, *failed));
                }
                Err(PointFailure::Interrupted) => {}
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.watch.progress(done as f64 / self.missing.len() as f64);
        }
    }

    /// A folder that takes no more ends the sweep.
    fn keep(&self, point: &Point, bytes: &[u8]) {
        if let Err(failure) = self.folder.keep(point, bytes) {
            *self.broken.lock().expect("no worker panics") = Some(failure);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// What a point's run sees: no progress of its own, and the interrupt flag.
impl Watch for WorkQueue<'_> {
    fn progress(&self, _done: f64) {}

    fn cancelled(&self) -> bool {
        if self.watch.cancelled() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }
}
