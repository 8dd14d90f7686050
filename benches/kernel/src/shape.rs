//! How many pairs play, and in how many processes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Round trips of all pairs together, at least; and of each.
const TRIPS: u32 = 24_000;
const TRIPS_A_PAIR: u32 = 16;
/// Every pair has two threads, and the kernel numbers no more than 32,768.
const MOST_PAIRS: u32 = 15_000;

/// A load: processes, and pairs of threads in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Processes.
    pub processes: u32,
    /// Pairs in each.
    pub pairs: u32,
}

impl Shape {
    /// All pairs: as many threads want the CPUs at any time.
    pub fn queued(self) -> u32 {
        self.processes * self.pairs
    }

    /// Round trips of each pair.
    pub fn trips(self) -> u32 {
        TRIPS_A_PAIR.max(TRIPS / self.queued())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}x{}", self.processes, self.pairs)
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let wanted =
            || format!("expected PROCESSESxPAIRS such as 10x100, {MOST_PAIRS} pairs at most");
        let (processes, pairs) = text.split_once('x').ok_or_else(wanted)?;
        let count = |text: &str| text.parse::<u32>().ok().filter(|count| *count > 0);
        let (processes, pairs) = count(processes).zip(count(pairs)).ok_or_else(wanted)?;
        let fits = processes.checked_mul(pairs).is_some_and(|all| all <= MOST_PAIRS);
        if fits { Ok(Shape { processes, pairs }) } else { Err(wanted()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_or_refused() {
        assert_eq!("10x100".parse(), Ok(Shape { processes: 10, pairs: 100 }));
        for bad in ["", "10", "0x1", "1x0", "ax1", "100x1000", "99999x99999"] {
            bad.parse::<Shape>().unwrap_err();
        }
    }
}
