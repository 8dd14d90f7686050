//! Making the runs: one after the other on real CPUs, on all cores in simulation and in guests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use explain::{Setting, Slow, slow_sources};
use model::{Arm, Events, Failure, PolicySpec, Trace, Watch};

use crate::batch::{Batch, batches};
use crate::plan::{Plan, Run};
use crate::trace_sink::TraceSink;

/// How often a run that fails its own checks is repeated where real CPUs are measured. On a shared machine a
/// disturbed generator is common, and such a run has measured nothing; where it fails a third time the
/// machine is too busy.
const REPEATS: usize = 2;

/// What was run.
#[derive(Default)]
pub(crate) struct RunOutputs {
    /// One trace a run, in the order of the runs, whatever order they ended in.
    pub traces: Vec<Trace>,
    /// For each of them, by program, where the time of slow requests went; empty without events.
    pub slow: Vec<Vec<Option<Slow>>>,
    /// Runs that failed their own checks and were repeated: which, and why.
    pub discarded: Vec<String>,
}

impl RunOutputs {
    /// Adds those of the runs that follow.
    pub fn extend(&mut self, later: RunOutputs) {
        self.traces.extend(later.traces);
        self.slow.extend(later.slow);
        self.discarded.extend(later.discarded);
    }
}

/// Makes every run. The first failure stops the others and is the answer.
pub(crate) fn execute(
    plan: &Plan,
    runs: &[Run],
    arm: &dyn Arm,
    watch: &dyn Watch,
    sink: &dyn TraceSink,
) -> Result<RunOutputs, Failure> {
    let cores = || thread::available_parallelism().map_or(1, |n| n.get());
    let workers = if arm.exclusive() { 1 } else { plan.jobs.unwrap_or_else(cores) };
    // Events of several runs at once could be more than the arm has memory for.
    let shared = arm.shares_preparation() && plan.events == Events::Omitted;
    let batches = batches(runs, shared, workers);
    let queue = WorkQueue::new(runs.len(), batches.len(), watch, sink);
    thread::scope(|scope| {
        for _ in 0..workers.min(batches.len()) {
            scope.spawn(|| queue.work(plan, runs, &batches, arm));
        }
    });
    queue.into_made()
}

/// A run without its events, and what they said of slow requests, by program.
type RunOutput = (Trace, Vec<Option<Slow>>);

/// How much is done of each batch, and of all together.
struct Done {
    of: Vec<f64>,
    sum: f64,
}

/// What the workers share.
struct WorkQueue<'a> {
    watch: &'a dyn Watch,
    sink: &'a dyn TraceSink,
    next: AtomicUsize,
    failed: AtomicBool,
    done: Mutex<Done>,
    kept: Mutex<Vec<Option<RunOutput>>>,
    failures: Mutex<Vec<Failure>>,
    discarded: Mutex<Vec<String>>,
}

impl<'a> WorkQueue<'a> {
    fn new(
        runs: usize,
        batches: usize,
        watch: &'a dyn Watch,
        sink: &'a dyn TraceSink,
    ) -> WorkQueue<'a> {
        WorkQueue {
            watch,
            sink,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            done: Mutex::new(Done { of: vec![0.0; batches], sum: 0.0 }),
            kept: Mutex::new((0..runs).map(|_| None).collect()),
            failures: Mutex::default(),
            discarded: Mutex::default(),
        }
    }

    fn work(&self, plan: &Plan, runs: &[Run], batches: &[Batch], arm: &dyn Arm) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(batch) = batches.get(index).filter(|_| !self.failed.load(Ordering::Relaxed))
            else {
                return;
            };
            // A short run ends before it looks.
            if self.watch.cancelled() {
                self.failures.lock().expect("no worker panics").push(Failure::Interrupted);
                return;
            }
            let progress = BatchProgress { queue: self, index };
            let outputs = self.run(plan, batch, arm, &progress);
            if let Err(failure) =
                outputs.and_then(|traces| self.keep_all(plan, runs, batch, traces))
            {
                self.failed.store(true, Ordering::Relaxed);
                self.failures.lock().expect("no worker panics").push(failure);
            }
            progress.progress(1.0);
        }
    }

    fn run(
        &self,
        plan: &Plan,
        batch: &Batch,
        arm: &dyn Arm,
        progress: &BatchProgress,
    ) -> Result<Vec<Trace>, Failure> {
        let policy = &plan.policies[batch.policy];
        let mut repeats = if arm.exclusive() { REPEATS } else { 0 };
        loop {
            match arm.run_seeds(plan.scenario, policy, &batch.seeds, plan.events, progress) {
                Err(Failure::Run(reason)) if repeats > 0 => {
                    repeats -= 1;
                    let discarded = format!("{policy}, seed {}: {reason}", batch.seeds[0]);
                    self.discarded.lock().expect("no worker panics").push(discarded);
                }
                Err(Failure::Run(reason)) => {
                    return Err(self.named(policy, batch.seeds[0], reason));
                }
                outcome => return outcome,
            }
        }
    }

    fn keep_all(
        &self,
        plan: &Plan,
        runs: &[Run],
        batch: &Batch,
        outputs: Vec<Trace>,
    ) -> Result<(), Failure> {
        for (&place, trace) in batch.places.iter().zip(outputs) {
            let slow = slow_sources(&trace, &Setting::of(plan.scenario).with(&trace.tables));
            let kept = (self.keep(&runs[place], trace)?, slow);
            self.kept.lock().expect("no worker panics")[place] = Some(kept);
        }
        Ok(())
    }

    /// There are many events, and what they say of slow requests has been taken from them.
    fn keep(&self, run: &Run, trace: Trace) -> Result<Trace, Failure> {
        if !run.twin {
            self.sink.keep(&trace)?;
        }
        Ok(trace.without_events())
    }

    /// A failed run with the command that repeats it.
    fn named(&self, policy: &PolicySpec, seed: u64, reason: String) -> Failure {
        Failure::Run(match self.sink.replay(policy, seed) {
            Some(command) => {
                format!("{policy}, seed {seed}: {reason}\nto make this run again: {command}")
            }
            None => reason,
        })
    }

    fn into_made(self) -> Result<RunOutputs, Failure> {
        let failures = self.failures.into_inner().expect("no worker panics").into_iter();
        // A run that another's failure stopped reports an interruption: name the cause, not that.
        if let Some(cause) = failures.min_by_key(|failure| *failure == Failure::Interrupted) {
            return Err(cause);
        }
        let traces = self.kept.into_inner().expect("no worker panics").into_iter().flatten();
        let (traces, slow) = traces.unzip();
        Ok(RunOutputs {
            traces,
            slow,
            discarded: self.discarded.into_inner().expect("no worker panics"),
        })
    }
}

/// One batch's part of the whole progress.
struct BatchProgress<'a> {
    queue: &'a WorkQueue<'a>,
    index: usize,
}

impl Watch for BatchProgress<'_> {
    fn progress(&self, done: f64) {
        let mut all = self.queue.done.lock().expect("no worker panics");
        let before = std::mem::replace(&mut all.of[self.index], done);
        all.sum += done - before;
        self.queue.watch.progress(all.sum / all.of.len() as f64);
    }

    fn cancelled(&self) -> bool {
        self.queue.failed.load(Ordering::Relaxed) || self.queue.watch.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use model::trace::{ProgramTrace, Window};
    use model::{Nanos, PolicySpec, Scenario, Silent};

    use super::*;

    /// Fails its own checks `failures` times.
    struct Disturbed {
        failures: usize,
        exclusive: bool,
        runs: AtomicUsize,
    }

    impl Arm for Disturbed {
        fn name(&self) -> &'static str {
            "test"
        }
        fn machine(&self) -> String {
            String::new()
        }
        fn exclusive(&self) -> bool {
            self.exclusive
        }
        fn check(&self, _: &Scenario, _: &PolicySpec) -> Result<(), Failure> {
            Ok(())
        }
        fn run(
            &self,
            scenario: &Scenario,
            policy: &PolicySpec,
            seed: u64,
            _: Events,
            _: &dyn Watch,
        ) -> Result<Trace, Failure> {
            if self.runs.fetch_add(1, Ordering::Relaxed) < self.failures {
                return Err(Failure::Run("disturbed".to_string()));
            }
            Ok(Trace {
                policy: policy.to_string(),
                seed,
                window: Window { start: Nanos::ZERO, end: scenario.duration },
                programs: vec![ProgramTrace::default(); scenario.programs.len()],
                ..Trace::default()
            })
        }
    }

    /// Knows the command of every run.
    struct Knowing;

    impl TraceSink for Knowing {
        fn keep(&self, _: &Trace) -> Result<(), Failure> {
            Ok(())
        }
        fn replay(&self, policy: &PolicySpec, seed: u64) -> Option<String> {
            Some(format!("again {policy} {seed}"))
        }
    }

    fn discarded(failures: usize, exclusive: bool) -> Result<usize, Failure> {
        outcome(failures, exclusive, &())
    }

    fn outcome(failures: usize, exclusive: bool, sink: &dyn TraceSink) -> Result<usize, Failure> {
        let text = "# A.\nduration = \"1ms\"\n[machine]\ncpus = 1\n\
                    [[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 1\n";
        let scenario = Scenario::read(text, "test.toml").unwrap();
        let policies = vec![PolicySpec::plain("cfs")];
        let plan = Plan {
            scenario: &scenario,
            policies,
            seeds: vec![1],
            jobs: None,
            events: Events::Omitted,
        };
        let arm = Disturbed { failures, exclusive, runs: AtomicUsize::new(0) };
        execute(&plan, &plan.runs(0..1), &arm, &Silent, sink).map(|outputs| outputs.discarded.len())
    }

    #[test]
    fn a_disturbed_run_is_repeated_twice_and_only_on_real_cpus() {
        assert_eq!(discarded(0, true), Ok(0));
        assert_eq!(discarded(2, true), Ok(2));
        assert_eq!(discarded(3, true), Err(Failure::Run("disturbed".to_string())));
        assert_eq!(discarded(1, false), Err(Failure::Run("disturbed".to_string())));
    }

    #[test]
    fn a_failed_run_names_the_command_that_makes_it_again() {
        let message = "cfs, seed 1: disturbed\nto make this run again: again cfs 1";
        assert_eq!(outcome(1, false, &Knowing), Err(Failure::Run(message.to_string())));
    }
}
