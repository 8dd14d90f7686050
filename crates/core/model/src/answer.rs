//! The answer of a comparison.

use serde::{Deserialize, Serialize};

/// Whether one side does better than another, by the 95% interval of their ratio. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The whole interval lies below 1, by [`Answer::LEAST`] or more.
    #[serde(rename = "better")]
    Better,
    /// The whole interval lies above 1, by [`Answer::LEAST`] or more.
    #[serde(rename = "worse")]
    Worse,
    /// The interval reaches into what does not matter: the data allow no answer.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

impl Answer {
    /// The least ratio that matters: a difference below it, however sure, is no verdict.
    pub const LEAST: f64 = 1.01;
    /// Pairs of runs that show by themselves how much whole runs differ.
    pub const ENOUGH_PAIRS: usize = 3;
    /// By how much whole runs are taken to differ where fewer pairs leave that unseen.
    pub const UNSEEN: f64 = 1.5;

    /// Of an interval's ends.
    pub fn of(low: f64, high: f64) -> Answer {
        match () {
            () if high < 1.0 / Answer::LEAST => Answer::Better,
            () if low > Answer::LEAST => Answer::Worse,
            () => Answer::CannotTell,
        }
    }

    /// A ratio's interval from so many runs a side: too few show nothing of how much whole runs differ.
    pub fn allowing_for_runs(low: f64, high: f64, runs: usize) -> (f64, f64) {
        if runs < Answer::ENOUGH_PAIRS {
            (low / Answer::UNSEEN, high * Answer::UNSEEN)
        } else {
            (low, high)
        }
    }

    /// The word for it in documents and for people.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Better => "better",
            Answer::Worse => "worse",
            Answer::CannotTell => "cannot tell",
        }
    }
}
