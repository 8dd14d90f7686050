//! Time as an integer of nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A moment since the start of a run, or a span between two of them: 0 ns to about 584 years.
///
/// Arithmetic that leaves the range panics in tests and wraps in release builds, as for `u64`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Nanos = Nanos(0);
    /// A moment that no run reaches: the reception of a lost request, a timer that is not armed.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// A whole number of microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * 1_000)
    }

    /// A whole number of milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * 1_000_000)
    }

    /// A whole number of seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * 1_000_000_000)
    }

    /// The span in seconds, for rates and people.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`, or zero where `other` is later.
    pub fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or [`Nanos::NEVER`] where that leaves the range.
    pub fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// The first multiple of `period`, above 0, that comes later.
    pub fn next_multiple(self, period: Nanos) -> Nanos {
        Nanos((self.0 / period.0 + 1) * period.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Nanos) {
        *self = *self - other;
    }
}

impl fmt::Display for Nanos {
    /// Three or more significant digits in the largest unit below the value: `850 ns`, `12.5 us`, `3.20 ms`,
    /// `1.25 s`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if *self == Nanos::NEVER {
            return f.pad("never");
        }
        let scale = self.scale();
        f.pad(&format!("{} {}", scale.number(self.0 as f64), scale.unit))
    }
}

/// A unit of time and the decimals that people read in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// `ns`, `us`, `ms` or `s`.
    pub unit: &'static str,
    /// Nanoseconds of one unit.
    pub ns: f64,
    /// Digits after the point.
    pub decimals: usize,
}

impl Scale {
    /// A span in this unit, without the unit's name.
    pub fn number(&self, ns: f64) -> String {
        format!("{:.*}", self.decimals, ns / self.ns)
    }
}

impl Nanos {
    /// The largest unit below the value, with decimals for three significant digits.
    pub fn scale(self) -> Scale {
        let (unit, ns) = match self.0 {
            0..1_000 => return Scale { unit: "ns", ns: 1.0, decimals: 0 },
            1_000..1_000_000 => ("us", 1e3),
            1_000_000..1_000_000_000 => ("ms", 1e6),
            _ => ("s", 1e9),
        };
        let value = self.0 as f64 / ns;
        let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        Scale { unit, ns, decimals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_multiple_is_later() {
        let next = |now| Nanos(now).next_multiple(Nanos(10)).0;
        assert_eq!([0, 9, 10, 11].map(next), [10, 10, 20, 20]);
    }

    #[test]
    fn people_read_the_largest_unit() {
        let shown = |ns| Nanos(ns).to_string();
        assert_eq!(shown(850), "850 ns");
        assert_eq!(shown(12_500), "12.5 us");
        assert_eq!(shown(3_204_000), "3.20 ms");
        assert_eq!(shown(125_000_000_000), "125 s");
        assert_eq!(Nanos::NEVER.to_string(), "never");
    }
}
