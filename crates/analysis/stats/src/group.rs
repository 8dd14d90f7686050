//! Groups: what was due to them and what they received.

use model::Nanos;
use model::scenario::{Kind, Program};
use model::weight::thread_weight;
use model::{Scenario, Trace};

use crate::capacity;
use crate::course::received_s;
use crate::due::Due;
use crate::summary::window_requests;

/// What one group received; a program that belongs to no group stands for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupShare {
    /// The group's path or the program's name.
    pub name: String,
    /// Its weight against its siblings, as `cpu.weight`; a program's is the sum over its threads (100 at nice
    /// 0).
    pub weight: u64,
    /// The share of the machine's CPU time that was due, 0 to 1: weighted max-min fairness of what its
    /// programs want. `None`: it depends on which CPUs threads are bound to, or on what a command does.
    pub due_share: Option<f64>,
    /// The share that it received.
    pub share: f64,
}

/// Every group of the scenario, those inside it included in its numbers, then every program that has none.
pub(crate) fn group_shares(scenario: &Scenario, traces: &[&Trace]) -> Vec<GroupShare> {
    let (mut due, mut got, mut whole) = (Vec::new(), Vec::new(), 0.0);
    // How many threads of a command want a CPU is unknown.
    let mut known = scenario.of_kernels_alone().is_none();
    for trace in traces {
        let (Some(first), Some(last)) = (trace.usage.first(), trace.usage.last()) else { continue };
        let window = last.at.saturating_sub(first.at).as_secs_f64();
        let capacity = f64::from(scenario.machine.cpus) * window;
        whole += capacity;
        let programs: Vec<usize> = trace.threads.iter().map(|thread| thread.program).collect();
        let wanted: Vec<f64> = (0..scenario.programs.len())
            .map(|program| wanted_cpus(scenario, trace, program))
            .collect();
        let wants: Vec<f64> = programs.iter().map(|program| wanted[*program]).collect();
        known &= Due::new(scenario, &programs).is_some_and(|weights| {
            let cpus = capacity::cpus(scenario, trace);
            let now = weights.in_span(cpus, [first.at, last.at], &wants);
            sum_into(&mut due, by_entry(scenario, trace, &now));
            true
        });
        sum_into(&mut got, by_entry(scenario, trace, &received_s(first, last)));
    }
    let share = |sums: &[f64], i: usize| sums.get(i).map_or(0.0, |sum| sum / whole);
    let named = entries(scenario).into_iter().enumerate();
    named
        .map(|(i, (name, weight))| GroupShare {
            name,
            weight,
            due_share: known.then(|| share(&due, i)),
            share: share(&got, i),
        })
        .collect()
}

/// For each entry of [`group_shares`], its share of the CPU time between each two readings of a run; the
/// first is 0.
pub(crate) fn share_samples(scenario: &Scenario, trace: &Trace) -> Vec<Vec<f64>> {
    let entries = entries(scenario).len();
    let mut samples = vec![Vec::with_capacity(trace.usage.len()); entries];
    samples.iter_mut().for_each(|of_entry| of_entry.extend(trace.usage.first().map(|_| 0.0)));
    for pair in trace.usage.windows(2) {
        let span_s = pair[1].at.saturating_sub(pair[0].at).as_secs_f64();
        let capacity = f64::from(scenario.machine.cpus) * span_s;
        let received = by_entry(scenario, trace, &received_s(&pair[0], &pair[1]));
        for (of_entry, got) in samples.iter_mut().zip(received) {
            of_entry.push(if capacity > 0.0 { got / capacity } else { 0.0 });
        }
    }
    samples
}

/// How many CPUs a thread of a program wants, at most one.
///
/// Batch and fork-join threads want one always; a daemon's and a periodic one the busy part of its cycle; a
/// service's threads share evenly what its requests ask for, the kernel's part included.
fn wanted_cpus(scenario: &Scenario, trace: &Trace, program: usize) -> f64 {
    let wanted = match &scenario.programs[program].kind {
        Kind::Batch { .. } | Kind::ForkJoin { .. } | Kind::Command { .. } => 1.0,
        Kind::Daemon { run, sleep, .. } => {
            run.as_secs_f64() / (run.as_secs_f64() + sleep.as_secs_f64())
        }
        Kind::Periodic { run, period, .. } => run.as_secs_f64() / period.as_secs_f64(),
        Kind::Replay { sleeps, runs } => {
            let sum_s = |spans: &[Nanos]| spans.iter().map(|span| span.as_secs_f64()).sum::<f64>();
            sum_s(runs) / (sum_s(runs) + sum_s(sleeps))
        }
        Kind::Service(service) => {
            let asked =
                window_requests(trace, program).map(|request| request.service.as_secs_f64());
            asked.sum::<f64>() / trace.window.span().as_secs_f64() / f64::from(service.threads())
        }
    };
    wanted.min(1.0)
}

/// Names and weights of the entries.
fn entries(scenario: &Scenario) -> Vec<(String, u64)> {
    let groups = scenario.groups.iter().map(|group| (group.name.clone(), u64::from(group.weight)));
    let single = scenario.programs.iter().filter(|program| program.group.is_none());
    groups.chain(single.map(|program| (program.name.clone(), program_weight(program)))).collect()
}

fn program_weight(program: &Program) -> u64 {
    (thread_weight(program.nice) * f64::from(program.kind.threads())).round() as u64
}

/// Sums a number of every thread by entry.
fn by_entry(scenario: &Scenario, trace: &Trace, of_thread: &[f64]) -> Vec<f64> {
    let mut of_program = vec![0.0; scenario.programs.len()];
    for (thread, number) in trace.threads.iter().zip(of_thread) {
        of_program[thread.program] += number;
    }
    let mut of_group = vec![0.0; scenario.groups.len()];
    let mut single = Vec::new();
    for (program, number) in scenario.programs.iter().zip(of_program) {
        match program.group {
            Some(group) => of_group[group] += number,
            None => single.push(number),
        }
    }
    // Parents stand before their children, so backwards every group is whole before its parent takes it.
    for (index, group) in scenario.groups.iter().enumerate().rev() {
        if let Some(parent) = group.parent {
            of_group[parent] += of_group[index];
        }
    }
    of_group.into_iter().chain(single).collect()
}

fn sum_into(sums: &mut Vec<f64>, parts: Vec<f64>) {
    sums.resize(parts.len(), 0.0);
    sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
}
