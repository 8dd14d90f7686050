//! Programs that do the same again and again as fast as they can: how long one time takes.

use model::Trace;
use model::scenario::Kind;

use crate::summary::window_requests;

/// The mean time of a run of a command that began inside the window, or of a round of a fork-join program, in
/// nanoseconds. `None` without any, and for other programs.
pub fn round_ns(kind: &Kind, trace: &Trace, program: usize) -> Option<f64> {
    let (total, rounds) = match kind {
        Kind::Command { .. } => {
            let spans = window_requests(trace, program).map(|run| run.latency().0);
            (spans.clone().sum(), spans.count() as u64)
        }
        Kind::ForkJoin { .. } => (trace.window.span().0, trace.programs[program].rounds),
        _ => return None,
    };
    (rounds > 0).then(|| total as f64 / rounds as f64)
}
