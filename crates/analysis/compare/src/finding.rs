//! A policy's traces with the ideal of each.

use std::collections::{BTreeMap, BTreeSet};

use explain::Slow;
use model::scenario::{Kind, Program};
use model::{Nanos, Scenario, Trace};
use stats::window_latencies;

use crate::chained;
use crate::execute::RunOutputs;
use crate::plan::{Plan, Run};

/// The runs of one policy and what an ideal queue would have made of their requests.
pub(crate) struct Finding<'a> {
    /// One trace a seed, in the order of the seeds.
    pub traces: Vec<&'a Trace>,
    /// By program, then by run: latencies of the window's requests; empty for programs without requests.
    pub latencies: Vec<Vec<Vec<Nanos>>>,
    /// The same of the ideal.
    pub ideals: Vec<Vec<Vec<Nanos>>>,
    /// By run, then by program: where the time of slow requests went; empty without events.
    pub slow: Vec<&'a [Option<Slow>]>,
}

impl<'a> Finding<'a> {
    /// Looks at the runs of one policy, each a trace and what it says of slow requests.
    pub fn new(scenario: &Scenario, runs: &[(&'a Trace, &'a [Option<Slow>])]) -> Finding<'a> {
        let (traces, slow): (Vec<&Trace>, Vec<_>) = runs.iter().copied().unzip();
        // All programs at once: the scenario's changes are looked through for it.
        let workers: Vec<Vec<Option<u32>>> =
            traces.iter().map(|trace| workers(scenario, trace.window.start)).collect();
        let chained: Vec<BTreeMap<usize, Vec<Nanos>>> =
            traces.iter().map(|trace| chained::ideals(scenario, trace)).collect();
        let in_chains: BTreeSet<usize> =
            scenario.chains().into_iter().flat_map(|chain| chain.0).collect();
        let by_run = |of: &dyn Fn(usize, usize) -> Vec<Nanos>| {
            let of_program = |program| (0..traces.len()).map(|run| of(run, program)).collect();
            (0..scenario.programs.len()).map(of_program).collect()
        };
        Finding {
            latencies: by_run(&|run, program| window_latencies(traces[run], program)),
            ideals: by_run(&|run, program| {
                if in_chains.contains(&program) {
                    return chained[run].get(&program).cloned().unwrap_or_default();
                }
                ideal_latencies(traces[run], program, workers[run][program])
            }),
            traces,
            slow,
        }
    }

    /// One of its runs alone.
    pub fn of_run(&self, run: usize) -> Finding<'a> {
        let only = |of: &[Vec<Vec<Nanos>>]| of.iter().map(|runs| vec![runs[run].clone()]).collect();
        Finding {
            traces: vec![self.traces[run]],
            latencies: only(&self.latencies),
            ideals: only(&self.ideals),
            slow: vec![self.slow[run]],
        }
    }
}

/// The runs of one policy, in the order of the seeds.
pub(crate) fn outputs_of<'a>(
    plan: &Plan,
    runs: &[Run],
    outputs: &'a RunOutputs,
    policy: usize,
    twin: bool,
) -> Vec<(&'a Trace, &'a [Option<Slow>])> {
    let own = runs.iter().enumerate().filter(|(_, run)| (run.policy, run.twin) == (policy, twin));
    let place_of: BTreeMap<u64, usize> = own.map(|(place, run)| (run.seed, place)).collect();
    let places = plan.seeds.iter().filter_map(|seed| place_of.get(seed));
    places.map(|&place| (&outputs.traces[place], &outputs.slow[place][..])).collect()
}

/// Workers of each service's ideal at a moment: the CPUs that it may use, all of them, as if nothing else
/// ran; a service with fewer threads can use no more. None for other programs.
fn workers(scenario: &Scenario, moment: Nanos) -> Vec<Option<u32>> {
    let usable = scenario.usable_cpus(moment);
    let of = |(program, cpus): (&Program, u32)| match &program.kind {
        Kind::Service(service) => Some(cpus.min(service.threads()).min(service.connections)),
        _ => None,
    };
    scenario.programs.iter().zip(usable).map(of).collect()
}

/// The latencies of the window's requests in a first come, first served queue with the run's own arrivals and
/// service times (Tales section 3.2), which the warm-up's requests filled before.
fn ideal_latencies(trace: &Trace, program: usize, workers: Option<u32>) -> Vec<Nanos> {
    let Some(workers) = workers else { return Vec::new() };
    let requests = &trace.programs[program].requests;
    let all = queue::ideal_latencies(trace, program, workers);
    let inside = requests.iter().map(|request| trace.window.contains(request.intended));
    all.into_iter().zip(inside).filter_map(|(latency, inside)| inside.then_some(latency)).collect()
}
