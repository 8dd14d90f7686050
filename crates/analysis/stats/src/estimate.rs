//! A number with its interval, and the laws that intervals are made of.

use statrs::distribution::{Beta, ContinuousCDF, Normal, StudentsT};

/// The probability that an interval misses the truth: ours are 95% intervals.
const MISS: f64 = 0.05;
/// The correction for skewness at most, as a part of the interval's own reach.
const SKEW_CAP: f64 = 1.0 / 3.0;

/// A number with its 95% confidence interval.
///
/// An end (or, with lost requests, the value) that no measurement bounds is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// Whether the interval holds `truth`.
    pub fn covers(&self, truth: f64) -> bool {
        self.low <= truth && truth <= self.high
    }
}

/// How far the mean of a score may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The standard error of the mean.
    pub error: f64,
    /// Degrees of freedom behind that error; 0: the data say nothing about it.
    pub freedom: f64,
    /// The skewness of the mean.
    pub skew: f64,
}

impl Spread {
    /// How many standard errors a 95% interval reaches: Student's t, infinite without freedom.
    pub fn reach(&self) -> f64 {
        if self.freedom <= 0.0 {
            return f64::INFINITY;
        }
        let law = StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).expect("valid by construction");
        law.inverse_cdf(1.0 - MISS / 2.0)
    }

    /// How far below its estimate the mean may be.
    pub fn below(&self) -> f64 {
        let reach = self.reach();
        if self.error == 0.0 && reach.is_finite() {
            0.0
        } else {
            self.error.max(f64::MIN_POSITIVE) * reach
        }
    }

    /// How far above its estimate the mean may be: further, where the score is skewed to that side.
    ///
    /// A sample without its share of rare large values has a low mean and a small error at once. Johnson's
    /// correction (1978, "Modified t tests and confidence intervals for asymmetrical populations") answers
    /// that.
    pub fn above(&self) -> f64 {
        let reach = self.reach();
        let shift = self.skew * (1.0 / 6.0 + reach * reach / 3.0);
        self.below()
            + if reach.is_finite() { shift.clamp(0.0, SKEW_CAP * reach) * self.error } else { 0.0 }
    }

    /// The interval of a mean.
    pub fn around(&self, value: f64) -> Estimate {
        Estimate { value, low: value - self.below(), high: value + self.above() }
    }
}

/// Standard errors that a 95% interval reaches when the error is known exactly.
pub(crate) fn normal_reach() -> f64 {
    Normal::standard().inverse_cdf(1.0 - MISS / 2.0)
}

/// The exact (Clopper-Pearson) 95% interval of a proportion seen `hits` times in `trials`, which need not be
/// whole.
pub(crate) fn exact_proportion(hits: f64, trials: f64) -> (f64, f64) {
    let point = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |law| law.inverse_cdf(p));
    let missed = trials - hits;
    let low = if hits <= 0.0 { 0.0 } else { point(hits, missed + 1.0, MISS / 2.0) };
    let high = if missed <= 0.0 { 1.0 } else { point(hits + 1.0, missed, 1.0 - MISS / 2.0) };
    (low, high)
}
