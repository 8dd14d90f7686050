//! The rest of the machine: it keeps off all CPUs that a cell or a knob set apart.
//!
//! What a cpuset partition does not move by itself: interrupts, unbound work queues, movable threads of the
//! kernel ("isolate first, then share": 10-ms computing section IV). One session holds all of it, computed
//! from the values before and the partitions that the journal holds.

use model::Failure;

use crate::cpus::Cpus;
use crate::journal::{Journal, Purpose, Session, Taken, undo};
use crate::machine::Machine;
use crate::place::online;
use crate::platform::Platform;
use crate::proc::{Task, processes};
use crate::target::{Form, Target};
use crate::transaction::Stop;

const WORK_QUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
const IRQS: &str = "/proc/irq";
const PARTITION: &str = "/cpuset.cpus.partition";

/// CPUs that belong to places alone, but for one place's.
pub fn taken(journal: &Journal, but: Option<&str>) -> Result<Cpus, Failure> {
    let boot = journal.boot()?;
    let mut taken = Cpus::default();
    for session in journal.sessions()?.iter().filter(|session| session.header.boot == boot) {
        for entry in session.entries.iter().filter(|entry| !entry.undone) {
            let Target::File { path, .. } = &entry.target else { continue };
            let Some(group) = path.strip_suffix(PARTITION) else { continue };
            if Some(group) != but {
                taken = taken.or(&cpus_of(session, group));
            }
        }
    }
    Ok(taken)
}

/// The CPUs that a session gave to a group.
pub fn cpus_of(session: &Session, group: &str) -> Cpus {
    let target = Target::list(format!("{group}/cpuset.cpus"));
    let entry = session.entries.iter().find(|entry| entry.target == target && !entry.undone);
    entry.and_then(|entry| Cpus::read_list(entry.after())).unwrap_or_default()
}

/// Brings the rest of the machine in line with the partitions; says what could not be moved.
pub fn refresh(machine: &Machine, stop: &Stop) -> Result<Vec<String>, Failure> {
    make_way(machine, stop, &Cpus::default())
}

/// Clears CPUs for a partition to come, too. Before the partition: with it the kernel moves its own threads,
/// and what they were told before could no longer be read.
pub fn make_way(machine: &Machine, stop: &Stop, coming: &Cpus) -> Result<Vec<String>, Failure> {
    let journal = machine.journal();
    journal.sweep()?;
    let taken = taken(&journal, None)?.or(coming);
    let sessions = journal.sessions()?;
    let boot = journal.boot()?;
    let own = |session: &Session| session.header.purpose == Purpose::Housekeeping;
    let old = sessions.into_iter().find(|session| own(session));
    match (taken.is_empty(), old) {
        (true, None) => Ok(Vec::new()),
        (true, Some(session)) => {
            let undone = undo(&journal, session, false)?;
            Ok([undone.conflicts, undone.refused].concat())
        }
        (false, Some(session)) if session.header.boot == boot => {
            keep_off(&journal, session, &taken, stop)
        }
        (false, old) => {
            old.map(|session| undo(&journal, session, false)).transpose()?;
            let session = journal.begin(Purpose::Housekeeping, "the rest keeps off the cells")?;
            keep_off(&journal, session, &taken, stop)
        }
    }
}

fn keep_off(
    journal: &Journal,
    mut session: Session,
    taken: &Cpus,
    stop: &Stop,
) -> Result<Vec<String>, Failure> {
    let rest = online(journal.on)?.without(taken);
    let mut refused = Vec::new();
    let known = session.entries.iter().filter(|entry| !entry.undone);
    let mut targets = targets(journal.on, taken)?;
    // Threads that were moved before may come back to CPUs that are given back.
    targets.extend(known.map(|entry| entry.target.clone()));
    for target in targets {
        if stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        let Some(before) = before(journal, &session, &target) else { continue };
        let left = before.and(&rest);
        let wanted = if left.is_empty() { rest.clone() } else { left };
        let value = match target {
            Target::File { form: Form::Mask, .. } => wanted.mask(),
            _ => wanted.to_string(),
        };
        if let Taken::Refused(why) = session.set(journal, &target, &value)? {
            refused.push(why);
        }
    }
    Ok(refused)
}

/// What a target would be without partitions.
fn before(journal: &Journal, session: &Session, target: &Target) -> Option<Cpus> {
    let entry = session.entries.iter().find(|entry| entry.target == *target && !entry.undone);
    let text = match entry {
        Some(entry) => entry.before.clone(),
        None => target.read(journal.on).ok()??,
    };
    match target {
        Target::File { form: Form::Mask, .. } => Cpus::read_mask(&text),
        _ => Cpus::read_list(&text),
    }
}

/// Everything that runs on CPUs and can be told which.
fn targets(on: &dyn Platform, taken: &Cpus) -> Result<Vec<Target>, Failure> {
    let mut targets =
        vec![Target::mask(format!("{IRQS}/default_smp_affinity")), Target::mask(WORK_QUEUES)];
    targets.extend(interrupts(on));
    targets.extend(kernel_threads(on, taken)?);
    Ok(targets)
}

/// The CPUs of every interrupt.
pub fn interrupts(on: &dyn Platform) -> Vec<Target> {
    let mut names = on.list(IRQS).unwrap_or_default();
    names.retain(|name| name.parse::<u32>().is_ok());
    let paths = names.iter().map(|name| format!("{IRQS}/{name}/smp_affinity_list"));
    // Some do not say.
    paths.filter(|path| on.read(path).is_ok()).map(Target::list).collect()
}

/// Movable threads of the kernel that may still run on these CPUs.
fn kernel_threads(on: &dyn Platform, taken: &Cpus) -> Result<Vec<Target>, Failure> {
    let all = processes(on).map_err(|error| Failure::Machine(format!("/proc: {error}")))?;
    let target = |thread: i32| {
        let task = Task::of_process(on, thread).filter(Task::is_movable_kernel_thread)?;
        let astray = !crate::proc::affinity(on, thread)?.and(taken).is_empty();
        astray.then_some(Target::Affinity { thread, start: task.start })
    };
    Ok(all.into_iter().filter_map(target).collect())
}
