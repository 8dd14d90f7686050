//! The kernel's account of a thread's time.

use std::fs;

use model::Nanos;

/// What /proc/PID/task/TID/schedstat says of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// CPU time received.
    pub cpu: Nanos,
    /// Time spent waiting for a CPU.
    pub wait: Nanos,
    /// How often it was put on a CPU.
    pub switches: u64,
}

impl Reading {
    /// The kernel's line; `None` where it is none.
    pub fn parse(text: &[u8]) -> Option<Reading> {
        let mut numbers = str::from_utf8(text).ok()?.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Reading { cpu: Nanos(next()?), wait: Nanos(next()?), switches: next()? })
    }

    /// The calling thread's own; zero where the kernel does not tell.
    pub fn own() -> Reading {
        let text = fs::read("/proc/thread-self/schedstat").unwrap_or_default();
        Reading::parse(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read_and_a_torn_one_is_not() {
        let reading = Reading { cpu: Nanos(77_104_271), wait: Nanos(7_276_842), switches: 447 };
        assert_eq!(Reading::parse(b"77104271 7276842 447\n"), Some(reading));
        assert_eq!(Reading::parse(b"77104271 72"), None);
    }
}
