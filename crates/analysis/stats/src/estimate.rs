//! A number with its interval, and the laws that intervals are made of.

use statrs::distribution::{Beta, ContinuousCDF, Gamma, Normal, StudentsT};

/// The probability that an interval misses the truth: ours are 95% intervals.
pub(crate) const MISS: f64 = 0.05;
/// The correction for skewness at most, as a part of the interval's own reach.
const SKEW_CAP: f64 = 1.0 / 3.0;

/// More trials than this with a share below the next are [`beta_quantile`]'s gamma law.
const FAR_TRIALS: f64 = 2e6;
/// See [`FAR_TRIALS`].
const FAR_SHARE: f64 = 1e-4;

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

    /// How far the interval reaches on its longer side, as a share of the value; infinite without an end.
    pub fn relative_reach(&self) -> f64 {
        let reach = (self.value - self.low).max(self.high - self.value) / self.value;
        if reach.is_nan() { f64::INFINITY } else { reach }
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
        self.reach_at(MISS)
    }

    /// The same of an interval that misses the truth with another probability.
    pub(crate) fn reach_at(&self, miss: f64) -> f64 {
        if self.freedom <= 0.0 {
            return f64::INFINITY;
        }
        let law = StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).expect("valid by construction");
        law.inverse_cdf(1.0 - miss / 2.0)
    }

    /// How probable a mean so far from 0, to either side, is where it is 0; 1 where nothing is known.
    pub fn p(&self, mean: f64) -> f64 {
        if self.freedom <= 0.0 || mean == 0.0 || mean.is_nan() {
            return 1.0;
        }
        let law = StudentsT::new(0.0, 1.0, self.freedom.max(1.0)).expect("valid by construction");
        let off = (mean / self.error).abs();
        if off.is_nan() { 1.0 } else { 2.0 * law.sf(off) }
    }

    /// How far below its estimate the mean may be.
    pub fn below(&self) -> f64 {
        self.below_at(MISS)
    }

    /// The same where it may miss the truth with another probability.
    pub fn below_at(&self, miss: f64) -> f64 {
        let reach = self.reach_at(miss);
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
        self.above_at(MISS)
    }

    /// The same where it may miss the truth with another probability.
    pub fn above_at(&self, miss: f64) -> f64 {
        let reach = self.reach_at(miss);
        let shift = self.skew * (1.0 / 6.0 + reach * reach / 3.0);
        self.below_at(miss)
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
    let point = beta_quantile;
    let missed = trials - hits;
    let low = if hits <= 0.0 { 0.0 } else { point(hits, missed + 1.0, MISS / 2.0) };
    let high = if missed <= 0.0 { 1.0 } else { point(hits + 1.0, missed, 1.0 - MISS / 2.0) };
    (low, high)
}

/// A quantile of a beta law. Far out on one side it is a gamma law's: statrs looks for it there without end.
/// The mean is the same, and the spread to a part in 10,000.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let is_far = |part: f64, rest: f64| rest > FAR_TRIALS && part < FAR_SHARE * rest;
    let gamma =
        |shape: f64, p: f64| Gamma::new(shape, 1.0).map_or(f64::NAN, |law| law.inverse_cdf(p));
    if is_far(a, b) {
        gamma(a, p) / (a + b)
    } else if is_far(b, a) {
        1.0 - gamma(b, 1.0 - p) / (a + b)
    } else {
        Beta::new(a, b).map_or(f64::NAN, |law| law.inverse_cdf(p))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// An interval, in time: for some of these statrs alone goes on without end.
    fn soon(hits: f64, trials: f64) -> (f64, f64) {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(exact_proportion(hits, trials)));
        receiver.recv_timeout(Duration::from_secs(20)).expect("an interval at once")
    }

    /// statrs is off by 0.2% at a million.
    fn is_near(found: f64, wanted: f64) -> bool {
        (found / wanted - 1.0).abs() < 3e-3
    }

    /// Three of very many have Poisson's exact interval: 0.61867 to 8.7673.
    #[test]
    fn a_few_of_very_many_have_an_interval_at_once() {
        for trials in [1e6, 1e7, 1e9, 1e13] {
            let (low, high) = soon(3.0, trials);
            assert!(is_near(low * trials, 0.61867) && is_near(high * trials, 8.7673), "{trials}");
            let (low, high) = soon(trials - 3.0, trials);
            let (few, many) = ((1.0 - high) * trials, (1.0 - low) * trials);
            // What differs from 1 in the twelfth digit is coarse.
            assert!(trials > 1e9 || is_near(few, 0.61867) && is_near(many, 8.7673), "{trials}");
        }
    }

    /// Where one law takes over from the other the ends do not jump.
    #[test]
    fn the_laws_agree_where_they_meet() {
        for hits in [1.0, 10.0, 150.0] {
            let ((low, high), (below, above)) = (soon(hits, 1.999e6), soon(hits, 2.001e6 + hits));
            assert!(is_near(low / below, 1.001) && is_near(high / above, 1.001), "{hits}");
        }
    }
}
