//! The service in SCHED_FIFO: before every thread of the default class, and first come, first served.

use model::Failure;

use super::{Kind, Knob, Parsed, State, stay};
use crate::class::{Class, Policy};
use crate::place::privileged;
use crate::platform::Platform;
use crate::proc::{Task, threads};
use crate::roles::watchdog;
use crate::target::Target;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

/// Above every thread of the default class, below what an administrator may have put higher.
const USUAL: u8 = 10;
/// Threads that start while others are changed are there at the next look.
const LOOKS: u32 = 100;

/// The kind.
pub const KIND: Kind = Kind {
    name: "real-time",
    value: "PRIORITY, 1 to 98 [10]",
    source: "background processes",
    effect: "background work no longer delays requests; threads are served first come, first served",
    trade_off: "may starve other tasks: a watchdog turns it back after 3 s of starvation",
    reference: "Tales section 4.1, Table 1",
    needs_service: true,
    parse,
    state,
};

struct RealTime {
    priority: u8,
}

fn parse(value: Option<&str>) -> Parsed {
    let priority = value.map_or(Ok(USUAL), str::parse).ok().filter(|p| (1..=98).contains(p));
    match priority {
        Some(priority) => Ok(Box::new(RealTime { priority })),
        None => Err(format!("`{}`: expected a priority of 1 to 98", value.unwrap_or_default())),
    }
}

fn state(on: &dyn Platform) -> State {
    let runtime = on.read("/proc/sys/kernel/sched_rt_runtime_us").unwrap_or_default();
    let period = on.read("/proc/sys/kernel/sched_rt_period_us").unwrap_or_default();
    let server = on.read("/sys/kernel/debug/sched/fair_server/cpu0/runtime").unwrap_or_default();
    let guard = match (server.trim().parse::<u64>(), runtime.trim().parse::<i64>()) {
        (Ok(ns), _) if ns > 0 => format!("fair server: {} ms a second for others", ns / 1_000_000),
        (_, Ok(-1)) => "throttling is off: only the watchdog guards others".to_string(),
        (_, Ok(_)) => format!("throttled to {} of {} us", runtime.trim(), period.trim()),
        _ => "the kernel does not tell its throttling".to_string(),
    };
    State { present: guard, can: privileged(on), note: None }
}

impl Knob for RealTime {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn turn(
        &self,
        on: &dyn Platform,
        changes: &mut Transaction,
        service: Option<&Scope>,
    ) -> Result<(), Failure> {
        let Some(service) = service else { return Ok(()) };
        // First, so that its undo comes last: it is what undoes a service that starves others.
        let words = [watchdog::ROLE, changes.state(), &changes.number().to_string()];
        let args = words.map(String::from).to_vec();
        stay(changes, "watchdog", args, "watchdog against starvation".into())?;
        self.claim_inherited(on, changes, service)?;
        for _ in 0..LOOKS {
            let mut changed = false;
            for process in service.processes(on)? {
                for thread in threads(on, process) {
                    changed |= self.raise(on, changes, process, thread)?;
                }
            }
            if !changed {
                return Ok(());
            }
        }
        Err(Failure::Run(
            "the service starts threads faster than their class can be changed".into(),
        ))
    }
}

impl RealTime {
    fn class(&self, nice: i8) -> Class {
        Class { policy: Policy::Fifo, priority: self.priority, nice }
    }

    /// Threads that the service starts later inherit the class and are in no list of ours: the undo looks for
    /// them.
    fn claim_inherited(
        &self,
        on: &dyn Platform,
        changes: &mut Transaction,
        service: &Scope,
    ) -> Result<(), Failure> {
        for process in &service.roots {
            let Some(task) = Task::of_process(on, *process) else { continue };
            let instead = task.class.filter(|class| !class.is_real_time());
            let instead = instead.unwrap_or(Class::USUAL);
            let inherited = Target::InheritedClass {
                process: *process,
                start: task.start,
                class: self.class(0).to_string(),
                instead: instead.to_string(),
            };
            changes.set(&inherited, "yes")?;
        }
        Ok(())
    }

    /// Whether the thread had another class. One that ends meanwhile needs none.
    fn raise(
        &self,
        on: &dyn Platform,
        changes: &mut Transaction,
        process: i32,
        thread: i32,
    ) -> Result<bool, Failure> {
        let Some(task) = Task::of_thread(on, process, thread) else { return Ok(false) };
        let Some(class) = task.class else { return Ok(false) };
        let target = Target::Class { process, thread, start: task.start };
        let raised = changes.set(&target, &self.class(class.nice).to_string());
        let is_gone = || !matches!(target.read(on), Ok(Some(_)));
        if raised.is_err() && is_gone() { Ok(true) } else { raised }
    }
}
