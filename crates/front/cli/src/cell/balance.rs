//! `rearguard cell balance`: a supervisor that moves CPUs between cells.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use machine::cell::balance::{self, Goal, Step};
use machine::cell::{self, Source};
use machine::{Machine, supported};
use model::{Failure, Nanos, units};

use crate::terminal::interrupt_flag;

/// How often the user's wish to stop is looked at.
const TURN: Duration = Duration::from_millis(50);
/// Looks in a row that may bring nothing: the source of outliers may be restarted meanwhile.
const IN_VAIN: u64 = 5;
/// Looks after a move in which nothing is moved: the tail needs time to show what it did.
const SETTLE: u64 = 3;

/// Move CPUs between cells until each meets a target of outliers, and keep it so until Ctrl-C
///
/// The cell with most outliers above the target gets a CPU of the one with fewest, if that is at half the
/// target or less and keeps one.
#[derive(clap::Args)]
pub struct Args {
    /// At most this share of a cell's requests slower than the threshold: 100us=0.1%
    #[arg(long, value_name = "THRESHOLD=SHARE", value_parser = Goal::from_user)]
    outlier: Goal,
    /// Where outlier proportions are told: an OpenMetrics address (http://127.0.0.1:9898/metrics) or a file
    /// of JSON lines
    #[arg(long, value_name = "ADDRESS|FILE", value_parser = Source::from_user)]
    metrics: Source,
    /// A cell of work without a deadline: it has no target, and gives CPUs while others need them
    /// (repeatable)
    #[arg(long, value_name = "CELL")]
    batch: Vec<String>,
    /// Between two looks
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = units::duration)]
    interval: Nanos,
    /// Looks before it ends [default: until Ctrl-C]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// Runs the command.
pub fn run(machine: &Machine, args: &Args) -> Result<(), Failure> {
    supported(machine.on()).map_err(Failure::Machine)?;
    let stop = interrupt_flag();
    for name in &args.batch {
        cell::find(&machine.journal(), name)?;
    }
    if cell::cells(&machine.journal())?.is_empty() {
        return Err(Failure::Input(super::NO_CELLS.into()));
    }
    let mut teller = Teller { source: &args.metrics, in_vain: 0 };
    let (mut looks, mut rest, mut last) = (0, 0, String::new());
    while !stop.load(Ordering::Relaxed) && args.count.is_none_or(|most| looks < most) {
        let next = Instant::now() + Duration::from_nanos(args.interval.0);
        // Without new metrics nothing moves.
        let text = teller.text()?.unwrap_or_else(|| last.clone());
        // A source that says the same again has measured nothing new.
        if rest == 0 && text != last {
            let mut outliers = args.metrics.parse(&text)?;
            show(machine, &outliers, &args.batch)?;
            outliers.extend(args.batch.iter().map(|name| (name.clone(), 0.0)));
            let _lock = machine.lock()?;
            rest = say(&balance::look(machine, &outliers, args.outlier)?)?;
        } else {
            rest = rest.saturating_sub(1);
        }
        last = text;
        looks += 1;
        while Instant::now() < next && !stop.load(Ordering::Relaxed) && args.count != Some(looks) {
            thread::sleep(TURN.min(next.saturating_duration_since(Instant::now())));
        }
    }
    Ok(())
}

/// The source of outliers, and how often in a row it failed.
struct Teller<'a> {
    source: &'a Source,
    in_vain: u64,
}

impl Teller<'_> {
    /// What is told now; `None`: nothing, and it is to be asked again.
    fn text(&mut self) -> Result<Option<String>, Failure> {
        match self.source.text() {
            Ok(text) => {
                if self.in_vain > 0 {
                    anstream::eprintln!("rearguard: the metrics are told again");
                }
                self.in_vain = 0;
                return Ok(Some(text));
            }
            Err(failure) if self.in_vain == IN_VAIN => return Err(failure),
            Err(failure) if self.in_vain == 0 => anstream::eprintln!(
                "rearguard: {failure}; nothing moves meanwhile, and after {IN_VAIN} more looks in vain this ends"
            ),
            Err(_) => {}
        }
        self.in_vain += 1;
        Ok(None)
    }
}

fn show(
    machine: &Machine,
    outliers: &BTreeMap<String, f64>,
    batch: &[String],
) -> Result<(), Failure> {
    let cells = cell::uses(&machine.journal())?;
    let one = |cell: &cell::Use| {
        let stands = match outliers.get(&cell.name) {
            _ if batch.contains(&cell.name) => "batch".to_string(),
            Some(share) => format!("outliers {:.4}%", share * 100.0),
            None => "outliers unknown".to_string(),
        };
        format!("{} CPUs {} {stands}", cell.name, cell.cpus)
    };
    let shown: Vec<String> = cells.iter().map(one).collect();
    stdout::line(if shown.is_empty() { "no cells".into() } else { shown.join("; ") })
}

/// Says what was done, and for how many looks to wait.
fn say(step: &Step) -> Result<u64, Failure> {
    match step {
        Step::Content => Ok(0),
        Step::Move { from, to, cpu } => {
            stdout::line(format_args!("CPU {cpu} goes from {from} to {to}")).map(|()| SETTLE)
        }
        Step::Short { cell } => {
            let short = format_args!("{cell} is above the target, and no cell has a CPU to give");
            stdout::line(short).map(|()| 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// An address of metrics that hangs up on clients, but for these of them in order.
    fn metrics(answered: &'static [usize]) -> String {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("its address");
        thread::spawn(move || {
            for (asked, stream) in server.incoming().enumerate() {
                let mut stream = stream.expect("a client");
                let _ = stream.read(&mut [0; 1024]);
                if answered.contains(&asked) {
                    write!(stream, "HTTP/1.1 200 OK\r\n\r\nx {asked}\n").expect("an answer");
                }
            }
        });
        format!("http://{address}/metrics")
    }

    #[test]
    fn missing_metrics_are_tolerated_for_a_while_only() {
        let source = Source::from_user(&metrics(&[0, 6])).expect("an address");
        let mut teller = Teller { source: &source, in_vain: 0 };
        let mut look = || teller.text().map(|text| text.is_some()).ok();
        let told: Vec<Option<bool>> = (0..13).map(|_| look()).collect();
        let five = [Some(false); 5];
        let expected = [&[Some(true)][..], &five, &[Some(true)], &five, &[None]].concat();
        assert_eq!(told, expected, "five looks in vain twice, then a sixth");
    }
}
