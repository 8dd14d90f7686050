//! CPU time of threads, interrupts left out, as the recorded switches tell it.

use std::collections::BTreeMap;

use model::Nanos;

use super::recording::{Kind, Seen};

/// By thread: the CPU time that it had received when a piece of it ended, piece by piece.
#[derive(Default)]
pub(super) struct CpuTime(BTreeMap<u32, Vec<Piece>>);

/// A thread ran from one moment to another.
struct Piece {
    from: Nanos,
    to: Nanos,
    /// What it had received before.
    before: u64,
}

/// A CPU as far as it has been followed.
#[derive(Clone, Copy)]
struct Cpu {
    thread: u32,
    interrupts: u32,
    since: Nanos,
}

impl CpuTime {
    pub fn new(seen: &[Seen]) -> CpuTime {
        let mut cpus = first(seen);
        let mut time = CpuTime::default();
        for one in seen {
            let index = usize::from(one.cpu);
            let mut now = cpus[index];
            match one.kind {
                Kind::Switch { .. } => now.thread = one.thread,
                Kind::Begin { .. } => now.interrupts += 1,
                // One that began before the recording has no place to end.
                Kind::End { .. } => now.interrupts = now.interrupts.saturating_sub(1),
                _ => continue,
            }
            time.pass(&cpus[index], one.at);
            cpus[index] = Cpu { since: one.at, ..now };
        }
        time
    }

    fn pass(&mut self, cpu: &Cpu, to: Nanos) {
        if cpu.thread == 0 || cpu.interrupts > 0 || to <= cpu.since {
            return;
        }
        let pieces = self.0.entry(cpu.thread).or_default();
        let before = pieces.last().map_or(0, |last| last.before + (last.to - last.from).0);
        pieces.push(Piece { from: cpu.since, to, before });
    }

    /// What a thread had received at a moment.
    pub fn until(&self, thread: u32, at: Nanos) -> Nanos {
        let Some(pieces) = self.0.get(&thread) else { return Nanos::ZERO };
        let begun = pieces.partition_point(|piece| piece.from < at);
        let last = begun.checked_sub(1).map(|last| &pieces[last]);
        Nanos(last.map_or(0, |piece| piece.before + (at.min(piece.to) - piece.from).0))
    }
}

/// The thread on each CPU when the recording began: the first one that leaves it.
fn first(seen: &[Seen]) -> Vec<Cpu> {
    let count = seen.iter().map(|one| usize::from(one.cpu) + 1).max().unwrap_or(0);
    let since = seen.first().map_or(Nanos::ZERO, |first| first.at);
    let mut cpus = vec![Cpu { thread: 0, interrupts: 0, since }; count];
    for one in seen.iter().rev() {
        if let Kind::Switch { from, .. } = one.kind {
            cpus[usize::from(one.cpu)].thread = from;
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::super::recording::{Left, Level};
    use super::*;

    #[test]
    fn interrupts_are_not_the_threads_time() {
        let seen = |at, thread, kind| Seen { at: Nanos(at), cpu: 1, thread, kind };
        let soft = Level::Soft;
        let time = CpuTime::new(&[
            seen(10, 7, Kind::Switch { from: 0, left: Left::Preempted }),
            seen(14, 0, Kind::Begin { vector: 3, level: soft }),
            seen(15, 0, Kind::Begin { vector: 4, level: Level::Hard }),
            seen(16, 0, Kind::End { vector: 4, level: Level::Hard }),
            seen(19, 0, Kind::End { vector: 3, level: soft }),
            seen(25, 0, Kind::Switch { from: 7, left: Left::Preempted }),
        ]);
        let until = |at| time.until(7, Nanos(at)).0;
        assert_eq!([9, 12, 14, 17, 20, 25, 99].map(until), [0, 2, 4, 4, 5, 10, 10]);
    }

    #[test]
    fn the_thread_on_a_cpu_at_the_beginning_is_the_first_to_leave_it() {
        let seen = |at, cpu, thread, from| Seen {
            at: Nanos(at),
            cpu,
            thread,
            kind: Kind::Switch { from, left: Left::Preempted },
        };
        let time = CpuTime::new(&[seen(10, 0, 0, 8), seen(30, 1, 0, 7), seen(40, 1, 7, 0)]);
        assert_eq!([10, 25, 30, 40].map(|at| time.until(7, Nanos(at)).0), [0, 15, 20, 20]);
    }
}
