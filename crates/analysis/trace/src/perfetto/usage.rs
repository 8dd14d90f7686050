//! CPU time of each program as a counter, for arms that record nothing finer.

use model::trace::Usage;

use super::Out;
use super::proto::{EventKind, TrackEvent};

/// Writes how many CPUs each program used in each span between two readings.
pub fn encode(out: &mut Out) {
    let recorded = out.recorded;
    for (program, of) in recorded.header.programs.iter().enumerate() {
        let track_uuid = out.counter(&format!("CPUs in use by {}", of.name), "CPUs");
        for pair in recorded.trace.usage.windows(2) {
            let cpu_ns = |usage| cpu_ns(recorded, usage, program);
            let used = cpu_ns(&pair[1]).saturating_sub(cpu_ns(&pair[0]));
            let span = pair[1].at.saturating_sub(pair[0].at).0.max(1);
            let kind = EventKind::Counter.into();
            let double_value = Some(used as f64 / span as f64);
            out.event(
                pair[0].at.0,
                TrackEvent { kind, track_uuid, double_value, ..TrackEvent::default() },
            );
        }
    }
}

fn cpu_ns(recorded: &crate::Recorded, usage: &Usage, program: usize) -> u128 {
    let threads = recorded.header.threads.iter().zip(&usage.cpu_time);
    threads.filter(|(of, _)| **of == program).map(|(_, time)| u128::from(time.0)).sum()
}
