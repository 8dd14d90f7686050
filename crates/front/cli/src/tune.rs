//! `rearguard tune`: knobs against the sources of tail latency, turned and turned back.

mod trial;

use machine::journal::Undone;
use machine::tune::{self, Scope, Standing};
use machine::{Machine, Stop};
use model::Failure;

use crate::watch::interrupt_flag;

/// What to do with knobs.
#[derive(clap::Subcommand)]
pub enum Action {
    List(ListArgs),
    Apply(ApplyArgs),
    Try(trial::Args),
    Undo(UndoArgs),
}

/// Show every knob: how it stands, whether this machine has it, what it should do, and what it costs
#[derive(clap::Args)]
pub struct ListArgs {
    /// Print a JSON document instead
    #[arg(long)]
    json: bool,
}

/// Turn knobs, all of them or none, until `tune undo`
#[derive(clap::Args)]
pub struct ApplyArgs {
    /// Knobs of `tune list`: real-time, dedicated-cpus=2-3, irq-affinity=0, ...
    #[arg(value_name = "KNOB[=VALUE]", required = true)]
    knobs: Vec<String>,
    #[command(flatten)]
    service: Service,
}

/// Turn every knob back, in whatever way the run that turned it ended
#[derive(clap::Args)]
pub struct UndoArgs {
    /// Also what another program has changed since
    #[arg(long)]
    force: bool,
}

/// The service that knobs are turned for
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct Service {
    /// The service: a process, with all that it started
    #[arg(long, value_name = "PID")]
    pid: Option<i32>,
    /// The service: a cgroup, such as system.slice/nginx.service
    #[arg(long, value_name = "CGROUP")]
    unit: Option<String>,
}

impl Service {
    /// The service, if one was named.
    pub fn scope(&self, machine: &Machine) -> Result<Option<Scope>, Failure> {
        let process = self.pid.map(|pid| Scope::of_process(machine.on(), pid));
        let unit = self.unit.as_deref().map(|unit| Scope::of_unit(machine.on(), unit));
        process.or(unit).transpose()
    }
}

/// Runs the command.
pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::List(args) => list(args.json),
        Action::Apply(args) => apply(args),
        Action::Try(args) => trial::run(args),
        Action::Undo(args) => undo(args.force),
    }
}

fn list(json: bool) -> Result<(), Failure> {
    let knobs = tune::list(Machine::live()?.on());
    if json {
        anstream::print!("{}", report::json(&knobs));
        return Ok(());
    }
    let blocks: Vec<String> = knobs.knobs.iter().map(block).collect();
    anstream::println!("{}", blocks.join("\n\n"));
    Ok(())
}

fn block(knob: &Standing) -> String {
    let mut lines =
        vec![format!("{:<18}against {}", knob.knob.unwrap_or("(no knob)"), knob.source)];
    let mut line = |key: &str, text: &str| lines.push(format!("  {key:<16}{text}"));
    let here = match &knob.remedy {
        None => "can be turned".to_string(),
        Some(remedy) if knob.knob.is_some() => format!("cannot: {remedy}"),
        Some(remedy) => remedy.clone(),
    };
    line("here", &here);
    if let Some(present) = &knob.present {
        line("now", present);
        line("value", knob.value);
    }
    line("should", knob.effect);
    line("costs", knob.trade_off);
    line("see", knob.reference);
    if let Some(note) = &knob.note {
        line("note", note);
    }
    lines.join("\n")
}

fn apply(args: &ApplyArgs) -> Result<(), Failure> {
    let knobs = args.knobs.iter().map(|text| tune::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let machine = Machine::live()?;
    let service = args.service.scope(&machine)?;
    let stop: std::sync::Arc<Stop> = interrupt_flag();
    let _lock = machine.lock()?;
    let asked = args.knobs.join(" ");
    let applied = tune::apply(&machine, &stop, &knobs, service.as_ref(), &asked)?;
    applied.keep().iter().for_each(|what| anstream::eprintln!("left as it was: {what}"));
    anstream::println!("turned: {asked}\n`rearguard tune undo` turns it back");
    Ok(())
}

fn undo(force: bool) -> Result<(), Failure> {
    let machine = Machine::live()?;
    let _lock = machine.lock()?;
    let (sessions, undone) = tune::undo_all(&machine, force)?;
    if sessions == 0 {
        anstream::println!("nothing to undo");
        return Ok(());
    }
    report_undone(&undone, "rearguard tune undo --force")
}

/// Says what an undo did, and fails if something is left to do.
pub fn report_undone(undone: &Undone, forced: &str) -> Result<(), Failure> {
    undone.restored.iter().for_each(|what| anstream::println!("restored {what}"));
    if undone.needless > 0 {
        anstream::println!(
            "{} changes needed nothing: as before already, or gone",
            undone.needless
        );
    }
    if undone.rebooted > 0 {
        anstream::println!("{} changes had ended with a reboot", undone.rebooted);
    }
    undone.refused.iter().for_each(|what| anstream::eprintln!("refused: {what}"));
    undone.conflicts.iter().for_each(|what| anstream::eprintln!("left: {what}"));
    if undone.is_complete() {
        return Ok(());
    }
    let left = undone.conflicts.len() + undone.refused.len();
    Err(Failure::Run(format!(
        "{left} changes are not undone, and stay in the journal: `{forced}` restores also what another program has changed"
    )))
}
