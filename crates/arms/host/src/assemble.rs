//! The trace of a run on the kernel at hand (in the vm arm a guest's): made of the generator's records, the
//! service's own stamps and the sampler's readings.

use std::collections::BTreeMap;

use model::event::{Event, Tables};
use model::scenario::{Kind, Scenario};
use model::trace::{Neighbours, ProgramTrace, Request, ThreadTrace, Usage};
use model::trace_session::CapturedEvents;
use model::{Failure, Nanos, ThreadId, Trace};

use crate::arm::Stage;
use crate::commands;
use crate::conduct::Seen;
use crate::machine;
use crate::role::order::CommandRun;
use crate::sampler::Sample;
use generator::{GeneratorUsage, Record, SelfCheck, Sharing, remedy};

/// The trace of a run whose generator kept its schedule; [`Failure::Run`] if it did not.
pub fn assemble(stage: &Stage, seen: Seen) -> Result<Trace, Failure> {
    let scenario = stage.scenario;
    check_generator(scenario, &seen, stage.placement.generator)?;
    check_commands(scenario, &seen)?;
    let threads: Vec<ThreadTrace> = (seen.threads.iter().enumerate())
        .flat_map(|(program, ids)| std::iter::repeat_n(ThreadTrace { program }, ids.len()))
        .collect();
    let used = cpu_since(&seen.samples.base, &seen.end);
    let mut services = seen.services.iter();
    let mut programs = Vec::new();
    for (index, program) in scenario.programs.iter().enumerate() {
        let requests = match &program.kind {
            Kind::Service(_) => {
                let own = threads.iter().zip(&used).filter(|(thread, _)| thread.program == index);
                let total = own.map(|(_, used)| used.0).sum();
                requests(services.next().map_or(&[], Vec::as_slice), Nanos(total))
            }
            Kind::Command { .. } => commands::requests(&seen.finished[index].runs, seen.begin),
            _ => Vec::new(),
        };
        let rounds = seen.finished[index].rounds;
        programs.push(ProgramTrace { requests, rounds, ..ProgramTrace::default() });
    }
    let usage = |sample: &Sample| {
        let mut cpu_time = cpu_since(&seen.samples.base, sample);
        for (thread, used) in threads.iter().zip(&mut cpu_time) {
            if matches!(scenario.programs[thread.program].kind, Kind::Command { .. }) {
                *used = commands::used(&programs[thread.program].requests, sample.at);
            }
        }
        Usage { at: sample.at, cpu_time }
    };
    let usage = seen.samples.window.iter().map(usage).collect();
    let served = served(&seen);
    let trace = Trace {
        policy: stage.policy.clone(),
        kernel: machine::release(),
        seed: stage.seed,
        window: seen.window,
        programs,
        threads,
        usage,
        counters: commands::counters(scenario, seen.samples.counters),
        neighbours: Some(neighbours(&seen.beside)),
        events: None,
        tables: Tables::default(),
    };
    Ok(match seen.captured {
        Some(captured) => with_events(trace, captured, served),
        None => trace,
    })
}

fn neighbours(beside: &Sharing) -> Neighbours {
    let Sharing { cpus, interrupts, stolen, programs, .. } = beside.clone();
    Neighbours { cpus, interrupts, host: stolen, programs }
}

/// Which thread served which request when, as the service itself says.
fn served(seen: &Seen) -> Vec<Event> {
    let ids = seen.threads.iter().flatten().map(|id| id.cast_unsigned());
    let numbers: BTreeMap<u32, ThreadId> = ids.zip((0..).map(ThreadId)).collect();
    let mut events = Vec::new();
    for records in &seen.services {
        for (request, stamps) in (0..).zip(records.iter().map(|record| record.stamps)) {
            let Some(stamps) = stamps else { continue };
            let thread = numbers.get(&stamps.thread);
            events.extend(thread.into_iter().flat_map(|&thread| {
                Event::of_request(thread, request, stamps.started, stamps.completed)
            }));
        }
    }
    events
}

/// A trace with the captured events of the CPUs, and the other threads that had them.
fn with_events(mut trace: Trace, captured: CapturedEvents, served: Vec<Event>) -> Trace {
    let mut events = captured.events;
    events.extend(served);
    events.sort_by_key(|event| event.at);
    trace.threads.extend(captured.threads);
    for (usage, cpu_times) in trace.usage.iter_mut().zip(captured.cpu_times) {
        usage.cpu_time.extend(cpu_times);
    }
    let programs = trace.programs.len() + captured.tables.others.len();
    trace.programs.resize_with(programs, ProgramTrace::default);
    Trace { events: Some(events), tables: captured.tables, ..trace }
}

/// Fails the run if the generator's delay could be taken for the server's.
fn check_generator(scenario: &Scenario, seen: &Seen, cpu: usize) -> Result<(), Failure> {
    let requests = seen.services.iter().map(Vec::len).sum::<usize>().max(1) as u64;
    let run_delay = Nanos(seen.run_delay.0 / requests);
    let services = scenario.programs.iter().filter(|p| matches!(p.kind, Kind::Service(_)));
    for (program, records) in services.zip(&seen.services) {
        let inside = |record: &&Record| seen.window.contains(record.planned.intended);
        let measured: Vec<Record> = records.iter().filter(inside).copied().collect();
        let own = GeneratorUsage { run_delay, ..GeneratorUsage::default() };
        let faults = SelfCheck::new(&measured, on_time(&measured), own).faults();
        if !faults.is_empty() {
            return Err(Failure::Run(format!(
                "the load generator could not keep the schedule of `{}`, so nothing is reported: {}. {}{}",
                program.name,
                faults.join("; "),
                seen.sharing.said(),
                remedy(&cpu.to_string())
            )));
        }
    }
    Ok(())
}

/// Fails the run if it shows nothing of a command.
fn check_commands(scenario: &Scenario, seen: &Seen) -> Result<(), Failure> {
    for (program, finished) in scenario.programs.iter().zip(&seen.finished) {
        let inside = |run: &CommandRun| seen.window.contains(run.began - seen.begin);
        if matches!(program.kind, Kind::Command { .. }) && !finished.runs.iter().any(inside) {
            let longest = finished.runs.iter().map(|run| run.ended - run.began).max();
            return Err(Failure::Run(format!(
                "`{}` began no run inside the measured time, as one takes {}: give it less to do, or make `duration` longer",
                program.name,
                longest.unwrap_or(Nanos::ZERO)
            )));
        }
    }
    Ok(())
}

/// A request is on time within half a mean service time: what the others behind it lose by it is less than
/// one service.
fn on_time(records: &[Record]) -> Nanos {
    let total: u128 = records.iter().map(|record| u128::from(record.planned.service.0)).sum();
    Nanos((total / 2 / records.len().max(1) as u128) as u64)
}

fn cpu_since(base: &Sample, sample: &Sample) -> Vec<Nanos> {
    let pairs = base.readings.iter().zip(&sample.readings);
    pairs.map(|(base, now)| now.cpu.saturating_sub(base.cpu)).collect()
}

/// The requests of a service whose threads used `total` CPU time.
///
/// The service time of the ideal queue is what a request costs the server in all (Tales section 3.2). That is
/// its own CPU time from T4, `started`, to T5, `completed`, and the mean of all else that the threads did:
/// reading, writing, being switched to.
fn requests(records: &[Record], total: Nanos) -> Vec<Request> {
    let stamps = records.iter().filter_map(|record| record.stamps);
    let (own, answered) = stamps.fold((0, 0), |(sum, n), stamps| (sum + stamps.cpu.0, n + 1));
    let kernel_part = Nanos(total.0.saturating_sub(own) / answered.max(1));
    records.iter().map(|record| request(record, kernel_part)).collect()
}

fn request(record: &Record, kernel_part: Nanos) -> Request {
    let never = Nanos::NEVER;
    let stamps = record.stamps;
    Request {
        intended: record.planned.intended,
        sent: record.sent,
        started: stamps.map_or(never, |stamps| stamps.started),
        completed: stamps.map_or(never, |stamps| stamps.completed),
        received: record.received,
        service: stamps.map_or(record.planned.service, |stamps| stamps.cpu) + kernel_part,
    }
}
