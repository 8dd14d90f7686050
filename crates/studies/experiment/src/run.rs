//! The runner: what a plan lacks is run in threads of this process, and kept as it ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use model::{Arm, Events, Failure, PolicySpec, Watch};
use serde::Serialize;
use serde_json::{Value, json};

use crate::point::{Work, kept_alone};
use crate::{Failed, Point, PointFailure, SWEEP_SCHEMA, Store, command};

/// How an experiment is run.
pub struct Runner<'a> {
    /// Where scenarios run.
    pub arm: &'a dyn Arm,
    /// Where results are kept.
    pub store: &'a Store,
    /// Rows at a time, where the arm allows more than one.
    pub jobs: usize,
    /// When nothing more is begun.
    pub until: Option<Instant>,
}

/// How it went.
#[derive(Debug, Serialize)]
pub struct Swept {
    /// [`SWEEP_SCHEMA`].
    pub schema: &'static str,
    /// Points of the plan.
    pub points: usize,
    /// Of these, finished before.
    pub reused: usize,
    /// Not begun: the time was over.
    pub left: usize,
    /// Those that failed, in the plan's order.
    pub failed: Vec<Failed>,
    /// What finished points found, as far as that is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Value>,
}

/// Finished points: where each stands in the plan, and what it found.
pub fn found(points: &[Point], store: &Store) -> Vec<Value> {
    let of = |point: &Point| -> Option<Value> {
        let result: Value = serde_json::from_str(&store.get(&point.id)?).ok()?;
        let Point { id, grid, policy, seeds, .. } = point;
        Some(json!({ "id": id, "grid": grid, "policy": policy, "seeds": seeds, "result": result }))
    };
    points.iter().filter_map(of).collect()
}

impl Runner<'_> {
    /// Runs the points that have no result yet. Those that fail do not stop the others.
    pub fn run(&self, points: &[Point], watch: &dyn Watch) -> Result<Swept, Failure> {
        let missing: Vec<&Point> =
            points.iter().filter(|point| self.store.get(&point.id).is_none()).collect();
        let queue = WorkQueue {
            runner: self,
            watch,
            rows: rows(&missing, self.arm.shares_preparation()),
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            failed: Mutex::default(),
            broken: Mutex::default(),
        };
        let jobs = if self.arm.exclusive() { 1 } else { self.jobs };
        thread::scope(|scope| {
            (0..jobs.clamp(1, missing.len().max(1)))
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
        Ok(Swept {
            schema: SWEEP_SCHEMA,
            points: points.len(),
            reused: points.len() - missing.len(),
            left: queue.left.into_inner(),
            failed: failed.into_iter().map(|(_, failed)| failed).collect(),
            results: Vec::new(),
        })
    }
}

/// Points that are run together: neighbours that differ by their only seed, where they share a preparation.
fn rows<'a>(missing: &[&'a Point], shares_preparation: bool) -> Vec<Vec<&'a Point>> {
    let together = |a: &&Point, b: &&Point| {
        let shared = shares_preparation || matches!(a.work, Work::Command(_));
        shared && a.row == b.row && a.seeds.len() == 1 && b.seeds.len() == 1
    };
    missing.chunk_by(together).map(<[_]>::to_vec).collect()
}

/// What the workers share.
struct WorkQueue<'a> {
    runner: &'a Runner<'a>,
    watch: &'a dyn Watch,
    rows: Vec<Vec<&'a Point>>,
    next: AtomicUsize,
    done: AtomicUsize,
    left: AtomicUsize,
    stopped: AtomicBool,
    failed: Mutex<Vec<(usize, Failed)>>,
    broken: Mutex<Option<Failure>>,
}

impl WorkQueue<'_> {
    fn work(&self) {
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(row) = self.rows.get(place).filter(|_| !self.cancelled()) else { return };
            if self.runner.until.is_some_and(|end| Instant::now() >= end) {
                self.left.fetch_add(row.len(), Ordering::Relaxed);
                continue;
            }
            for (point, outcome) in row.iter().zip(self.run(row)) {
                match outcome {
                    Ok(result) => self.keep(point, &result),
                    Err(PointFailure::Failed(failed)) => {
                        self.failed.lock().expect("no worker panics").push((place, *failed));
                    }
                    Err(PointFailure::Interrupted) => {}
                }
            }
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.watch.progress(done as f64 / self.rows.len() as f64);
        }
    }

    /// An outcome for each point of a row.
    fn run(&self, row: &[&Point]) -> Vec<Result<String, PointFailure>> {
        let arm = self.runner.arm;
        match (&row[0].work, row) {
            (Work::Scenario { .. }, [point]) => vec![point.run(arm, self)],
            (Work::Scenario { .. }, _) => {
                let all = self.run_together(row);
                each(row, all, |point, failure| point.told(failure, arm, None))
            }
            (Work::Command(words), _) => {
                let seeds: Vec<u64> = row.iter().map(|point| point.seeds[0]).collect();
                let (found, why) = command::run(words, &seeds, self);
                let found = found.into_iter().zip(row);
                found.map(|(one, point)| one.ok_or_else(|| point.told(&why, arm, None))).collect()
            }
        }
    }

    fn run_together(&self, row: &[&Point]) -> Result<Vec<String>, Failure> {
        let Work::Scenario { scenario, curves } = &row[0].work else { return Ok(Vec::new()) };
        let policy = PolicySpec::parse(&row[0].policy)?;
        let seeds: Vec<u64> = row.iter().map(|point| point.seeds[0]).collect();
        self.runner.arm.check(scenario, &policy)?;
        let traces = self.runner.arm.run_seeds(scenario, &policy, &seeds, Events::Omitted, self)?;
        Ok(traces.iter().map(|trace| kept_alone(scenario, trace, *curves)).collect())
    }

    /// A store that takes no more ends everything.
    fn keep(&self, point: &Point, result: &str) {
        if let Err(failure) = self.runner.store.put(&point.id, result) {
            *self.broken.lock().expect("no worker panics") = Some(failure);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }
}

/// What a row came to, point by point: a failure is every point's.
fn each(
    row: &[&Point],
    all: Result<Vec<String>, Failure>,
    told: impl Fn(&Point, &Failure) -> PointFailure,
) -> Vec<Result<String, PointFailure>> {
    match all {
        Ok(results) => results.into_iter().map(Ok).collect(),
        Err(failure) => row.iter().map(|point| Err(told(point, &failure))).collect(),
    }
}

/// What a row's run is told: no progress of its own, and whether it shall stop.
impl Watch for WorkQueue<'_> {
    fn progress(&self, _done: f64) {}

    fn cancelled(&self) -> bool {
        if self.watch.cancelled() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped.load(Ordering::Relaxed)
    }
}
