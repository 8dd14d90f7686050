//! `rearguard top`: the policy in force, at work.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use cgroup::Names;
use loader::{Client, Owners, Report, open_metrics, table};
use model::{Failure, Nanos, units};

use crate::exporter::Exporter;
use crate::terminal::interrupt_flag;

/// How often the user's wish to stop is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Rows of processes where there is no terminal that says how many fit.
const ROWS: usize = 20;

/// Watch the policy in force: share, due share, lag, queues, migrations of groups and processes
///
/// Reads from the running `rearguard load`. A terminal shows a table that refreshes; elsewhere tables follow
/// each other.
#[derive(clap::Args)]
pub struct Args {
    /// Between two looks
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = units::duration)]
    interval: Nanos,
    /// Looks before it ends [default: until Ctrl-C]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// One JSON object a look, on a line of its own
    #[arg(long)]
    json: bool,
    /// Instead of a table, serve OpenMetrics at an address (127.0.0.1:9898) or keep a file of it
    #[arg(long, value_name = "ADDRESS|FILE", conflicts_with = "json")]
    metrics: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let exporter = args.metrics.as_deref().map(Exporter::open).transpose()?;
    let mut client = Client::connect()?;
    let mut names = Names::default();
    let mut show = |report: &Report| {
        let owners = Owners::of(report, &mut names);
        match &exporter {
            Some(exporter) => exporter.show(open_metrics(report, &owners)),
            None if args.json => print_json(report, &owners),
            None => show(report, &owners, io::stdout().is_terminal()),
        }
    };
    each(Duration::from_nanos(args.interval.0), args.count, || show(&client.report()?))
}

/// Prints the table; on a terminal in place of what it showed.
fn show(report: &Report, owners: &Owners, terminal: bool) -> Result<(), Failure> {
    let height = terminal_size::terminal_size().map(|(_, height)| usize::from(height.0));
    let fixed = report.groups.len() + 6;
    let rows = height.filter(|_| terminal).map_or(ROWS, |height| height.saturating_sub(fixed));
    let clear = if terminal { "\x1b[H\x1b[2J" } else { "" };
    let end = if terminal { "" } else { "\n" };
    stdout::write(format_args!("{clear}{}{end}", table(report, owners, rows)))
}

/// Looks every interval until the user stops it.
fn each(
    interval: Duration,
    count: Option<u64>,
    mut look: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let stop = interrupt_flag();
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) && count.is_none_or(|most| looks < most) {
        let next = Instant::now() + interval;
        // The first look is of the quarter of a second that it takes.
        look()?;
        looks += 1;
        while Instant::now() < next && !stop.load(Ordering::Relaxed) && count != Some(looks) {
            thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
        }
    }
    Ok(())
}

/// A report, and what its groups are.
#[derive(serde::Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: &'a Report,
    owners: BTreeMap<&'a str, String>,
}

fn print_json(report: &Report, owners: &Owners) -> Result<(), Failure> {
    let shown = Shown { report, owners: owners.words() };
    let line = serde_json::to_string(&shown).map_err(|error| Failure::Run(error.to_string()))?;
    stdout::line(line)
}
