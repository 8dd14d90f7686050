//! The one runner: a figure's definition becomes the figure.

use std::thread;

use experiment::{Point, Runner, Store};
use model::scenario::{Architecture, Arrivals, Home, Kind, Machine, Service};
use model::{Failure, PolicySpec, Scenario, Watch};
use queue::tales;
use report::{Document, PaperFigure};
use sim::SimArm;

use crate::catalogue::{self, Entry};
use crate::definition::{Definition, Run, definition};
use crate::results::Results;
use crate::{chart, judge};

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Requests a curve of ideal queues.
    pub requests: u64,
    /// The seed of ideal queues.
    pub seed: u64,
    /// How many of a scenario's seeds are run.
    pub seeds: usize,
}

/// Runs a figure and holds it against its paper; the caller adds command line and version.
///
/// What the store has is not run again.
pub fn produce(
    entry: &Entry,
    effort: Effort,
    store: &Store,
    watch: &dyn Watch,
) -> Result<PaperFigure, Failure> {
    made(entry, &definition(entry)?, effort, store, watch)
}

/// [`produce`], from a definition that may differ from the shipped one.
pub fn made(
    entry: &Entry,
    definition: &Definition,
    effort: Effort,
    store: &Store,
    watch: &dyn Watch,
) -> Result<PaperFigure, Failure> {
    let results = results(definition, effort, store, watch)?;
    let mut figure = judge::figure(entry, definition, &results)?;
    figure.chart = definition.chart.as_ref().and_then(|chart| chart::chart(chart, &results));
    figure.seed = definition.queues.map(|_| effort.seed);
    figure.curves = results.queues;
    Ok(figure)
}

fn results(
    definition: &Definition,
    effort: Effort,
    store: &Store,
    watch: &dyn Watch,
) -> Result<Results, Failure> {
    let mut results = Results::default();
    if let Some(number) = definition.queues {
        let figure = tales::figure(number, effort.requests, effort.seed)?;
        let made = figure.run(watch)?;
        let named = figure.queues.iter().zip(&made);
        results.queues = named.map(|((name, _), queue)| figures::queue(name, queue)).collect();
    }
    let runs = definition.runs.iter().map(|run| points(run, effort));
    let runs = runs.collect::<Result<Vec<Vec<Point>>, Failure>>()?;
    let jobs = thread::available_parallelism().map_or(1, |cores| cores.get());
    let swept = Runner { arm: &SimArm, store, jobs, until: None }.run(&runs.concat(), watch)?;
    if let Some(failed) = swept.failed.first() {
        return Err(Failure::Run(failed.reason.clone()));
    }
    for (run, points) in definition.runs.iter().zip(&runs) {
        let found = points.iter().filter_map(|point| experiment::results(point, store));
        let document = Document { results: found.flatten().collect(), ..Document::default() };
        results.runs.push((run.clone(), document));
    }
    Ok(results)
}

/// A point a policy, with what is drawn.
fn points(run: &Run, effort: Effort) -> Result<Vec<Point>, Failure> {
    let mut scenario = scenario(run)?;
    scenario.seeds.truncate(effort.seeds);
    let point =
        |policy: &String| Point::new(scenario.clone(), &PolicySpec::parse(policy)?, true, &SimArm);
    run.policies.iter().map(point).collect()
}

/// The scenario of a run, with what the run changes.
pub fn scenario(run: &Run) -> Result<Scenario, Failure> {
    let text = catalogue::scenario(&run.scenario)
        .ok_or_else(|| Failure::Input(format!("no scenario {}", run.scenario)))?;
    let text = format!("{text}\n{}", run.add);
    let mut scenario = Scenario::read(&text, &format!("{}.toml", run.scenario))?;
    for group in &mut scenario.groups {
        group.weight = run.weights.get(&group.name).copied().unwrap_or(group.weight);
    }
    if run.without_batch {
        scenario.programs.retain(|program| !matches!(program.kind, Kind::Batch { .. }));
    }
    if let Some(memory) = scenario.mechanisms.memory.as_mut().filter(|_| run.local_memory) {
        memory.home = Home::Thread;
    }
    if let Some(cores) = run.cores {
        scenario.machine = Machine { cpus: cores, ..Machine::ONE_CPU };
    }
    for program in &mut scenario.programs {
        if let Kind::Service(service) = &mut program.kind {
            let share = run.utilisation.map(Arrivals::Utilisation);
            service.arrivals = share.unwrap_or(service.arrivals);
            service.connections = run.connections.unwrap_or(service.connections);
            run.cores.into_iter().for_each(|cores| give_workers(service, cores));
        }
    }
    Ok(scenario)
}

/// A worker a CPU, with as many connections each as in the file.
fn give_workers(service: &mut Service, workers: u32) {
    let (before, architecture) = match service.architecture {
        Architecture::Partitioned { workers: before } => {
            (before, Architecture::Partitioned { workers })
        }
        Architecture::SharedQueue { workers: before } => {
            (before, Architecture::SharedQueue { workers })
        }
        Architecture::ThreadPerConnection => return,
    };
    service.connections = service.connections / before * workers;
    service.architecture = architecture;
}
