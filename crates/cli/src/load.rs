//! `rearguard load`: a policy in this machine's kernel, until Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kernel::{Ending, Loaded, Poll};
use model::{Failure, Nanos, PolicySpec, units};

use crate::watch::stop_wish;

/// How often the command looks at its scheduler and for the user's wish to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Put a scheduler into the running kernel, until Ctrl-C
///
/// It schedules every thread of the machine that no real-time class does. Whatever ends this command, the kernel's default class
/// takes over at once.
#[derive(clap::Args)]
pub struct Args {
    /// The policy, with its options behind it: cts, or cts:queue=cpu:requeue=tail
    #[arg(default_value = "cts")]
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
    /// What a thread may run at a time [default: 4ms]
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    slice: Option<Nanos>,
    /// Show all that libbpf and the kernel's verifier say, and the kernel's dump if it ejects the scheduler
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let policy = args.spec()?;
    kernel::verbose(args.verbose);
    let stop = stop_wish();
    let mut loaded = kernel::load(&policy, args.slice)?;
    anstream::println!("{} schedules this machine; Ctrl-C gives it back", loaded.name());
    watch(&mut loaded, &stop, args.verbose)?;
    drop(loaded);
    anstream::println!("the kernel's default class schedules again");
    Ok(())
}

impl Args {
    fn spec(&self) -> Result<PolicySpec, Failure> {
        let mut spec = PolicySpec::parse(&self.policy)?;
        let given = [
            ("balance", &self.balance),
            ("pick", &self.pick),
            ("order", &self.order),
            ("queue", &self.queue),
        ];
        for (key, value) in given {
            if let Some(value) = value {
                spec.options.insert(key.to_string(), value.clone());
            }
        }
        Ok(spec)
    }
}

/// Until the user stops it or the kernel ends it.
fn watch(loaded: &mut Loaded, stop: &AtomicBool, verbose: bool) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        match loaded.poll()? {
            Poll::InForce => thread::sleep(LOOK),
            Poll::Restarted => {
                anstream::eprintln!("CPUs came or went: {} was loaded again", loaded.name())
            }
            Poll::Ended(ending) => return Err(ended(ending, verbose)),
        }
    }
    Ok(())
}

fn ended(ending: Ending, verbose: bool) -> Failure {
    if verbose && !ending.dump.is_empty() {
        eprintln!("{}", ending.dump);
    }
    let who = if ending.ejected {
        "the kernel ejected the scheduler"
    } else {
        "the scheduler was ended from outside"
    };
    Failure::Run(format!("{who}: {}; the default class schedules again", ending.reason))
}
