//! `rearguard cell`: CPUs and memory set apart for a service.

mod balance;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use machine::cell::{self, Use, Wanted};
use machine::{Cpus, Machine, Partition, Stop};
use model::Failure;

use crate::terminal::interrupt_flag;
use crate::tune::report_undone;

/// How long `list` looks at what cells use.
const LOOK: Duration = Duration::from_millis(250);
/// How often it is asked whether a command has ended.
const TURN: Duration = Duration::from_millis(10);
/// What a command has for its own end after Ctrl-C, which it handles itself.
const GRACE: Duration = Duration::from_secs(5);

/// Said where there are none.
const NO_CELLS: &str = "no cells: make one with `rearguard cell create NAME --cpus LIST`";

/// What to do with cells.
#[derive(clap::Subcommand)]
pub enum Action {
    Create(CreateArgs),
    Resize(ResizeArgs),
    Destroy(DestroyArgs),
    List(ListArgs),
    Run(RunArgs),
    Balance(balance::Args),
}

/// Make a cell. With a command: run that in it, and remove the cell at its end
#[derive(clap::Args)]
pub struct CreateArgs {
    /// The cell's name
    name: String,
    /// Its CPUs; everything else leaves them
    #[arg(long, value_name = "LIST", value_parser = Cpus::from_user)]
    cpus: Cpus,
    /// The NUMA node that its memory comes from
    #[arg(long, value_name = "NODE")]
    memory_node: Option<usize>,
    /// root: the kernel balances the cell's threads over its CPUs; isolated: it does not [default: isolated
    /// for one CPU, else root]
    #[arg(long, value_name = "KIND", value_parser = Partition::from_user)]
    partition: Option<Partition>,
    /// The command and its arguments
    #[arg(last = true)]
    command: Vec<String>,
}

/// Give a cell other CPUs, while it works
#[derive(clap::Args)]
pub struct ResizeArgs {
    /// The cell's name
    name: String,
    /// Its CPUs from now on
    #[arg(long, value_name = "LIST", value_parser = Cpus::from_user)]
    cpus: Cpus,
}

/// Remove a cell; its processes go back to the rest of the machine
#[derive(clap::Args)]
pub struct DestroyArgs {
    /// The cell's name
    name: String,
    /// End the cell's processes
    #[arg(long)]
    kill: bool,
    /// Restore also what another program has changed since
    #[arg(long)]
    force: bool,
}

/// Show the cells and what they use
#[derive(clap::Args)]
pub struct ListArgs {
    /// Print a JSON document instead
    #[arg(long)]
    json: bool,
}

/// Run a command in a cell
#[derive(clap::Args)]
pub struct RunArgs {
    /// The cell's name
    name: String,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// Runs the command.
pub fn run(action: &Action) -> Result<ExitCode, Failure> {
    let machine = Machine::live()?;
    match action {
        Action::Create(args) if args.command.is_empty() => create(&machine, args)?,
        Action::Create(args) => return create_for(&machine, args),
        Action::Resize(args) => resize(&machine, args)?,
        Action::Destroy(args) => destroy(&machine, args)?,
        Action::List(args) => list(&machine, args.json)?,
        Action::Balance(args) => balance::run(&machine, args)?,
        Action::Run(args) => {
            let cell = cell::find(&machine.journal(), &args.name)?;
            return inside(&cell.group, &args.command, &interrupt_flag());
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl CreateArgs {
    fn wanted(&self) -> Wanted {
        Wanted {
            name: self.name.clone(),
            cpus: self.cpus.clone(),
            node: self.memory_node,
            partition: self.partition,
            ends_processes: !self.command.is_empty(),
        }
    }
}

fn create(machine: &Machine, args: &CreateArgs) -> Result<(), Failure> {
    let stop = interrupt_flag();
    let _lock = machine.lock()?;
    let made = cell::create(machine, &stop, &args.wanted(), &format!("cell {}", args.name))?;
    say_left(&made.keep());
    let name = &args.name;
    stdout::line(format_args!(
        "cell {name} has CPUs {}; `rearguard cell run {name} -- COMMAND` uses them, `rearguard cell destroy {name}` gives them back",
        args.cpus
    ))
}

/// A cell for as long as a command runs.
fn create_for(machine: &Machine, args: &CreateArgs) -> Result<ExitCode, Failure> {
    let stop = interrupt_flag();
    let lock = machine.lock()?;
    let made = cell::create(machine, &stop, &args.wanted(), &format!("cell {}", args.name))?;
    drop(lock);
    say_left(&made.skipped);
    let ended = inside(&cell::group_of(&args.name), &args.command, &stop);
    let _lock = machine.lock()?;
    let undone = made.undo(false)?;
    let code = ended?;
    if !undone.is_complete() {
        report_undone(&undone, &format!("rearguard cell destroy --force {}", args.name))?;
    }
    Ok(code)
}

fn say_left(skipped: &[String]) {
    if !skipped.is_empty() {
        anstream::eprintln!("left where they are, because the kernel ties them to a CPU:");
        skipped.iter().for_each(|what| anstream::eprintln!("  {what}"));
    }
}

/// Runs a command in a cgroup to its end, or until the user has wished it for a while; the code that a shell
/// would give.
fn inside(group: &str, command: &[String], stop: &Stop) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::Run(format!("{}: {error}", command[0]));
    let mut enter = Command::new("/proc/self/exe");
    let mut child = enter.args([machine::ENTER, group]).args(command).spawn().map_err(failed)?;
    let mut wished: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            return Ok(ExitCode::from(code as u8));
        }
        if stop.load(Ordering::Relaxed) && wished.get_or_insert_with(Instant::now).elapsed() > GRACE
        {
            child.kill().map_err(failed)?;
            return Err(Failure::Interrupted);
        }
        thread::sleep(TURN);
    }
}

fn resize(machine: &Machine, args: &ResizeArgs) -> Result<(), Failure> {
    let _lock = machine.lock()?;
    say_left(&cell::resize(machine, &Stop::new(false), &args.name, &args.cpus)?);
    stdout::line(format_args!("cell {} has CPUs {}", args.name, args.cpus))
}

fn destroy(machine: &Machine, args: &DestroyArgs) -> Result<(), Failure> {
    let _lock = machine.lock()?;
    let undone = cell::destroy(machine, &args.name, args.kill, args.force)?;
    if !undone.is_complete() {
        return report_undone(&undone, &format!("rearguard cell destroy --force {}", args.name));
    }
    stdout::line(format_args!("cell {} is gone", args.name))
}

fn list(machine: &Machine, json: bool) -> Result<(), Failure> {
    let journal = machine.journal();
    let (begin, before) = (Instant::now(), cell::uses(&journal)?);
    thread::sleep(if before.is_empty() { Duration::ZERO } else { LOOK });
    let cells = cell::rates(&before, cell::uses(&journal)?, begin.elapsed());
    if json {
        return stdout::write(report::json(&cells));
    }
    if cells.cells.is_empty() {
        anstream::eprintln!("{NO_CELLS}");
        return Ok(());
    }
    stdout::line(format_args!(
        "{:<16} {:<12} {:<12} {:<10} {:>9} {:>9}",
        "cell", "CPUs", "memory node", "partition", "processes", "CPUs used"
    ))?;
    cells.cells.iter().try_for_each(row)
}

fn row(cell: &Use) -> Result<(), Failure> {
    stdout::line(format_args!(
        "{:<16} {:<12} {:<12} {:<10} {:>9} {:>9.2}",
        cell.name,
        cell.cpus,
        cell.memory_nodes,
        cell.partition,
        cell.processes,
        cell.cpus_used.unwrap_or(f64::NAN)
    ))
}
