//! A policy's traces with the ideal of each.

use explain::Slow;
use model::scenario::Kind;
use model::{Nanos, Scenario, Trace};
use stats::window_latencies;

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
        let programs = 0..scenario.programs.len();
        let by_run = |of: &dyn Fn(&Trace, usize) -> Vec<Nanos>| {
            let of_program = |program| traces.iter().map(|trace| of(trace, program)).collect();
            programs.clone().map(of_program).collect()
        };
        Finding {
            latencies: by_run(&window_latencies),
            ideals: by_run(&|trace, program| ideal_latencies(scenario, trace, program)),
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
    let wanted = |seed: &u64| runs.iter().position(|run| *run == Run { policy, twin, seed: *seed });
    let places = plan.seeds.iter().filter_map(wanted);
    places.map(|place| (&outputs.traces[place], &outputs.slow[place][..])).collect()
}

/// Workers of a service's ideal at a moment: the CPUs that it may use, all of them, as if nothing else ran; a
/// service with fewer threads can use no more. None for other programs.
pub fn workers(scenario: &Scenario, program: usize, moment: Nanos) -> Option<u32> {
    let Kind::Service(service) = &scenario.programs[program].kind else { return None };
    let cpus = scenario.usable_cpus(program, moment);
    Some(cpus.min(service.threads()).min(service.connections))
}

/// The latencies of the window's requests in a first come, first served queue with the run's own arrivals and
/// service times (Tales section 3.2), which the warm-up's requests filled before.
fn ideal_latencies(scenario: &Scenario, trace: &Trace, program: usize) -> Vec<Nanos> {
    let Some(workers) = workers(scenario, program, trace.window.start) else { return Vec::new() };
    let requests = &trace.programs[program].requests;
    let all = queue::ideal_latencies(trace, program, workers);
    let inside = requests.iter().map(|request| trace.window.contains(request.intended));
    all.into_iter().zip(inside).filter_map(|(latency, inside)| inside.then_some(latency)).collect()
}
