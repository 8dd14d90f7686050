//! Whether scheduling events tell what CPU times tell.

use libtest_mimic::Failed;
use model::event::{Event, What};
use model::{Arm, CpuId, Nanos, ThreadId, Trace};

use crate::runs::{batch, expect, recorded, scenario, service};

/// CPU time by switches is CPU time by the kernel's account; where one CPU's switches are left out it is not.
pub fn tell_cpu_time(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(2, &(service("2ms", 0.4) + &batch("batch", 2, "")))?;
    let trace = recorded(arm, &scenario, "eevdf")?;
    let events = trace.events.as_deref().ok_or("the arm has recorded no events")?;
    let apart = |events: &[Event]| {
        let all = [0, 1].map(|program| share(&trace, &by_events(&trace, events), program));
        let due = [0, 1].map(|program| share(&trace, &by_usage(&trace), program));
        (all[0] - due[0]).abs().max((all[1] - due[1]).abs())
    };
    let whole = apart(events);
    expect(whole < 0.02, "shares by events and by usage lie apart", &[whole])?;
    let on_first = |event: &&Event| !matches!(event.what, What::Switch { cpu: CpuId(1), .. });
    let torn: Vec<Event> = events.iter().filter(on_first).copied().collect();
    let control = apart(&torn);
    expect(control > 0.1, "the control: without one CPU's switches", &[control])
}

/// The part of two CPUs' time in the window that a program had.
fn share(trace: &Trace, cpu_time: &[Nanos], program: usize) -> f64 {
    let threads = trace.threads.iter().zip(cpu_time);
    let own = threads.filter(|(thread, _)| thread.program == program);
    own.map(|(_, time)| time.as_secs_f64()).sum::<f64>() / (2.0 * trace.window.span().as_secs_f64())
}

fn by_usage(trace: &Trace) -> Vec<Nanos> {
    let (Some(first), Some(last)) = (trace.usage.first(), trace.usage.last()) else {
        return vec![Nanos::ZERO; trace.threads.len()];
    };
    let pairs = first.cpu_time.iter().zip(&last.cpu_time);
    pairs.map(|(first, last)| last.saturating_sub(*first)).collect()
}

fn by_events(trace: &Trace, events: &[Event]) -> Vec<Nanos> {
    let window = trace.window;
    let inside = |at: Nanos| at.max(window.start).min(window.end);
    let mut running: [Option<(ThreadId, Nanos)>; 2] = [None; 2];
    let mut ran = vec![Nanos::ZERO; trace.threads.len()];
    let mut leave = |left: Option<(ThreadId, Nanos)>, at: Nanos| {
        if let Some((thread, since)) = left {
            ran[thread.index()] += inside(at).saturating_sub(inside(since));
        }
    };
    for event in events {
        if let What::Switch { cpu, to, .. } = event.what {
            leave(running[cpu.index()].take(), event.at);
            running[cpu.index()] = to.map(|thread| (thread, event.at));
        }
    }
    running.into_iter().for_each(|left| leave(left, window.end));
    ran
}
