//! A trace into a file.

use std::io::{self, Write};

use model::Nanos;
use model::event::Event;
use model::trace::{Request, Trace};
use serde::Serialize;

use crate::block::{End, EventEntry, Kind, Requests, Stages, Usage, put};
use crate::{Header, SCHEMA};

/// Entries of a block: some tens of kilobytes, so that a fault in a file can be told closely.
const BLOCK: usize = 8_192;

/// Writes a trace. The same trace gives the same bytes.
pub fn write(header: &Header, trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{SCHEMA}")?;
    put(out, Kind::Header, &serde_json::to_vec(header)?)?;
    for (index, program) in trace.programs.iter().enumerate() {
        for requests in program.requests.chunks(BLOCK) {
            let stamps = deltas(requests);
            block(out, Kind::Requests, &Requests { program: index as u64, stamps })?;
        }
        for stages in program.stages.chunks(BLOCK) {
            let moments = between(stages);
            block(out, Kind::Stages, &Stages { program: index as u64, moments })?;
        }
    }
    usage(out, trace)?;
    let mut last = Nanos::ZERO;
    for events in trace.events.as_deref().unwrap_or_default().chunks(BLOCK) {
        let entries: Vec<EventEntry> = events.iter().map(|event| entry(&mut last, event)).collect();
        block(out, Kind::Events, &entries)?;
    }
    let rounds = trace.programs.iter().map(|program| program.rounds).collect();
    block(out, Kind::End, &End { counters: trace.counters, rounds })
}

fn block(out: &mut impl Write, kind: Kind, content: &impl Serialize) -> io::Result<()> {
    put(out, kind, &postcard::to_stdvec(content).map_err(io::Error::other)?)
}

fn entry(last: &mut Nanos, event: &Event) -> EventEntry {
    let since = event.at.saturating_sub(*last);
    *last = event.at;
    (since.0, event.what)
}

/// Neighbouring stamps are near each other, so their differences are short.
fn deltas(requests: &[Request]) -> Vec<[i64; 6]> {
    let mut last = Nanos::ZERO;
    let since = |before: Nanos, at: Nanos| at.0.wrapping_sub(before.0) as i64;
    let one = |r: &Request| {
        let before = std::mem::replace(&mut last, r.intended);
        [
            since(before, r.intended),
            since(r.intended, r.sent),
            since(r.sent, r.started),
            since(r.started, r.completed),
            since(r.completed, r.received),
            r.service.0 as i64,
        ]
    };
    requests.iter().map(one).collect()
}

fn between(stages: &[model::trace::Stages]) -> Vec<[i64; 6]> {
    let mut last = Nanos::ZERO;
    let one = |stages: &model::trace::Stages| {
        let moments = stages.moments();
        let mut before = std::mem::replace(&mut last, moments[0]);
        moments.map(|at| at.0.wrapping_sub(std::mem::replace(&mut before, at).0) as i64)
    };
    stages.iter().map(one).collect()
}

fn usage(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    let mut last = vec![Nanos::ZERO; trace.threads.len()];
    for sample in &trace.usage {
        let pairs = sample.cpu_time.iter().zip(&mut last);
        let grown =
            pairs.map(|(now, last)| now.saturating_sub(std::mem::replace(last, *now)).0).collect();
        block(out, Kind::Usage, &Usage { at: sample.at, grown })?;
    }
    Ok(())
}
