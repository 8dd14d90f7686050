//! Scenarios built by hand, and runs of them.
#![allow(dead_code)]

use model::law::Law;
use model::scenario::{
    Architecture, Arrivals, Kind, Machine, Mechanisms, Program, Scenario, Service,
};
use model::{Nanos, Silent, Trace};
use sim::Setup;
use sim::class::Class;
use sim::class::rt::{self, Rt};
use sim::costs::Costs;

/// Programs on so many CPUs for 10 s after 1 s of warm-up.
pub fn scenario(cpus: u32, programs: Vec<(&str, Kind)>) -> Scenario {
    let program = |(name, kind): (&str, Kind)| Program::new(name, kind);
    Scenario {
        name: "test".to_string(),
        shows: String::new(),
        machine: Machine { cpus, ..Machine::ONE_CPU },
        groups: Vec::new(),
        programs: programs.into_iter().map(program).collect(),
        duration: Nanos::from_secs(10),
        warm_up: Nanos::from_secs(1),
        seeds: vec![1],
        outlier_threshold: Nanos::from_millis(10),
        slice: None,
        mechanisms: Mechanisms::default(),
        alterations: Vec::new(),
    }
}

/// A null RPC service with Poisson arrivals and 64 connections.
pub fn service(service_us: u64, utilisation: f64) -> Service {
    Service {
        architecture: Architecture::ThreadPerConnection,
        connections: 64,
        request_bytes: 128,
        response_bytes: 128,
        service_law: Law::Fixed,
        service_time: Nanos::from_micros(service_us),
        arrival_law: Law::Exponential,
        arrivals: Arrivals::Utilisation(utilisation),
    }
}

/// What a run of `scenario` needs, seed 1, services under the default class.
pub fn setup(scenario: &Scenario) -> Setup<'_> {
    Setup {
        scenario,
        policy: "test",
        kernel: "modelled",
        seed: 1,
        realtime: None,
        costs: Costs::DEFAULT,
        watch: &Silent,
    }
}

/// A run with everything under one class.
pub fn run_under<C: Class>(scenario: &Scenario, class: C) -> Trace {
    sim::simulate(&setup(scenario), class).expect("the run succeeds")
}

/// A run with services under SCHED_FIFO or SCHED_RR and the rest sharing CPUs in slices of 100 ms.
pub fn run_realtime(scenario: &Scenario, kind: rt::Kind, costs: Costs) -> Trace {
    let setup = Setup { realtime: Some(kind), costs, ..setup(scenario) };
    sim::simulate(&setup, below(scenario)).expect("the run succeeds")
}

/// A simple class for the threads that no test looks at.
pub fn below(scenario: &Scenario) -> Rt {
    Rt::new(rt::Kind::RoundRobin, &scenario.machine)
}

/// The share of all CPUs that a program had in the window.
pub fn share(trace: &Trace, program: usize) -> f64 {
    cpu_time(trace, program).as_secs_f64() / trace.window.span().as_secs_f64()
}

/// The CPU time of a program in the window.
pub fn cpu_time(trace: &Trace, program: usize) -> Nanos {
    let (first, last) = (&trace.usage[0].cpu_time, &trace.usage.last().unwrap().cpu_time);
    let threads = trace.threads.iter().enumerate().filter(|(_, t)| t.program == program);
    threads.fold(Nanos::ZERO, |sum, (index, _)| sum + (last[index] - first[index]))
}

/// Measured latencies of the first program and those of the ideal queue for the same requests, both rising.
pub struct Tails {
    measured: Vec<Nanos>,
    ideal: Vec<Nanos>,
}

/// Those of a trace.
pub fn tails(scenario: &Scenario, trace: &Trace) -> Tails {
    let requests = &trace.programs[0].requests;
    let ideal = queue::ideal_latencies(trace, 0, scenario.machine.cpus);
    let counted = |&(r, _): &(&model::trace::Request, Nanos)| trace.window.contains(r.intended);
    let both = requests.iter().zip(ideal).filter(counted);
    let (mut measured, mut ideal): (Vec<Nanos>, Vec<Nanos>) =
        both.map(|(request, ideal)| (request.latency(), ideal)).unzip();
    measured.sort();
    ideal.sort();
    Tails { measured, ideal }
}

impl Tails {
    /// Measured over ideal at a quantile.
    pub fn excess(&self, quantile: f64) -> f64 {
        let at = |sorted: &[Nanos]| sorted[(sorted.len() as f64 * quantile) as usize].0 as f64;
        at(&self.measured) / at(&self.ideal)
    }
}

/// Pairs served in the other order than they came, by start and by completion.
pub fn inversions(trace: &Trace) -> [u64; 2] {
    let requests = || stats::window_requests(trace, 0);
    [
        stats::inverted_pairs(requests(), |request| request.started),
        stats::inverted_pairs(requests(), |request| request.completed),
    ]
}
