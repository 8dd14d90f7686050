//! Looks at growing numbers of seeds, until every service's tail can be told.

use model::Answer;
use report::document::Verdict;
use report::{HEADLINE, ROUND};
use stats::FALSE_ALARM;

/// When a comparison's runs are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    /// The seeds of each look, which rise to all of them.
    pub seeds: Vec<usize>,
}

impl Looks {
    /// One look at all seeds.
    pub fn once(all: usize) -> Looks {
        Looks { seeds: vec![all] }
    }

    /// Looks from so many seeds on, each at twice as many as the one before, the last at all. Fewer than
    /// [`Answer::ENOUGH_PAIRS`] show nothing of how much runs differ.
    pub fn doubling(first: usize, all: usize) -> Looks {
        let first = first.max(Answer::ENOUGH_PAIRS);
        let growing = std::iter::successors(Some(first), |seeds| seeds.checked_mul(2));
        Looks { seeds: growing.take_while(|seeds| *seeds < all).chain([all]).collect() }
    }

    /// The probability of a false alarm that one look may have: all together have [`FALSE_ALARM`], by
    /// Bonferroni's inequality.
    pub fn miss(&self) -> f64 {
        FALSE_ALARM / self.seeds.len() as f64
    }
}

/// Whether each policy's tail is told from the first one's, in every service, and the time of its rounds.
pub(crate) fn is_sure(verdicts: &[Verdict]) -> bool {
    let counts = |one: &&Verdict| one.a != one.b && [HEADLINE, ROUND].contains(&&*one.metric);
    verdicts.iter().filter(counts).all(is_told)
}

/// Better or worse, or surely by less than what matters.
fn is_told(verdict: &Verdict) -> bool {
    let within = |end: Option<f64>| {
        end.is_some_and(|end| (1.0 / Answer::LEAST..=Answer::LEAST).contains(&end))
    };
    verdict.answer != Answer::CannotTell
        || (within(verdict.ratio.low) && within(verdict.ratio.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_up_to_all_seeds_and_share_the_false_alarms() {
        assert_eq!(Looks::doubling(1, 40).seeds, [3, 6, 12, 24, 40]);
        assert_eq!(Looks::doubling(5, 20).seeds, [5, 10, 20]);
        assert_eq!(Looks::doubling(10, 4).seeds, [4]);
        for all in 1..200 {
            let looks = Looks::doubling(3, all);
            assert!((looks.miss() * looks.seeds.len() as f64 - FALSE_ALARM).abs() < 1e-12);
            assert!(looks.seeds.is_sorted_by(|a, b| a < b) && looks.seeds.last() == Some(&all));
        }
    }
}
