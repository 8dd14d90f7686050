//! A policy in this machine's kernel, until Ctrl-C.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cgroup::Names;
use clap::CommandFactory;
use loader::{Client, Owners, Report, table};
use model::units::long_duration;
use model::{Failure, Nanos, PolicySpec};
use scx::stats::Server;
use scx::{Code, Control, Ending, Loaded, Only, Poll, Promised, Scope};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{plan, service};

/// How often the command looks at its scheduler and for the user's wish to stop.
const LOOK: Duration = Duration::from_millis(100);
/// How often --only looks for members that came or left, and promises for cgroups that came back.
const FOLLOW: Duration = Duration::from_millis(500);
/// Processes that --stats and --monitor show at most.
const PROCESSES: usize = 10;

/// Put a scheduler into the running kernel, until Ctrl-C
///
/// It schedules every thread of the machine that no real-time class does. Whatever ends this program, the
/// kernel's default class takes over at once.
#[derive(clap::Parser)]
#[command(
    name = loader::NAME,
    version = about::version(&[]),
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 the kernel refused or ejected it; 2 bad input; 3 this machine cannot."
)]
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
    /// Say what the statistics are
    #[arg(long, exclusive = true)]
    help_stats: bool,
    /// Write the manual page and completions into a folder
    #[arg(long, exclusive = true, hide = true, value_name = "FOLDER")]
    manual: Option<PathBuf>,
    /// Load nothing, but compile the policy's file into an object, for machines without a compiler
    #[arg(long, value_name = "OBJECT", conflicts_with_all = ["stats", "monitor", "object"])]
    compile: Option<PathBuf>,
    /// What --compile has made of the policy's file, which is not read then
    #[arg(long, value_name = "OBJECT")]
    object: Option<PathBuf>,
    /// Stop by itself after so long, such as 10m: a trial
    #[arg(long = "for", value_name = "DURATION", value_parser = long_duration)]
    duration: Option<Nanos>,
    /// Put nothing into force, but say what would be: queues and their CPUs, what the verifier says, limits
    #[arg(long, conflicts_with_all = ["stats", "monitor", "compile", "duration"])]
    dry_run: bool,
    /// Schedule the threads of these alone, and what they start: cgroups (/a/b), units (web.service),
    /// processes; the policy stands before it
    #[arg(long, value_name = "CGROUP|UNIT|PID", num_args = 1..)]
    only: Vec<String>,
    /// At most so many wake-ups of a group are served later, for so much of the machine at most, 50% unless
    /// said: 'web.service: 10ms=0.1%, at most 60%' (repeatable)
    #[arg(long, value_name = "CGROUP|UNIT: PROMISE")]
    promise: Vec<String>,
    /// Take promises while the policy is in force (rearguard promise set), also without one at the start
    #[arg(long)]
    promises: bool,
    /// Go on though groups have limits of CPU time (cpu.max) that would not be kept here
    #[arg(long)]
    ignore_cpu_max: bool,
    /// Show all that libbpf and the kernel's verifier say, and the kernel's dump if it ejects the scheduler
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the program.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.help_stats {
        return stdout::write(scx::stats::describe());
    }
    if let Some(folder) = &args.manual {
        return about::write_manual(Args::command(), folder);
    }
    if let Some(seconds) = args.monitor {
        return monitor(Duration::from_secs(seconds));
    }
    let policy = args.spec()?;
    if let Some(object) = &args.compile {
        return compile(&policy, object);
    }
    scx::verbose(args.verbose);
    let code = match &args.object {
        None => Code::of(&policy)?,
        Some(object) => Code::read(object)?,
    };
    let only = if args.only.is_empty() { None } else { Some(Only::of(&args.only)?) };
    let promised = Promised::all("--promise", &args.promise)?;
    let promised = (args.promises || !promised.is_empty()).then_some(promised);
    if args.dry_run {
        let dry_run = scx::dry_run(&policy, code, promised.is_some())?;
        let broken = scx::broken_limits(&policy);
        let deep = scx::deep_groups();
        return stdout::write(plan::text(&policy, &whom(only.as_ref()), &dry_run, &broken, &deep));
    }
    schedule(args, &policy, code, only, promised.as_deref())
}

/// The threads that the policy schedules, in words.
fn whom(only: Option<&Only>) -> String {
    only.map_or("every thread of this machine".to_string(), Only::to_string)
}

fn schedule(
    args: &Args,
    policy: &PolicySpec,
    code: Code,
    mut only: Option<Only>,
    promised: Option<&[Promised]>,
) -> Result<(), Failure> {
    scx::check(policy)?;
    keep_least(only.is_some())?;
    let stop = interrupt_flag();
    plan::check(&scx::broken_limits(policy), args.ignore_cpu_max)?;
    plan::deep(policy, &scx::deep_groups()).inspect(|text| anstream::eprintln!("{text}"));
    let scope = if only.is_some() { Scope::Partial } else { Scope::Machine };
    let mut loaded = scx::load_code(policy, code, None, scope, promised)?;
    let end = args.duration.map(|duration| Instant::now() + Duration::from_nanos(duration.0));
    let mut server = Server::open()?;
    let control = promised.map(|_| Control::open()).transpose()?;
    announce(loaded.name(), policy, only.as_mut())?;
    let mut promised = promised.into_iter().flatten();
    promised.try_for_each(|own| stdout::line(format_args!("promised: {own}")))?;
    service::ready()?;
    if let Some(seconds) = args.stats {
        print_stats(Duration::from_secs(seconds));
    }
    let watched = watch(&mut loaded, &mut server, control.as_ref(), only.as_mut(), || {
        stop.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end)
    });
    // The next loader puts its socket in the place of this one, so it goes while no other can load.
    drop(control);
    // Out of force first, so that what is said next is true.
    drop(loaded);
    drop(only);
    match watched? {
        Some(ending) => Err(ended(ending, args.verbose)),
        None => stdout::line("the kernel's default class schedules again"),
    }
}

/// All files that others own were read. Before the first thread starts: each has capabilities of its own.
fn keep_least(changes_classes: bool) -> Result<(), Failure> {
    scx::keep_least(if changes_classes { &[scx::CLASSES] } else { &[] })
}

fn announce(name: &str, policy: &PolicySpec, mut only: Option<&mut Only>) -> Result<(), Failure> {
    if let Some(only) = only.as_mut() {
        only.follow();
        if only.foreign() > 0 {
            anstream::eprintln!(
                "{} other threads have SCHED_EXT already, and are scheduled too",
                only.foreign()
            );
        }
        anstream::eprintln!(
            "threads of the default class go before these on every CPU that both use"
        );
    }
    stdout::line(format_args!(
        "{name} schedules {} ({policy}).\nCtrl-C gives the machine back; `rearguard top` shows it at work.",
        whom(only.as_deref())
    ))
}

fn compile(policy: &PolicySpec, to: &Path) -> Result<(), Failure> {
    let code = Code::of(policy)?;
    let object = code.bytes().ok_or_else(|| {
        Failure::Input(format!(
            "--compile: `{policy}` is built in and needs no object: name a file"
        ))
    })?;
    fileio::replace(to, object)
        .map_err(|error| Failure::Input(format!("{}: {error}", to.display())))
}

/// Turns true at Ctrl-C, SIGTERM or SIGHUP. The second one ends the process at once: the kernel then detaches
/// the policy.
fn interrupt_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).expect("signals that may be caught");
    thread::spawn(move || {
        for signal in signals.forever() {
            if set.swap(true, Ordering::Relaxed) {
                // As shells expect.
                std::process::exit(128 + signal);
            }
        }
    });
    stop
}

/// Watches with tables until Ctrl-C, beside a scheduler of another terminal.
fn monitor(interval: Duration) -> Result<(), Failure> {
    let stop = interrupt_flag();
    let (mut client, mut names) = (Client::connect()?, Names::default());
    while !stop.load(Ordering::Relaxed) {
        let next = Instant::now() + interval;
        stdout::line(shown(&client.report()?, &mut names))?;
        while Instant::now() < next && !stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK.min(next.saturating_duration_since(Instant::now())));
        }
    }
    Ok(())
}

fn shown(report: &Report, names: &mut Names) -> String {
    table(report, &Owners::of(report, names), PROCESSES)
}

/// Watches our own socket, as any other watcher would, for as long as this process lives.
fn print_stats(interval: Duration) {
    thread::spawn(move || {
        let Ok(mut client) = Client::connect() else { return };
        let mut names = Names::default();
        while let Ok(report) = client.report() {
            // A scheduler goes on though the reader of its output is gone.
            if stdout::line(shown(&report, &mut names)).is_err() {
                break;
            }
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

/// Until it `stops` (`None`) or the kernel ends it.
fn watch(
    loaded: &mut Loaded,
    server: &mut Server,
    control: Option<&Control>,
    mut only: Option<&mut Only>,
    stops: impl Fn() -> bool,
) -> Result<Option<Ending>, Failure> {
    let mut followed = Instant::now();
    while !stops() {
        if followed.elapsed() >= FOLLOW {
            only.iter_mut().for_each(|only| only.follow());
            if let Err(failure) = loaded.follow_promises() {
                anstream::eprintln!("{failure}");
            }
            followed = Instant::now();
        }
        control.iter().for_each(|control| control.serve(|ask| loaded.answer(ask)));
        match loaded.poll()? {
            Poll::InForce => server.serve(LOOK, loaded),
            Poll::Restarted { gap } => {
                let (name, gap) = (loaded.name(), gap.0 / 1_000_000);
                anstream::eprintln!("CPUs came or went: {name} is in force again after {gap} ms");
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
