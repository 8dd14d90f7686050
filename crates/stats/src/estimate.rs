//! A number with its interval, and the distributions that intervals are made of.

use statrs::distribution::{Beta, ContinuousCDF, Normal, StudentsT};

/// The probability that an interval misses the truth: ours are 95% intervals.
const MISS: f64 = 0.05;

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

/// How far the mean of a score may be off: its standard error, and the degrees of freedom behind that figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The standard error of the mean.
    pub error: f64,
    /// Degrees of freedom; 0: the data say nothing about the error.
    pub freedom: f64,
}

impl Spread {
    /// How many standard errors a 95% interval reaches to each side: Student's t, infinite without freedom.
    pub fn reach(&self) -> f64 {
        if self.freedom <= 0.0 {
            return f64::INFINITY;
        }
        // Below one degree of freedom Student's t has no use; its quantile there is beyond every sample anyway.
        let t = StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).expect("valid by construction");
        t.inverse_cdf(1.0 - MISS / 2.0)
    }

    /// Half the width of a 95% interval.
    pub fn half_width(&self) -> f64 {
        if self.error == 0.0 && self.freedom > 0.0 { 0.0 } else { self.reach() * self.error }
    }

    /// The interval around a mean.
    pub fn around(&self, value: f64) -> Estimate {
        let half = self.half_width();
        Estimate { value, low: value - half, high: value + half }
    }
}

/// Standard errors that a 95% interval reaches when the error is known exactly.
pub(crate) fn normal_reach() -> f64 {
    Normal::standard().inverse_cdf(1.0 - MISS / 2.0)
}

/// The exact (Clopper-Pearson) 95% interval of a proportion seen `hits` times in `trials`, which need not be whole.
pub(crate) fn exact_proportion(hits: f64, trials: f64) -> (f64, f64) {
    let beta = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |law| law.inverse_cdf(p));
    let low = if hits <= 0.0 { 0.0 } else { beta(hits, trials - hits + 1.0, MISS / 2.0) };
    let high =
        if hits >= trials { 1.0 } else { beta(hits + 1.0, trials - hits, 1.0 - MISS / 2.0) };
    (low, high)
}
