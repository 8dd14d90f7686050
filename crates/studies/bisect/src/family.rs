//! How the probability of any wrong answer is shared out.

use gate::FAMILY;

/// How often a version's runs are looked at: each look has twice the runs of the one before.
pub(crate) const LOOKS: u32 = 3;
/// Answers beyond those that a search needs where every version tells.
const SPARE: u32 = 3;

/// The shares of one search: half of [`FAMILY`] for its ends, that they differ and by how much, and half for
/// all versions between them, by Bonferroni's inequality.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// Versions between the ends that may be asked: beyond them nothing is left to share.
    pub answers: u32,
}

impl Family {
    /// For a search that needs so many answers.
    pub fn of(needed: u32) -> Family {
        Family { answers: needed + SPARE }
    }

    /// A look at whether the ends differ, and as much for how much they do at least.
    pub fn of_ends(self) -> f64 {
        FAMILY / 4.0 / f64::from(LOOKS)
    }

    /// A look at a version between them.
    pub fn of_a_look(self) -> f64 {
        FAMILY / 2.0 / f64::from(LOOKS * self.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_have_the_family_s_probability() {
        for needed in 0..12 {
            let family = Family::of(needed);
            let looks = f64::from(LOOKS);
            let all =
                looks * (2.0 * family.of_ends() + f64::from(family.answers) * family.of_a_look());
            assert!((all - FAMILY).abs() < 1e-12, "{all}");
        }
    }
}
