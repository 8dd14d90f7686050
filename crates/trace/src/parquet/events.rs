//! The table of events: columns that an event says nothing about are null.

use std::io;
use std::path::Path;

use model::CpuId;
use model::event::{Event, What};

use super::table::{Column, number, text, write};
use super::{id, stamp};
use crate::Recorded;
use crate::names::Names;
use crate::words::{place, subject, why_word, word};

pub fn table(recorded: &Recorded, path: &Path, header: &str) -> io::Result<()> {
    let names = Names::new(&recorded.header);
    let names = &names;
    let columns: Vec<Column<Event>> = vec![
        number("at_ns", |event: &Event| stamp(event.at)),
        text("event", |event: &Event| Some(word(&event.what).to_string())),
        number("cpu", |event: &Event| place(&event.what).map(cpu)),
        number("thread", |event: &Event| subject(&event.what).map(id)),
        number("from_thread", |event: &Event| match event.what {
            What::Switch { from, .. } => from.map(id),
            _ => None,
        }),
        number("from_cpu", |event: &Event| match event.what {
            What::Migrate { from, .. } => Some(cpu(from)),
            What::Wake { by, .. } => by.map(cpu),
            _ => None,
        }),
        text("why", |event: &Event| match event.what {
            What::Switch { why, .. } => Some(why_word(why).to_string()),
            _ => None,
        }),
        number("request", |event: &Event| match event.what {
            What::Start { request, .. } | What::Finish { request, .. } => Some(u64::from(request)),
            _ => None,
        }),
        text("name", |event: &Event| name(&event.what, names)),
        number("took_ns", |event: &Event| match event.what {
            What::IdleExit { took, .. } => stamp(took),
            _ => None,
        }),
        text("value", |event: &Event| value(&event.what, names)),
    ];
    write(path, &columns, recorded.trace.events.as_deref().unwrap_or_default(), header)
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
        _ => None,
    }
}
