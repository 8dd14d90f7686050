//! Requests as slices, each with its stages inside, and those that wait as a counter.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use model::Nanos;
use model::trace::Request;

use super::Out;
use super::proto::Track;

/// Writes every program's requests.
pub fn encode(out: &mut Out) {
    let recorded = out.recorded;
    for (program, of) in recorded.header.programs.iter().zip(&recorded.trace.programs) {
        if !of.requests.is_empty() {
            slices(out, &program.name, &of.requests);
            waiting(out, &program.name, &of.requests);
        }
    }
}

/// Tracks of one program on which requests do not overlap: each takes the first that is free. Perfetto shows
/// those of one name as one.
struct Lanes {
    tracks: Vec<u64>,
    free: BTreeSet<usize>,
    busy: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Lanes {
    /// The track of a request that lasts from `from` to `until`.
    fn take(&mut self, out: &mut Out, program: &str, from: Nanos, until: Nanos) -> u64 {
        while let Some(Reverse((end, lane))) = self.busy.peek().copied().filter(|r| r.0.0 <= from) {
            debug_assert!(end <= from);
            self.busy.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            let name = format!("requests of {program}");
            let track = Track { name, ..Track::default() };
            self.tracks.push(out.track(track));
            self.tracks.len() - 1
        });
        self.busy.push(Reverse((until, lane)));
        self.tracks[lane]
    }
}

/// The stages of a request that came to an end, with their ends.
fn stages(request: &Request) -> [(&'static str, Nanos); 4] {
    [
        ("held by the client", request.sent),
        ("waits", request.started),
        ("is served", request.completed),
        ("answer under way", request.received),
    ]
}

/// The last moment that the trace knows of a request: a lost one ends there.
fn last(request: &Request) -> Nanos {
    let known = stages(request).into_iter().map(|(_, end)| end).filter(|end| *end != Nanos::NEVER);
    known.max().unwrap_or(request.intended).max(request.intended)
}

fn slices(out: &mut Out, program: &str, requests: &[Request]) {
    let mut lanes = Lanes { tracks: Vec::new(), free: BTreeSet::new(), busy: BinaryHeap::new() };
    for (index, request) in requests.iter().enumerate() {
        let end = last(request);
        let track = lanes.take(out, program, request.intended, end);
        let name = if request.is_lost() { "lost request" } else { "request" };
        let facts = [("request", index as u64), ("service_ns", request.service.0)];
        out.begin(track, request.intended.0, name, &facts);
        let mut from = request.intended;
        for (stage, until) in stages(request) {
            // Clocks of client and server are one, but a stage may be empty.
            if until != Nanos::NEVER && until > from {
                out.begin(track, from.0, stage, &[]);
                out.end(track, until.0);
                from = until;
            }
        }
        out.end(track, end.0);
    }
}

/// A counter of the requests that should have been sent and that no thread has begun with.
fn waiting(out: &mut Out, program: &str, requests: &[Request]) {
    let track = out.counter(&format!("requests of {program} that wait"), "requests");
    let arrivals = requests.iter().map(|request| (request.intended, 1));
    let starts = requests.iter().map(|request| (request.started, -1));
    let mut changes: Vec<(Nanos, i64)> =
        arrivals.chain(starts).filter(|(at, _)| *at != Nanos::NEVER).collect();
    changes.sort_unstable();
    let mut waits = 0;
    for of_a_moment in changes.chunk_by(|a, b| a.0 == b.0) {
        waits += of_a_moment.iter().map(|(_, change)| change).sum::<i64>();
        out.value(track, of_a_moment[0].0.0, waits);
    }
}
