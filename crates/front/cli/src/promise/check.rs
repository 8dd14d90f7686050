//! `promise set --check`: what is to be said of a promise before it is made.

use std::path::PathBuf;

use model::scenario::Promise;
use model::{Failure, Nanos};
use stats::Estimate;
use whatif::{Admission, Admitted, AtOnce, Enough, admission};

/// Whose requests to look at.
#[derive(clap::Args)]
pub struct Args {
    /// Set nothing. Say whether the promise can be kept for requests like those that are seen: exit code 0
    /// for yes, 1 for no, 3 where that cannot be told
    #[arg(long, requires = "requests")]
    pub check: bool,
    /// Look at the service that listens at this port
    #[arg(long, group = "requests", requires = "check")]
    port: Option<u16>,
    /// Look at a trace with scheduling events, as `compare --trace` and `stages --trace` write them
    #[arg(long, value_name = "FILE", group = "requests", requires = "check")]
    trace: Option<PathBuf>,
    /// How long to look
    #[arg(long, default_value = "10s", requires = "port", value_parser = model::units::duration)]
    duration: Nanos,
}

/// Runs the command.
pub fn run(promise: &str, args: &Args) -> Result<(), Failure> {
    let wrong = |text| Failure::Input(format!("promise set {promise}: {text}"));
    let (name, promise) = Promise::to_group(promise).map_err(wrong)?;
    let recorded = match (&args.trace, args.port) {
        (Some(path), _) => crate::traces::read(path)?,
        (None, port) => crate::explain::watched(port.unwrap_or(0), args.duration)?,
    };
    let told = admission(&recorded, &promise)?;
    stdout::line(format!("{name}: {promise}\n  {}", words(&told, &promise)))?;
    let verdict = |text: &str| format!("promise set {name}: {text}");
    match told.answer {
        Admitted::Yes => Ok(()),
        Admitted::No { .. } => Err(Failure::Run(verdict("no scheduler can keep it"))),
        _ => Err(Failure::Machine(verdict("whether it can be kept cannot be told"))),
    }
}

/// The answer with what would help, and what it rests on.
fn words(told: &Admission, promise: &Promise) -> String {
    let share = |estimate: &Estimate| {
        let Estimate { value, low, high } = estimate;
        format!("{:.3}% [{:.3}, {:.3}]", 100.0 * value, 100.0 * low, 100.0 * high)
    };
    let (within, used) = (promise.within, 100.0 * told.used);
    let (ideal, budgeted) = (share(&told.ideal), share(&told.within_budget));
    format!(
        "{}\n  later than {within}: {ideal} in the ideal queue, {budgeted} with its budget alone\n  {} requests used \
         {used:.1}% of the machine",
        answer(told.answer),
        told.requests
    )
}

fn answer(answer: Admitted) -> String {
    match answer {
        Admitted::Yes => "yes".to_string(),
        Admitted::No { load_percent, at_once } => format!("no{}", help(load_percent, at_once)),
        Admitted::Budget { at_most_percent } => {
            let enough = at_most_percent.map(|percent| format!("; promise at most {percent}%"));
            let enough = enough.unwrap_or_default();
            format!("cannot tell: it depends on what others leave{enough}")
        }
        Admitted::Unknown { enough } => {
            let enough = enough.map_or("look for longer".to_string(), would_tell);
            format!("cannot tell: there are too few requests; {enough}")
        }
        Admitted::Partitioned => {
            "cannot tell: its threads have queues of their own, which no scheduler joins"
                .to_string()
        }
    }
}

fn would_tell(Enough { requests, span, is_least }: Enough) -> String {
    let about = if is_least { "at least" } else { "about" };
    let span = span.map(|span| format!(", {span} at their rate,"));
    format!("{about} {requests} like them{} would tell", span.unwrap_or_default())
}

/// What the ideal queue would keep it with.
fn help(load_percent: Option<u32>, at_once: Option<AtOnce>) -> String {
    let load = load_percent.map(|percent| format!("about {percent}% of this load"));
    match (load, at_once.map(more)) {
        (None, None) => ", and neither less load nor more CPUs and threads would do".to_string(),
        (Some(one), None) | (None, Some(one)) => format!("; {one} would do"),
        (Some(load), Some(more)) => format!("; {load} would do, or {more}"),
    }
}

fn more(AtOnce { cpus, threads }: AtOnce) -> String {
    let cpus = cpus.map(|cpus| format!("{cpus} CPUs"));
    let threads = threads.map(|threads| format!("{threads} threads"));
    cpus.into_iter().chain(threads).collect::<Vec<_>>().join(" and ")
}
