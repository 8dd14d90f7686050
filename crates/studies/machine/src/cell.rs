//! Cells: CPUs and memory set apart for a service, made, resized and removed on the fly.

pub mod balance;
mod list;
mod outliers;

pub use list::{Cells, Use, rates, uses};
pub use outliers::Source;

use model::Failure;

use crate::cpus::Cpus;
use crate::housekeeping;
use crate::journal::{Journal, Purpose, Session, Taken, Undone};
use crate::machine::Machine;
use crate::place::{self, Partition, Place};
use crate::target::{GROUPS, Target};
use crate::transaction::{Stop, Transaction, take_back};

/// A cell to be made.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its CPUs.
    pub cpus: Cpus,
    /// The node of its memory; `None`: any.
    pub node: Option<usize>,
    /// How its CPUs are set apart; `None`: [`Partition::of`] them.
    pub partition: Option<Partition>,
    /// Whether its processes end with it; else they go back to the rest of the machine.
    pub ends_processes: bool,
}

/// A cell that there is.
pub struct Cell<'a> {
    /// Its name.
    pub name: String,
    /// Its cgroup's path.
    pub group: String,
    /// Its CPUs.
    pub cpus: Cpus,
    session: Session<'a>,
}

/// The cgroup of a cell.
pub fn group_of(name: &str) -> String {
    format!("{GROUPS}/rearguard-cell-{name}")
}

/// All cells of this boot.
pub fn cells<'a>(journal: &Journal<'a>) -> Result<Vec<Cell<'a>>, Failure> {
    let boot = journal.boot()?;
    let mut cells = Vec::new();
    for session in journal.sessions()?.into_iter().filter(|session| session.header.boot == boot) {
        let Purpose::Cell(name) = &session.header.purpose else { continue };
        let (name, group) = (name.clone(), group_of(name));
        let cpus = housekeeping::cpus_of(&session, &group);
        cells.push(Cell { name, group, cpus, session });
    }
    Ok(cells)
}

/// The cell of this name.
pub fn find<'a>(journal: &Journal<'a>, name: &str) -> Result<Cell<'a>, Failure> {
    let mut all = cells(journal)?;
    let names: Vec<String> = all.iter().map(|cell| cell.name.clone()).collect();
    let at = names.iter().position(|known| known == name).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hint = model::did_you_mean(name, &names);
        let known = if names.is_empty() { "none".into() } else { names.join(", ") };
        Failure::Input(format!("no cell `{name}`{hint}; there are: {known}"))
    })?;
    Ok(all.swap_remove(at))
}

/// Makes a cell. The caller holds the lock.
pub fn create<'a>(
    machine: &'a Machine,
    stop: &'a Stop,
    wanted: &Wanted,
    asked: &str,
) -> Result<Transaction<'a>, Failure> {
    let journal = machine.journal();
    check_name(&wanted.name)?;
    forget_earlier_boots(machine)?;
    if cells(&journal)?.iter().any(|cell| cell.name == wanted.name) {
        return Err(Failure::Input(format!(
            "there is a cell `{0}`: `rearguard cell destroy {0}` removes it",
            wanted.name
        )));
    }
    let place = Place {
        group: group_of(&wanted.name),
        cpus: wanted.cpus.clone(),
        node: wanted.node,
        partition: wanted.partition.unwrap_or_else(|| Partition::of(&wanted.cpus)),
        fallback: (!wanted.ends_processes).then(|| GROUPS.to_string()),
    };
    place.check(machine.on(), &housekeeping::taken(&journal, None)?)?;
    let purpose = Purpose::Cell(wanted.name.clone());
    Transaction::begin(machine, stop, purpose, asked)?.make(|changes| place.make(changes))
}

/// Gives a cell other CPUs; says what could not be moved off them. The caller holds the lock.
pub fn resize(
    machine: &Machine,
    stop: &Stop,
    name: &str,
    cpus: &Cpus,
) -> Result<Vec<String>, Failure> {
    let journal = machine.journal();
    let Cell { group, cpus: old, mut session, .. } = find(&journal, name)?;
    let taken = housekeeping::taken(&journal, Some(&group))?;
    place::check_cpus(machine.on(), cpus, &taken, Partition::Isolated)?;
    housekeeping::make_way(machine, stop, cpus)?;
    let target = Target::text(format!("{group}/cpuset.cpus.partition"));
    let was = target.read(machine.on()).ok().flatten().unwrap_or_default();
    // A partition that was chosen by the cell's size follows its size.
    let usual = was == Partition::of(&old).to_string();
    let wanted = if usual { Partition::of(cpus).to_string() } else { was.clone() };
    if let Some(why) = reshape(&mut session, &journal, &group, cpus, (&was, &wanted))? {
        reshape(&mut session, &journal, &group, &old, (&wanted, &was))?;
        housekeeping::refresh(machine, stop)?;
        return Err(Failure::Run(format!("cell `{name}` keeps CPUs {old}: {why}")));
    }
    housekeeping::refresh(machine, stop)
}

/// Gives a cell's group CPUs, then its partition; why the machine refused, if it did.
///
/// A partition that cannot have the CPUs becomes invalid although the kernel took them, so it is looked at
/// after each write.
fn reshape(
    session: &mut Session,
    journal: &Journal,
    group: &str,
    cpus: &Cpus,
    (was, wanted): (&str, &str),
) -> Result<Option<String>, Failure> {
    let list = Target::list(format!("{group}/cpuset.cpus"));
    if let Taken::Refused(why) = session.set(journal, &list, &cpus.to_string())? {
        return Ok(Some(why));
    }
    let partition = Target::text(format!("{group}/cpuset.cpus.partition"));
    match partition.read(journal.on) {
        Ok(Some(is)) if is == was => {}
        is => return Ok(Some(format!("{partition}: {is:?}"))),
    }
    match session.set(journal, &partition, wanted)? {
        Taken::Refused(why) => Ok(Some(why)),
        _ => Ok(None),
    }
}

/// Removes a cell: its processes go back to the rest of the machine, or end. The caller holds the lock.
pub fn destroy(machine: &Machine, name: &str, kill: bool, force: bool) -> Result<Undone, Failure> {
    let journal = machine.journal();
    let cell = find(&journal, name)?;
    if kill {
        let path = format!("{}/cgroup.kill", cell.group);
        let killed = machine.on().write(&path, "1");
        killed.map_err(|error| Failure::Run(format!("{path}: {error}")))?;
    }
    take_back(machine, &journal, cell.session, force)
}

/// A reboot has undone what earlier boots did; their sessions are of no more use.
pub fn forget_earlier_boots(machine: &Machine) -> Result<usize, Failure> {
    let journal = machine.journal();
    let boot = journal.boot()?;
    let mut forgotten = 0;
    for session in journal.sessions()?.into_iter().filter(|session| session.header.boot != boot) {
        forgotten += crate::journal::undo(&journal, session, false)?.rebooted;
    }
    Ok(forgotten)
}

fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "`{name}` is no name for a cell: expected letters, digits, - and _, 64 at most"
    )))
}
