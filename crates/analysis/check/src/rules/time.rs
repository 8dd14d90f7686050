//! No time travel: events come by rising moments, and so do the stamps of every request.

use model::trace::Request;
use model::{Nanos, ThreadId, Trace};

use super::Rule;
use crate::fault::Finding;
use crate::scene::Scene;

pub const NAME: &str = "time";

pub struct Time;

impl Rule for Time {
    fn name(&self) -> &'static str {
        NAME
    }

    fn passes(&mut self, scene: &Scene, to: Nanos) -> Option<Finding> {
        let text = || format!("time goes back from {} to {} ns", scene.now.0, to.0);
        (to < scene.now).then(|| Finding::general(text()))
    }

    fn ended(&mut self, scene: &Scene, trace: &Trace) -> Option<Finding> {
        let requests = trace.programs.iter().flat_map(|program| &program.requests);
        // Nothing of the machine may happen between the last event and the end; a client sends without an
        // event, as long as requests may still finish.
        let last = scene.now.max(trace.window.end);
        let end = last.max(trace.window.end + trace.window.span());
        let broken = requests.into_iter().find(|request| !rises(request, last, end));
        let usage = trace.usage.windows(2).find_map(|pair| {
            let falls = |id: &usize| pair[1].cpu_time[*id] < pair[0].cpu_time[*id];
            (0..trace.threads.len()).find(falls)
        });
        let request = broken.map(|request| {
            Finding::general(format!("the stamps of a request do not rise: {request:?}"))
        });
        let falls = |id| Finding::of(ThreadId(id as u32), "the CPU time that it received falls");
        request.or_else(|| usage.map(falls))
    }
}

/// Stamps that were reached rise, none is reached before the one ahead of it, and none lies beyond the run.
fn rises(request: &Request, last: Nanos, end: Nanos) -> bool {
    let Request { intended, sent, started, completed, received, .. } = *request;
    let stamps = [intended, sent, started, completed, received];
    let reached = |stamp: &Nanos, last| *stamp == Nanos::NEVER || *stamp <= last;
    stamps.is_sorted() && reached(&sent, end) && stamps[2..].iter().all(|at| reached(at, last))
}
