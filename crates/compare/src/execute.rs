//! Making the runs: one after the other on real CPUs, on all cores in simulation.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use model::{Arm, Failure, Trace, Watch};

use crate::plan::{Plan, Run};

/// Makes every run; the traces come back in the order of `runs`, whatever order they ended in.
///
/// The first failure stops the others and is the answer.
pub(crate) fn execute(
    plan: &Plan,
    runs: &[Run],
    arm: &dyn Arm,
    watch: &dyn Watch,
) -> Result<Vec<Trace>, Failure> {
    let workers =
        if arm.exclusive() { 1 } else { thread::available_parallelism().map_or(1, |n| n.get()) };
    let board = Board::new(runs.len(), watch);
    thread::scope(|scope| {
        for _ in 0..workers.min(runs.len()) {
            scope.spawn(|| board.work(plan, runs, arm));
        }
    });
    board.into_traces()
}

/// What the workers share.
struct Board<'a> {
    watch: &'a dyn Watch,
    next: AtomicUsize,
    failed: AtomicBool,
    done: Mutex<Vec<f64>>,
    outcomes: Mutex<Vec<Option<Result<Trace, Failure>>>>,
}

impl Board<'_> {
    fn new(runs: usize, watch: &dyn Watch) -> Board<'_> {
        Board {
            watch,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            done: Mutex::new(vec![0.0; runs]),
            outcomes: Mutex::new((0..runs).map(|_| None).collect()),
        }
    }

    fn work(&self, plan: &Plan, runs: &[Run], arm: &dyn Arm) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(index).filter(|_| !self.failed.load(Ordering::Relaxed)) else {
                return;
            };
            let share = Share { board: self, index };
            let outcome = arm.run(plan.scenario, &plan.policies[run.policy], run.seed, &share);
            self.failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            share.progress(1.0);
            self.outcomes.lock().expect("no worker panics")[index] = Some(outcome);
        }
    }

    fn into_traces(self) -> Result<Vec<Trace>, Failure> {
        let made: Vec<_> =
            self.outcomes.into_inner().expect("no worker panics").into_iter().flatten().collect();
        let failures = made.iter().filter_map(|outcome| outcome.as_ref().err());
        // A run that another's failure stopped reports an interruption: name the cause, not that.
        match failures.min_by_key(|failure| **failure == Failure::Interrupted) {
            Some(cause) => Err(cause.clone()),
            None => made.into_iter().collect(),
        }
    }
}

/// One run's part of the whole progress.
struct Share<'a> {
    board: &'a Board<'a>,
    index: usize,
}

impl Watch for Share<'_> {
    fn progress(&self, done: f64) {
        let mut all = self.board.done.lock().expect("no worker panics");
        all[self.index] = done;
        self.board.watch.progress(all.iter().sum::<f64>() / all.len() as f64);
    }

    fn cancelled(&self) -> bool {
        self.board.failed.load(Ordering::Relaxed) || self.board.watch.cancelled()
    }
}
