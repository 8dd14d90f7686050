//! The answer of a comparison.

use serde::{Deserialize, Serialize};

/// Whether one side does better than another, by the 95% interval of their ratio. Less is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The whole interval lies below 1.
    #[serde(rename = "better")]
    Better,
    /// The whole interval lies above 1.
    #[serde(rename = "worse")]
    Worse,
    /// The interval holds 1: the data allow either.
    #[serde(rename = "cannot tell")]
    CannotTell,
}

impl Answer {
    /// Of an interval's ends.
    pub fn of(low: f64, high: f64) -> Answer {
        match () {
            () if high < 1.0 => Answer::Better,
            () if low > 1.0 => Answer::Worse,
            () => Answer::CannotTell,
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
