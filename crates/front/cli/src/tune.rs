//! `rearguard tune`: knobs against the sources of tail latency, turned and turned back.

mod trial;

use machine::journal::Undone;
use machine::tune::{self, Change, Other, Scope, Standing, Turned};
use machine::{Machine, Stop};
use model::Failure;

use crate::terminal::interrupt_flag;

/// What to do with knobs.
#[derive(clap::Subcommand)]
pub enum Action {
    List(ListArgs),
    Status(StatusArgs),
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

/// Show what is turned: what `tune undo` would turn back, and what other users have turned
#[derive(clap::Args)]
pub struct StatusArgs {
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
        Action::Status(args) => status(args.json),
        Action::Apply(args) => apply(args),
        Action::Try(args) => trial::run(args),
        Action::Undo(args) => undo(args.force),
    }
}

fn list(json: bool) -> Result<(), Failure> {
    let knobs = tune::list(Machine::live()?.on());
    if json {
        return stdout::write(report::json(&knobs));
    }
    let blocks: Vec<String> = knobs.knobs.iter().map(block).collect();
    stdout::line(blocks.join("\n\n"))
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
    stdout::line(format_args!("turned: {asked}\n`rearguard tune undo` turns it back"))
}

fn undo(force: bool) -> Result<(), Failure> {
    let machine = Machine::live()?;
    let lock = machine.lock()?;
    let (sessions, undone) = tune::undo_all(&machine, force)?;
    // Others' journals are looked at without it.
    drop(lock);
    if sessions == 0 {
        return nothing(&tune::others(&machine));
    }
    report_undone(&undone, "rearguard tune undo --force")
}

/// Nothing of this user's is turned. What another has turned only that one can turn back.
fn nothing(others: &[Other]) -> Result<(), Failure> {
    let Some(first) = others.first() else { return stdout::line("nothing to undo") };
    let all: Vec<String> = others.iter().map(other).collect();
    Err(Failure::Machine(format!(
        "nothing of yours to undo, but {}: `sudo -u {} rearguard tune undo`",
        all.join("; "),
        first.user
    )))
}

fn other(other: &Other) -> String {
    format!("{} has turned {}", other.user, other.asked.join(", "))
}

fn status(json: bool) -> Result<(), Failure> {
    let status = tune::status(&Machine::live()?)?;
    if json {
        return stdout::write(report::json(&status));
    }
    let mut blocks: Vec<String> = status.sessions.iter().map(turned).collect();
    blocks.extend(status.others.iter().map(other));
    stdout::line(if blocks.is_empty() { "nothing is turned".into() } else { blocks.join("\n") })
}

fn turned(one: &Turned) -> String {
    let ended = if one.rebooted { " (ended with a reboot)" } else { "" };
    let change = |change: &Change| {
        let now = change.now.as_deref().unwrap_or("gone");
        let Change { target, before, after, .. } = change;
        if now == after {
            format!("\n  {target}: was {before}, is {now}")
        } else {
            format!("\n  {target}: was {before}, was made {after}, is {now}")
        }
    };
    format!("{}{ended}{}", one.asked, one.changes.iter().map(change).collect::<String>())
}

/// Says what an undo did, and fails if something is left to do.
pub fn report_undone(undone: &Undone, forced: &str) -> Result<(), Failure> {
    undone.restored.iter().try_for_each(|what| stdout::line(format_args!("restored {what}")))?;
    if undone.needless > 0 {
        stdout::line(format_args!(
            "{} changes needed nothing: as before already, or gone",
            undone.needless
        ))?;
    }
    if undone.rebooted > 0 {
        stdout::line(format_args!("{} changes had ended with a reboot", undone.rebooted))?;
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
