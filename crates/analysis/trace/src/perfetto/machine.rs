//! What the machine does beside threads: interrupts and exits from idle states on tracks of each CPU, and
//! changes from outside.

use std::collections::BTreeMap;

use model::event::{Event, Interrupt, NameId, What};
use model::{CpuId, Nanos};

use super::Out;
use super::proto::Track;
use crate::words::{kind_word, sentence};

/// Writes what the trace holds of it.
pub fn encode(out: &mut Out) {
    let recorded = out.recorded;
    let events = recorded.trace.events.as_deref().unwrap_or_default();
    let mut machine = Machine { out, tracks: BTreeMap::new(), open: BTreeMap::new() };
    events.iter().for_each(|event| machine.add(event));
    machine.close(events.last().map_or(Nanos::ZERO, |event| event.at));
}

struct Machine<'a, 'b> {
    out: &'a mut Out<'b>,
    /// Tracks by name, each made when it is needed first.
    tracks: BTreeMap<String, u64>,
    /// Interrupts of each CPU that are not over.
    open: BTreeMap<CpuId, u32>,
}

impl Machine<'_, '_> {
    fn add(&mut self, event: &Event) {
        match event.what {
            What::InterruptBegin { cpu, kind, name } => self.begin(event.at, cpu, kind, name),
            What::InterruptEnd { cpu, .. } => self.end(event.at, cpu),
            What::IdleExit { cpu, state, took } => {
                let name = format!("leaves {}", self.out.names.of_source(state));
                let track = self.track(format!("CPU {} awakes", cpu.0));
                self.out.begin(track, event.at.0, &name, &[("took_ns", took.0)]);
                self.out.end(track, (event.at + took).0);
            }
            What::Affinity { .. }
            | What::Nice { .. }
            | What::Weight { .. }
            | What::Offline { .. }
            | What::Online { .. } => {
                let text = sentence(&event.what, &self.out.names);
                let track = self.track("changes".to_string());
                self.out.instant(track, event.at.0, text.trim());
            }
            _ => {}
        }
    }

    fn begin(&mut self, at: Nanos, cpu: CpuId, kind: Interrupt, name: NameId) {
        let name = format!("{} {}", kind_word(kind), self.out.names.of_source(name));
        let track = self.interrupts(cpu);
        *self.open.entry(cpu).or_default() += 1;
        self.out.begin(track, at.0, &name, &[]);
    }

    /// The first of a trace may have begun before it.
    fn end(&mut self, at: Nanos, cpu: CpuId) {
        let Some(open) = self.open.get_mut(&cpu).filter(|open| **open > 0) else { return };
        *open -= 1;
        let track = self.interrupts(cpu);
        self.out.end(track, at.0);
    }

    fn track(&mut self, name: String) -> u64 {
        if let Some(uuid) = self.tracks.get(&name) {
            return *uuid;
        }
        let uuid = self.out.track(Track { name: name.clone(), ..Track::default() });
        self.tracks.insert(name, uuid);
        uuid
    }

    fn interrupts(&mut self, cpu: CpuId) -> u64 {
        self.track(format!("CPU {} interrupts", cpu.0))
    }

    /// What is not over at the end of the trace ends there.
    fn close(mut self, at: Nanos) {
        for (cpu, open) in std::mem::take(&mut self.open) {
            let track = self.interrupts(cpu);
            (0..open).for_each(|_| self.out.end(track, at.0));
        }
    }
}
