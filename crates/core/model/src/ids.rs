//! Indices with a meaning.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A CPU of the scenario's machine, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CpuId(pub u32);

/// A thread of the run, counted from 0 in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

impl CpuId {
    /// The position in a table with one entry a CPU.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// A part of a list as the kernel writes it, `8` or `0-3`: the numbers. `None` where it is no such part.
    pub fn range(part: &str) -> Option<RangeInclusive<u32>> {
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain)
        };
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = number(first.trim())?..=number(last.trim())?;
        (!range.is_empty()).then_some(range)
    }
}

impl ThreadId {
    /// The position in a table with one entry a thread.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_list_is_one_cpu_or_several() {
        assert_eq!(CpuId::range("8"), Some(8..=8));
        assert_eq!(CpuId::range(" 0-3"), Some(0..=3));
        for wrong in ["", "-", "3-0", "0-", "-3", "+1", "0x1", "1.5", "99999999999"] {
            assert_eq!(CpuId::range(wrong), None, "{wrong}");
        }
    }
}
