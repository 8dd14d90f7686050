//! A policy's traces with the ideal of each.

use model::scenario::Kind;
use model::{Nanos, Scenario, Trace};
use queue::{Discipline, ideal};
use stats::window_latencies;

use crate::plan::{Plan, Run};

/// The runs of one policy and what an ideal queue would have made of their requests.
pub(crate) struct Finding<'a> {
    /// One trace a seed, in the order of the seeds.
    pub traces: Vec<&'a Trace>,
    /// By program, then by run: latencies of the window's requests; empty for programs without requests.
    pub latencies: Vec<Vec<Vec<Nanos>>>,
    /// The same of the ideal.
    pub ideals: Vec<Vec<Vec<Nanos>>>,
}

impl<'a> Finding<'a> {
    /// Looks at the traces of one policy.
    pub fn new(scenario: &Scenario, traces: &[&'a Trace]) -> Finding<'a> {
        let programs = 0..scenario.programs.len();
        let by_run = |of: &dyn Fn(&Trace, usize) -> Vec<Nanos>| {
            let of_program = |program| traces.iter().map(|trace| of(trace, program)).collect();
            programs.clone().map(of_program).collect()
        };
        Finding {
            traces: traces.to_vec(),
            latencies: by_run(&window_latencies),
            ideals: by_run(&|trace, program| ideal_latencies(scenario, trace, program)),
        }
    }

    /// One of its runs alone.
    pub fn of_run(&self, run: usize) -> Finding<'a> {
        let only = |of: &[Vec<Vec<Nanos>>]| of.iter().map(|runs| vec![runs[run].clone()]).collect();
        Finding {
            traces: vec![self.traces[run]],
            latencies: only(&self.latencies),
            ideals: only(&self.ideals),
        }
    }
}

/// The traces of one policy, in the order of the seeds.
pub(crate) fn chosen<'a>(
    plan: &Plan,
    runs: &[Run],
    traces: &'a [Trace],
    policy: usize,
    twin: bool,
) -> Vec<&'a Trace> {
    let wanted = |seed: &u64| runs.iter().position(|run| *run == Run { policy, twin, seed: *seed });
    plan.seeds.iter().filter_map(wanted).map(|index| &traces[index]).collect()
}

/// The latencies of the window's requests in a first come, first served queue with the run's own arrivals and service times
/// (Tales section 3.2), which the warm-up's requests filled before.
///
/// Its workers are the CPUs, all of them, as if nothing else ran; a service with fewer threads can use no more.
fn ideal_latencies(scenario: &Scenario, trace: &Trace, program: usize) -> Vec<Nanos> {
    let Kind::Service(service) = &scenario.programs[program].kind else { return Vec::new() };
    let requests = &trace.programs[program].requests;
    let asked: Vec<(Nanos, Nanos)> = requests.iter().map(|r| (r.intended, r.service)).collect();
    let workers = scenario.machine.cpus.min(service.threads()).min(service.connections);
    let all = ideal(&asked, workers, Discipline::Fifo, trace.seed);
    let inside = requests.iter().map(|request| trace.window.contains(request.intended));
    all.into_iter().zip(inside).filter_map(|(latency, inside)| inside.then_some(latency)).collect()
}
