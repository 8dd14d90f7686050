//! `rearguard load`: a policy in this machine's kernel, until Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::{Failure, PolicySpec};
use scx::stats::{Client, Server};
use scx::{Ending, Loaded, Poll};

use crate::top;
use crate::watch::interrupt_flag;

/// How often the command looks at its scheduler and for the user's wish to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Processes that --stats shows at most.
const PROCESSES: usize = 10;

/// Put a scheduler into the running kernel, until Ctrl-C
///
/// It schedules every thread of the machine that no real-time class does. Whatever ends this command, the
/// kernel's default class takes over at once.
#[derive(clap::Args)]
pub struct Args {
    /// The policy, with its options behind it: rearguard, or cts:queue=cpu:requeue=tail; or a file, ./mine.c
    /// (see new-policy)
    #[arg(default_value = "rearguard")]
    policy: String,
    /// Which CPU gets work: replaces the policy's choice
    #[arg(long, value_name = "CHOICE")]
    balance: Option<String>,
    /// Whose turn it is: replaces the policy's choice
    #[arg(long, value_name = "CHOICE")]
    pick: Option<String>,
    /// Which of its threads: replaces the policy's choice
    #[arg(long, value_name = "CHOICE")]
    order: Option<String>,
    /// Which CPUs share a queue: replaces the policy's choice
    #[arg(long, value_name = "CHOICE")]
    queue: Option<String>,
    /// What a thread may run at a time: replaces the policy's choice, 4ms for most
    #[arg(long, value_name = "DURATION")]
    slice: Option<String>,
    /// Print what the policy does every so many seconds
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    stats: Option<u64>,
    /// Load nothing, but print what the policy in force does every so many seconds
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "stats")]
    monitor: Option<u64>,
    /// Show all that libbpf and the kernel's verifier say, and the kernel's dump if it ejects the scheduler
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    if let Some(seconds) = args.monitor {
        return top::monitor(Duration::from_secs(seconds));
    }
    let policy = args.spec()?;
    scx::verbose(args.verbose);
    let stop = interrupt_flag();
    let mut loaded = scx::load(&policy)?;
    let mut server = Server::open()?;
    anstream::println!(
        "{} schedules every thread of this machine ({policy}).\nCtrl-C gives the machine back; `rearguard top` shows it at work.",
        loaded.name()
    );
    if let Some(seconds) = args.stats {
        print_stats(Duration::from_secs(seconds));
    }
    let watched = watch(&mut loaded, &mut server, &stop);
    // Out of force first, so that what is said next is true.
    drop(loaded);
    match watched? {
        Some(ending) => Err(ended(ending, args.verbose)),
        None => {
            anstream::println!("the kernel's default class schedules again");
            Ok(())
        }
    }
}

/// Watches our own socket, as any other watcher would, for as long as this process lives.
fn print_stats(interval: Duration) {
    thread::spawn(move || {
        let Ok(mut client) = Client::connect() else { return };
        while let Ok(report) = client.report() {
            anstream::println!("{}", top::table(&report, PROCESSES));
            thread::sleep(interval);
        }
    });
}

impl Args {
    fn spec(&self) -> Result<PolicySpec, Failure> {
        let mut spec = PolicySpec::parse(&self.policy)?;
        let given = [
            ("balance", &self.balance),
            ("pick", &self.pick),
            ("order", &self.order),
            ("queue", &self.queue),
            ("slice", &self.slice),
        ];
        for (key, value) in given {
            if let Some(value) = value {
                spec.options.insert(key.to_string(), value.clone());
            }
        }
        Ok(spec)
    }
}

/// Until the user stops it (`None`) or the kernel ends it.
fn watch(
    loaded: &mut Loaded,
    server: &mut Server,
    stop: &AtomicBool,
) -> Result<Option<Ending>, Failure> {
    while !stop.load(Ordering::Relaxed) {
        match loaded.poll()? {
            Poll::InForce => server.serve(LOOK, loaded),
            Poll::Restarted => {
                anstream::eprintln!("CPUs came or went: {} was loaded again", loaded.name());
            }
            Poll::Ended(ending) => return Ok(Some(ending)),
        }
    }
    Ok(None)
}

fn ended(ending: Ending, verbose: bool) -> Failure {
    if verbose && !ending.dump.is_empty() {
        eprintln!("{}", ending.dump);
    }
    let who = if ending.ejected {
        "the kernel ejected the scheduler"
    } else if ending.left {
        "the scheduler has left, because the machine is beyond its limits"
    } else {
        "the scheduler was ended from outside"
    };
    Failure::Run(format!("{who}: {}; the default class schedules again", ending.reason))
}
