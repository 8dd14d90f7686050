//! A line of the kernel's `trace` file.

use model::Nanos;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// When, by CLOCK_MONOTONIC; the kernel prints microseconds.
    pub at: Nanos,
    /// The CPU that recorded it.
    pub cpu: usize,
    /// What it saw.
    pub seen: Seen,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A thread was put into a CPU's queue.
    Wakeup { id: i32, target: usize },
    /// The CPU went from one thread to another.
    Switch { prev: i32, blocks: bool, next: i32 },
}

impl Line {
    /// `None` for what is neither a switch nor a wake-up.
    pub fn read(line: &str) -> Option<Line> {
        if let Some((head, facts)) = line.split_once(": sched_switch: ") {
            let state = fact(facts, " prev_state=")?;
            let blocks = !state.starts_with('R');
            let (prev, next) = (number(facts, " prev_pid=")?, number(facts, " next_pid=")?);
            return Line::at(head, Seen::Switch { prev, blocks, next });
        }
        let (head, facts) = line.split_once(": sched_wakeup: ")?;
        let target = number(facts, " target_cpu=")?;
        Line::at(head, Seen::Wakeup { id: number(facts, " pid=")?, target })
    }

    /// The part before the event's name ends in `[CPU] FLAGS SECONDS.MICROSECONDS`.
    fn at(head: &str, seen: Seen) -> Option<Line> {
        let (rest, stamp) = head.trim_end().rsplit_once(' ')?;
        let (seconds, micros) = stamp.split_once('.')?;
        let at = Nanos::from_secs(seconds.parse().ok()?) + Nanos::from_micros(micros.parse().ok()?);
        let (_, cpu) = rest.rsplit_once('[')?;
        let (cpu, _) = cpu.split_once(']')?;
        Some(Line { at, cpu: cpu.parse().ok()?, seen })
    }
}

/// What stands after a key, up to the next blank. Names of threads may hold blanks, so the last such key counts.
fn fact<'a>(facts: &'a str, key: &str) -> Option<&'a str> {
    let (_, value) = facts.rsplit_once(key)?;
    value.split(' ').next()
}

fn number<N: std::str::FromStr>(facts: &str, key: &str) -> Option<N> {
    fact(facts, key)?.parse().ok()
}
