//! The moments at which something changes for the requests of a service.

use model::{Nanos, ThreadId};

use super::Queued;
use crate::serving::OffSpan;
use crate::sweep::Scene;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edge {
    /// Before the end: a request without a service time has both at once.
    IdealStart,
    IdealEnd,
    Released(u32),
    Completed(u32),
    OffSpan(u32),
    Intended(u32),
    Sent(u32),
    Head(u32),
    /// What follows a request is over, where its thread stays at work.
    Followed,
}

/// All of them, in order of time.
pub(super) fn edges(
    scene: &Scene,
    program: usize,
    queued: &[Queued],
    kept: &[(ThreadId, OffSpan)],
) -> Vec<(Nanos, Edge)> {
    let requests = &scene.trace.programs[program].requests;
    let mut edges = Vec::with_capacity(7 * queued.len() + 2 * kept.len());
    for (at, one) in (0..).zip(queued) {
        let request = &requests[one.subject.request as usize];
        let head = one.subject.head(request);
        edges.push((request.intended, Edge::Intended(at)));
        // Clocks of client and server are one on one machine only.
        edges.push((request.completed.max(request.intended), Edge::Completed(at)));
        edges.push((one.subject.ideal_start, Edge::IdealStart));
        edges.push((one.ideal_end, Edge::IdealEnd));
        edges.push((request.completed.saturating_add(request.service), Edge::Followed));
        if head > request.intended {
            edges.push((request.sent.clamp(request.intended, head), Edge::Sent(at)));
            edges.push((head, Edge::Head(at)));
        }
    }
    for (at, (_, one)) in (0..).zip(kept) {
        edges.extend([(one.from, Edge::OffSpan(at)), (one.to, Edge::Released(at))]);
    }
    edges.retain(|(at, _)| *at != Nanos::NEVER);
    edges.sort_unstable();
    edges
}
