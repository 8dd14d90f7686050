//! Events in words, and the thread and CPU that each is about.

use model::event::{Cause, Interrupt, What, Why};
use model::{CpuId, ThreadId};

use crate::names::{Names, cpu};

/// The event's name in tables.
pub fn word(what: &What) -> &'static str {
    match what {
        What::Fork { .. } => "fork",
        What::Wake { .. } => "wake",
        What::Block { .. } => "block",
        What::Migrate { .. } => "migrate",
        What::Switch { .. } => "switch",
        What::Start { .. } => "start",
        What::Finish { .. } => "finish",
        What::InterruptBegin { kind: Interrupt::Hard, .. } => "interrupt_begin",
        What::InterruptEnd { kind: Interrupt::Hard, .. } => "interrupt_end",
        What::InterruptBegin { kind: Interrupt::Soft, .. } => "softirq_begin",
        What::InterruptEnd { kind: Interrupt::Soft, .. } => "softirq_end",
        What::IdleExit { .. } => "idle_exit",
        What::Affinity { .. } => "affinity",
        What::Nice { .. } => "nice",
        What::Weight { .. } => "weight",
        What::Offline { .. } => "offline",
        What::Online { .. } => "online",
        What::Off { .. } => "off",
        What::Released { .. } => "released",
        What::Waking { .. } => "waking",
    }
}

/// The word for what keeps a thread off the CPUs.
pub fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Lock => "lock",
        Cause::Sleep => "sleep",
        Cause::Socket => "socket",
        Cause::Disk => "disk",
        Cause::PageFault => "page_fault",
        Cause::Stopped => "stopped",
        Cause::Throttled => "throttled",
        Cause::Other => "other",
        Cause::Client => "client",
    }
}

/// The word for a reason.
pub fn why_word(why: Why) -> &'static str {
    match why {
        Why::Idle => "idle",
        Why::Blocked => "blocked",
        Why::Expired => "expired",
        Why::Preempted => "preempted",
    }
}

/// The word for a kind of interrupt.
pub fn kind_word(kind: Interrupt) -> &'static str {
    match kind {
        Interrupt::Hard => "interrupt",
        Interrupt::Soft => "softirq",
    }
}

/// The CPU that it happened on.
pub fn place(what: &What) -> Option<CpuId> {
    match *what {
        What::Wake { cpu, .. }
        | What::Block { cpu, .. }
        | What::Switch { cpu, .. }
        | What::InterruptBegin { cpu, .. }
        | What::InterruptEnd { cpu, .. }
        | What::IdleExit { cpu, .. }
        | What::Offline { cpu }
        | What::Online { cpu }
        | What::Waking { by: cpu, .. } => Some(cpu),
        What::Migrate { to, .. } => Some(to),
        What::Fork { .. }
        | What::Start { .. }
        | What::Finish { .. }
        | What::Affinity { .. }
        | What::Nice { .. }
        | What::Weight { .. }
        | What::Off { .. }
        | What::Released { .. } => None,
    }
}

/// The thread that it happened to; of a switch the one that got the CPU.
pub fn subject(what: &What) -> Option<ThreadId> {
    match *what {
        What::Fork { thread }
        | What::Wake { thread, .. }
        | What::Block { thread, .. }
        | What::Migrate { thread, .. }
        | What::Start { thread, .. }
        | What::Finish { thread, .. }
        | What::Affinity { thread, .. }
        | What::Nice { thread, .. }
        | What::Off { thread, .. }
        | What::Released { thread }
        | What::Waking { thread, .. } => Some(thread),
        What::Switch { to, .. } => to,
        What::InterruptBegin { .. }
        | What::InterruptEnd { .. }
        | What::IdleExit { .. }
        | What::Weight { .. }
        | What::Offline { .. }
        | What::Online { .. } => None,
    }
}

/// Where it happened and what.
pub fn sentence(what: &What, names: &Names) -> String {
    let at = place(what).map_or_else(|| " ".repeat("CPU 0000".len()), cpu);
    format!("{at}  {}", happening(what, names))
}

fn happening(what: &What, names: &Names) -> String {
    let of = |thread: ThreadId| names.of(thread);
    let or_idle = |thread: Option<ThreadId>| thread.map_or("idle", of);
    match *what {
        What::Fork { thread } => format!("{} is created", of(thread)),
        What::Wake { thread, by, .. } => {
            let by = by.map_or("from outside".to_string(), |by| format!("by CPU {}", by.0));
            format!("{} wakes up, {by}", of(thread))
        }
        What::Block { thread, .. } => format!("{} blocks", of(thread)),
        What::Off { thread, cause } => format!("{} is kept: {}", of(thread), cause_word(cause)),
        What::Released { thread } => format!("{} is kept no longer", of(thread)),
        What::Waking { thread, .. } => format!("wakes {}", of(thread)),
        What::Migrate { thread, from, .. } => format!("{} comes from CPU {}", of(thread), from.0),
        What::Switch { from, to, why, .. } => {
            format!("{} -> {} ({})", or_idle(from), or_idle(to), why_word(why))
        }
        What::Start { thread, request } => format!("{} begins with request {request}", of(thread)),
        What::Finish { thread, request } => {
            format!("{} is done with request {request}", of(thread))
        }
        What::InterruptBegin { .. } | What::InterruptEnd { .. } | What::IdleExit { .. } => {
            of_cpu(what, names)
        }
        _ => change(what, names),
    }
}

/// What a CPU does that no thread asked for.
fn of_cpu(what: &What, names: &Names) -> String {
    match *what {
        What::InterruptBegin { kind, name, .. } => {
            format!("{} {} begins", kind_word(kind), names.of_source(name))
        }
        What::InterruptEnd { kind, name, .. } => {
            format!("{} {} ends", kind_word(kind), names.of_source(name))
        }
        What::IdleExit { state, took, .. } => {
            format!("leaves {}, which takes {took}", names.of_source(state))
        }
        _ => String::new(),
    }
}

/// A change from outside.
fn change(what: &What, names: &Names) -> String {
    match *what {
        What::Affinity { thread, cpus } => {
            format!("{} may run on CPUs {} only", names.of(thread), names.of_cpus(cpus))
        }
        What::Nice { thread, nice } => format!("{} has nice {nice}", names.of(thread)),
        What::Weight { group, weight } => format!("{} has weight {weight}", names.of_group(group)),
        What::Offline { .. } => "goes offline".to_string(),
        What::Online { .. } => "comes back online".to_string(),
        _ => String::new(),
    }
}
