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
