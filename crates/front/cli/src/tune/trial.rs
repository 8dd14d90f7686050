//! `rearguard tune try`: which knob matters.

use std::time::Duration;

use machine::Machine;
use machine::tune::trial::{self, Configuration, Outcome, Trial};
use model::{Failure, Nanos, units};

use super::Service;
use crate::terminal::interrupt_flag;

/// Measure each knob alone and all together, in random order between controls, and turn everything back
///
/// Every block runs each configuration once and the machine as it is twice. Less is better.
#[derive(clap::Args)]
pub struct Args {
    /// Knobs of `tune list`
    #[arg(value_name = "KNOB[=VALUE]", required = true)]
    knobs: Vec<String>,
    #[command(flatten)]
    service: Service,
    /// The command that measures, for a shell; its stdout is a JSON document
    #[arg(long, value_name = "COMMAND")]
    measure: String,
    /// Which number of the document: the end of its path
    #[arg(long, value_name = "PATH", default_value = "latency_ns.p99_9")]
    key: String,
    /// Blocks; fewer than 2 prove nothing
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: u32,
    /// What the order is drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Between a change and the measurement
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = units::duration)]
    settle: Nanos,
    /// Print the result document as JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let machine = Machine::live()?;
    let trial = Trial {
        knobs: args.knobs.clone(),
        service: args.service.scope(&machine)?,
        measure: args.measure.clone(),
        key: args.key.clone(),
        blocks: args.blocks as usize,
        seed: args.seed,
        settle: Duration::from_nanos(args.settle.0),
    };
    let stop = interrupt_flag();
    let outcome = trial::run(&machine, &trial, &stop, &mut |done, runs, knobs| {
        anstream::eprintln!("run {} of {runs}: {}", done + 1, name(knobs));
    })?;
    stdout::write(if args.json { report::json(&outcome) } else { table(&outcome) })
}

fn name(knobs: &[String]) -> String {
    if knobs.is_empty() { "as it is".into() } else { knobs.join(" + ") }
}

fn table(outcome: &Outcome) -> String {
    let names: Vec<String> = outcome.results.iter().map(|one| name(&one.knobs)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let head = format!("{:<width$}  {:>14}  {:>28}", "", "median", "ratio to as it is (95%)");
    let row = |(name, one): (&String, &Configuration)| {
        format!(
            "{name:<width$}  {:>14}  {:>28}  {}",
            figure(&outcome.key, one.median),
            ratio(one),
            one.answer.word()
        )
    };
    let rows: Vec<String> = names.iter().zip(&outcome.results).map(row).collect();
    let foot = format!("{} of `{}`; less is better", outcome.key, outcome.measure);
    let failures = match &outcome.failures[..] {
        [] => String::new(),
        [.., last] => format!("{} runs without a figure: {last}\n", outcome.failures.len()),
    };
    format!("{head}\n{}\n\n{foot}\n{failures}", rows.join("\n"))
}

/// A time by its unit, which the number's path names; else the number.
fn figure(key: &str, median: f64) -> String {
    if median.is_nan() {
        return "-".to_string();
    }
    let is_time = key.split('.').any(|part| part.ends_with("_ns"));
    if is_time { Nanos(median.round() as u64).to_string() } else { format!("{median:.4}") }
}

fn ratio(one: &Configuration) -> String {
    let ratio = one.ratio;
    if ratio.value.is_nan() {
        "not known".to_string()
    } else if ratio.high.is_finite() {
        format!("{:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
    } else {
        format!("{:.3} (not known)", ratio.value)
    }
}
