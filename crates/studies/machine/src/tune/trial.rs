//! Which knob matters: each alone and all together, in random order between controls, with a roll-back
//! between runs.

mod design;
mod figure;
mod judge;

use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::{Answer, Failure};
use serde::Serialize;

use super::{Scope, apply, parse};
use crate::machine::Machine;
use crate::transaction::Stop;
pub use judge::Ratio;

/// What [`Outcome::schema`] says.
const SCHEMA: &str = "rearguard.trial/1";
/// How often a measurement is asked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Knobs, as a user writes them.
    pub knobs: Vec<String>,
    /// The service that they are turned for.
    pub service: Option<Scope>,
    /// The command that measures; its stdout is a JSON document.
    pub measure: String,
    /// Which number of it; less is better.
    pub key: String,
    /// Blocks of runs. In each every configuration runs once, and the machine as it is runs twice.
    pub blocks: usize,
    /// What the order is drawn from.
    pub seed: u64,
    /// Between a change and the measurement.
    pub settle: Duration,
}

/// What a trial found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The format.
    pub schema: &'static str,
    /// The command.
    pub measure: String,
    /// The number of its document.
    pub key: String,
    /// What the order was drawn from.
    pub seed: u64,
    /// The order: for each block indices into `results`.
    pub order: Vec<Vec<usize>>,
    /// The configurations: twice the machine as it is, each knob alone, all together.
    pub results: Vec<Configuration>,
    /// Why runs have no figure, in their order.
    pub failures: Vec<String>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Configuration {
    /// The knobs that were turned.
    pub knobs: Vec<String>,
    /// What was measured, block by block; `None`: that run's measurement failed.
    pub figures: Vec<Option<f64>>,
    /// The median of what was measured.
    pub median: f64,
    /// Over the machine as it is; of the first of those two: over the second.
    pub ratio: Ratio,
    /// Whether it is better.
    pub answer: Answer,
}

/// Runs a trial; `progress` is told each run before it begins.
pub fn run(
    machine: &Machine,
    trial: &Trial,
    stop: &Stop,
    progress: &mut dyn FnMut(usize, usize, &[String]),
) -> Result<Outcome, Failure> {
    check(machine, trial)?;
    let configurations = design::configurations(&trial.knobs);
    let order = design::order(configurations.len(), trial.blocks, trial.seed);
    let mut figures = vec![Vec::new(); configurations.len()];
    let mut failures = Vec::new();
    let runs = configurations.len() * trial.blocks;
    for (done, at) in order.iter().flatten().enumerate() {
        progress(done, runs, &configurations[*at]);
        let measured = one(machine, trial, &configurations[*at], stop)?;
        figures[*at].push(measured.as_ref().ok().copied());
        failures.extend(measured.err());
        // One run may be disturbed. A command that cannot measure fails every time.
        if failures.len() > 1 && 2 * failures.len() > done + 1 {
            let (failed, why) = (failures.len(), failures[failures.len() - 1].clone());
            return Err(Failure::Run(format!("{failed} of {} runs failed: {why}", done + 1)));
        }
    }
    let judged = judge::judge(&figures);
    let results = configurations.into_iter().zip(figures).zip(judged);
    let results = results.map(|((knobs, figures), (ratio, answer))| {
        let known: Vec<f64> = figures.iter().flatten().copied().collect();
        let median = judge::median(&known);
        Configuration { knobs, figures, median, ratio, answer }
    });
    Ok(Outcome {
        schema: SCHEMA,
        measure: trial.measure.clone(),
        key: trial.key.clone(),
        seed: trial.seed,
        results: results.collect(),
        failures,
        order,
    })
}

/// Says what all together could not be turned: later, runs that were measured would be lost.
fn check(machine: &Machine, trial: &Trial) -> Result<(), Failure> {
    let knobs = trial.knobs.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    let _lock = machine.lock()?;
    apply::check(machine, &knobs, trial.service.as_ref()).map(|_| ())
}

/// A figure, or why there is none.
type Measured = Result<f64, String>;

/// One run: knobs turned, measured, and turned back whatever came of it.
fn one(
    machine: &Machine,
    trial: &Trial,
    knobs: &[String],
    stop: &Stop,
) -> Result<Measured, Failure> {
    if knobs.is_empty() {
        sleep(trial.settle);
        return measure(trial, stop);
    }
    let parsed = knobs.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    let lock = machine.lock()?;
    let asked = format!("try {}", knobs.join(" "));
    let turned = apply(machine, stop, &parsed, trial.service.as_ref(), &asked)?;
    drop(lock);
    sleep(trial.settle);
    let measured = measure(trial, stop);
    let _lock = machine.lock()?;
    let undone = turned.undo(false)?;
    if !undone.is_complete() {
        let left = [undone.conflicts, undone.refused].concat().join("; ");
        return Err(Failure::Run(format!("{asked}: not undone: {left}")));
    }
    measured
}

fn measure(trial: &Trial, stop: &Stop) -> Result<Measured, Failure> {
    let words = |what: String| format!("--measure `{}`: {what}", trial.measure);
    let failed = |what: String| Failure::Run(words(what));
    let child = Command::new("sh")
        .args(["-c", &trial.measure])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| failed(error.to_string()))?;
    let mut stdout = child.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).map(|_| text)
    });
    let mut stopped: Option<Instant> = None;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| failed(error.to_string()))? {
            break status;
        }
        // It handles Ctrl-C itself. A process that does not end by that is ended.
        if stop.load(Ordering::Relaxed)
            && stopped.get_or_insert_with(Instant::now).elapsed() > Duration::from_secs(5)
        {
            child.kill().map_err(|error| failed(error.to_string()))?;
        }
        sleep(LOOK);
    };
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    if !status.success() {
        return Ok(Err(words(status.to_string())));
    }
    let text = reader.join().expect("no panic").map_err(|error| failed(error.to_string()))?;
    Ok(figure::read(&text, &trial.key).map_err(words))
}
