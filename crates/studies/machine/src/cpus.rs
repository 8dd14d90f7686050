//! Sets of CPUs, as the kernel writes them: `0-3,8` and `00000000,0000010f`.

use std::collections::BTreeSet;
use std::fmt;

use model::CpuId;

/// Numbers above this are no CPUs: the kernel's own bound.
const MOST: u32 = 8192;

/// A set of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(BTreeSet<usize>);

impl Cpus {
    /// Reads a list such as `0-3,8`; an empty text is the empty set.
    pub fn read_list(text: &str) -> Option<Cpus> {
        let parts = text.trim().split(',').filter(|part| !part.is_empty());
        let mut cpus = BTreeSet::new();
        for part in parts {
            let range = CpuId::range(part).filter(|range| *range.end() < MOST)?;
            cpus.extend(range.map(|cpu| cpu as usize));
        }
        Some(Cpus(cpus))
    }

    /// A list written by hand: not empty.
    pub fn from_user(text: &str) -> Result<Cpus, String> {
        Cpus::read_list(text).filter(|cpus| !cpus.is_empty()).ok_or_else(|| {
            format!("`{text}` is no list of CPUs; expected one such as 2-3 or 0,4-7")
        })
    }

    /// Reads a mask such as `f` or `00000000,0000010f`.
    pub fn read_mask(text: &str) -> Option<Cpus> {
        let mut cpus = BTreeSet::new();
        for (at, word) in text.trim().rsplit(',').enumerate() {
            let word = u32::from_str_radix(word, 16).ok()?;
            cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| at * 32 + bit));
        }
        Some(Cpus(cpus))
    }

    /// The mask, in words of 32 CPUs.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |at: usize| {
            let bits = (0..32).filter(|bit| self.0.contains(&(at * 32 + bit)));
            bits.fold(0u32, |word, bit| word | 1 << bit)
        };
        let words: Vec<String> = (0..words).rev().map(|at| format!("{:08x}", word(at))).collect();
        words.join(",")
    }

    /// Those of `self` that are not in `other`.
    pub fn without(&self, other: &Cpus) -> Cpus {
        Cpus(&self.0 - &other.0)
    }

    /// Those in both.
    pub fn and(&self, other: &Cpus) -> Cpus {
        Cpus(&self.0 & &other.0)
    }

    /// Those in either.
    pub fn or(&self, other: &Cpus) -> Cpus {
        Cpus(&self.0 | &other.0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// In ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<usize> for Cpus {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Cpus {
        Cpus(cpus.into_iter().collect())
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let shown = ranges.iter().map(|(first, last)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        });
        f.write_str(&shown.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Cpus {
        Cpus::read_list(text).expect("a list")
    }

    #[test]
    fn lists_and_masks_say_the_same() {
        for (text, mask) in [
            ("", "00000000"),
            ("0", "00000001"),
            ("0-3,8", "0000010f"),
            ("31-32,64", "00000001,00000001,80000000"),
        ] {
            assert_eq!(list(text).to_string(), text);
            assert_eq!(list(text).mask(), mask);
            assert_eq!(Cpus::read_mask(mask), Some(list(text)));
        }
        assert_eq!(Cpus::read_mask("f\n"), Some(list("0-3")));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["a", "3-1", "1-", "0-99999999", "1;2"] {
            assert_eq!(Cpus::read_list(text), None, "{text}");
        }
        Cpus::from_user("").unwrap_err();
    }

    #[test]
    fn sets_are_sets() {
        assert_eq!(list("0-3").without(&list("1-2")), list("0,3"));
        assert_eq!(list("0-3").and(&list("2-5")), list("2-3"));
        assert_eq!(list("0").or(&list("2")), list("0,2"));
    }
}
