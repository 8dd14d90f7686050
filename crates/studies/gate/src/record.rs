//! Runs of one policy, as a base holds them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use compare::{Plan, TraceSink, first_seeds, run_with_sink};
use model::scenario::Kind;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Trace, Watch};
use report::ROUND;
use report::document::{GroupResult, PolicyResult};
use stats::window_latencies;

use crate::base::{Measure, Recorded, Service};

/// Shares of the machine, and inversions a request: less than this apart is nothing.
const LEAST_SHARE: f64 = 0.001;
/// The same of lag.
const LEAST_LAG_S: f64 = 0.001;

/// What a scenario is read from.
pub struct Source {
    /// For messages.
    pub name: String,
    /// A scenario (TOML).
    pub text: String,
}

/// Makes runs.
pub struct Runner<'a> {
    /// Where.
    pub arm: &'a dyn Arm,
    /// Of what.
    pub policy: &'a PolicySpec,
    /// Runs at a time where they do not disturb each other; `None`: one a core.
    pub jobs: Option<usize>,
}

impl Runner<'_> {
    /// So many seeds of a scenario (`None`: its own).
    pub fn record(
        &self,
        source: &Source,
        count: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Recorded, Failure> {
        let scenario = Scenario::read(&source.text, &source.name)?;
        let seeds = first_seeds(&scenario, count.unwrap_or(scenario.seeds.len()));
        self.run(&scenario, source, seeds, watch)
    }

    /// The same runs as those of a base.
    pub fn again(&self, base: &Recorded, watch: &dyn Watch) -> Result<Recorded, Failure> {
        self.runs(&base.source(), base.seeds.clone(), watch)
    }

    /// Runs of some seeds.
    pub fn runs(
        &self,
        source: &Source,
        seeds: Vec<u64>,
        watch: &dyn Watch,
    ) -> Result<Recorded, Failure> {
        self.run(&Scenario::read(&source.text, &source.name)?, source, seeds, watch)
    }

    fn run(
        &self,
        scenario: &Scenario,
        source: &Source,
        seeds: Vec<u64>,
        watch: &dyn Watch,
    ) -> Result<Recorded, Failure> {
        let plan = Plan {
            scenario,
            policies: vec![self.policy.clone()],
            seeds: seeds.clone(),
            jobs: self.jobs,
            events: Events::Omitted,
        };
        let kept = Latencies(Mutex::default());
        let document = run_with_sink(&plan, self.arm, watch, &kept)?;
        let by_seed = kept.0.into_inner().expect("no worker panics");
        let runs: Vec<&PolicyResult> =
            document.results.iter().filter(|result| result.seed.is_some()).collect();
        Ok(Recorded {
            name: source.name.clone(),
            text: source.text.clone(),
            services: services(scenario, &seeds, &by_seed),
            measures: measures(scenario, &runs),
            seeds,
        })
    }
}

/// Latencies by seed, then by program.
struct Latencies(Mutex<BTreeMap<u64, Vec<Vec<Nanos>>>>);

impl TraceSink for Latencies {
    fn keep(&self, trace: &Trace) -> Result<(), Failure> {
        let programs = 0..trace.programs.len();
        let latencies = programs.map(|program| window_latencies(trace, program)).collect();
        self.0.lock().expect("no worker panics").insert(trace.seed, latencies);
        Ok(())
    }

    fn replay(&self, _policy: &PolicySpec, _seed: u64) -> Option<String> {
        None
    }
}

fn services(
    scenario: &Scenario,
    seeds: &[u64],
    by_seed: &BTreeMap<u64, Vec<Vec<Nanos>>>,
) -> Vec<Service> {
    let programs = scenario.programs.iter().enumerate();
    let of_seed = |seed: &u64, program: usize| -> Vec<Option<u64>> {
        let latencies = by_seed[seed][program].iter();
        latencies.map(|latency| Some(latency.0).filter(|_| *latency != Nanos::NEVER)).collect()
    };
    programs
        .filter(|(_, program)| matches!(program.kind, Kind::Service(_)))
        .map(|(i, program)| Service {
            program: program.name.clone(),
            latencies_ns: seeds.iter().map(|seed| of_seed(seed, i)).collect(),
        })
        .collect()
}

/// What is one number a run, where every run has it.
fn measures(scenario: &Scenario, runs: &[&PolicyResult]) -> Vec<Measure> {
    let measure = |program, figure: &str, floor, of: &dyn Fn(&PolicyResult) -> Option<f64>| {
        let runs: Option<Vec<f64>> = runs.iter().map(|run| of(run)).collect();
        Some(Measure { program, figure: figure.to_string(), floor, runs: runs? })
    };
    let inversions = scenario.programs.iter().enumerate().filter_map(|(i, program)| {
        let of = |run: &PolicyResult| run.programs[i].inversions_per_request;
        measure(Some(program.name.clone()), "inversions_per_request", LEAST_SHARE, &of)
    });
    let rounds = scenario.programs.iter().enumerate().filter_map(|(i, program)| {
        measure(Some(program.name.clone()), ROUND, 0.0, &|run| run.programs[i].round_ns?.value)
    });
    let mut all: Vec<Measure> = inversions.chain(rounds).collect();
    let wants_all = scenario.programs.iter().any(|p| matches!(p.kind, Kind::Batch { .. }));
    // Without batch work idle CPUs are none of the scheduler's doing.
    if wants_all {
        all.extend(measure(None, "idle_share", LEAST_SHARE, &|run| run.idle_share));
        all.extend(measure(None, "lag_s", LEAST_LAG_S, &greatest_lag));
        all.extend(measure(None, "share_error", LEAST_SHARE, &share_error));
    }
    all
}

fn greatest_lag(run: &PolicyResult) -> Option<f64> {
    Some(run.threads_lag_s.min?.abs().max(run.threads_lag_s.max?.abs()))
}

/// By how much the group that is furthest from what is due misses it.
fn share_error(run: &PolicyResult) -> Option<f64> {
    let error = |group: &GroupResult| Some((group.share? - group.due_share?).abs());
    run.groups.iter().map(error).try_fold(0.0, |worst: f64, error| Some(worst.max(error?)))
}
