//! The table of events: columns that an event says nothing about are null.

use columnar::Columns;
use model::CpuId;
use model::event::What;

use super::{Parts, id, stamp};
use crate::Recorded;
use crate::names::Names;
use crate::words::{cause_word, place, subject, why_word, word};

pub fn parts(recorded: &Recorded) -> Parts<'_> {
    let names = Names::new(&recorded.header);
    let rows = recorded.trace.events.as_deref().unwrap_or_default();
    super::parts("events", &recorded.header, rows.into(), move |rows| {
        Columns::of(rows)
            .number("at_ns", |event| stamp(event.at))
            .text("event", |event| Some(word(&event.what)))
            .number("cpu", |event| place(&event.what).map(cpu))
            .number("thread", |event| subject(&event.what).map(id))
            .number("from_thread", |event| match event.what {
                What::Switch { from, .. } => from.map(id),
                _ => None,
            })
            .number("from_cpu", |event| match event.what {
                What::Migrate { from, .. } => Some(cpu(from)),
                What::Wake { by, .. } => by.map(cpu),
                _ => None,
            })
            .text("why", |event| match event.what {
                What::Switch { why, .. } => Some(why_word(why)),
                _ => None,
            })
            .number("request", |event| match event.what {
                What::Start { request, .. } | What::Finish { request, .. } => {
                    Some(u64::from(request))
                }
                _ => None,
            })
            .text("name", |event| name(&event.what, &names))
            .number("took_ns", |event| match event.what {
                What::IdleExit { took, .. } => stamp(took),
                _ => None,
            })
            .text("value", |event| value(&event.what, &names))
            .batch()
    })
}

fn cpu(cpu: CpuId) -> u64 {
    u64::from(cpu.0)
}

/// Of an interrupt, an idle state, or the group that changed.
fn name(what: &What, names: &Names) -> Option<String> {
    match *what {
        What::InterruptBegin { name, .. } | What::InterruptEnd { name, .. } => {
            Some(names.of_source(name).to_string())
        }
        What::IdleExit { state, .. } => Some(names.of_source(state).to_string()),
        What::Weight { group, .. } => Some(names.of_group(group).to_string()),
        _ => None,
    }
}

/// What something was changed to.
fn value(what: &What, names: &Names) -> Option<String> {
    match *what {
        What::Affinity { cpus, .. } => Some(names.of_cpus(cpus)),
        What::Nice { nice, .. } => Some(nice.to_string()),
        What::Weight { weight, .. } => Some(weight.to_string()),
        What::Off { cause, .. } => Some(cause_word(cause).to_string()),
        _ => None,
    }
}
