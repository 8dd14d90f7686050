//! A tail as points: what documents keep of a distribution.

use model::Nanos;
use stats::Estimate;

/// A point: so many requests are slower than this.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub latency_ns: f64,
    pub proportion: Estimate,
}

/// Points with latencies that rise and proportions that fall, at least one.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub points: Vec<Point>,
    /// The slowest request; `None` where some were lost.
    pub max_ns: Option<f64>,
}

impl Curve {
    /// Between two points proportions are taken to fall evenly on a logarithmic axis, as they do in the tail
    /// of a queue, and the ends of their intervals with them.
    pub fn proportion(&self, threshold: Nanos) -> Estimate {
        let at = threshold.0 as f64;
        let next = self.points.partition_point(|point| point.latency_ns <= at);
        match (next.checked_sub(1).map(|last| self.points[last]), self.points.get(next)) {
            (None, Some(first)) => {
                let value = 1.0 - (1.0 - first.proportion.value) * at / first.latency_ns;
                Estimate { value, low: first.proportion.low, high: 1.0 }
            }
            (Some(from), Some(to)) => {
                let part = (at - from.latency_ns) / (to.latency_ns - from.latency_ns);
                let (a, b) = (from.proportion, to.proportion);
                Estimate {
                    value: between(a.value, b.value, part),
                    low: between(a.low, b.low, part),
                    high: between(a.high, b.high, part),
                }
            }
            (Some(last), None) => self.beyond(last, at),
            (None, None) => Estimate { value: f64::NAN, low: f64::NAN, high: f64::NAN },
        }
    }

    /// Past the last point, up to the slowest request; lost ones are slower than any threshold.
    fn beyond(&self, last: Point, at: f64) -> Estimate {
        let Some(max) = self.max_ns else { return last.proportion };
        let left = ((max - at) / (max - last.latency_ns)).clamp(0.0, 1.0);
        let left = if max > last.latency_ns { left } else { 0.0 };
        let value = last.proportion.value * left;
        // Where nothing is known of the ends, NaN, that stays so.
        Estimate { value, low: 0.0 * last.proportion.low, high: last.proportion.high }
    }

    /// The inverse of [`Curve::proportion`].
    pub fn latency_ns(&self, beyond: f64) -> f64 {
        let next = self.points.partition_point(|point| point.proportion.value > beyond);
        let before = next.checked_sub(1).map(|last| self.points[last]);
        let (low, from) = before.map_or((0.0, 1.0), |one| (one.latency_ns, one.proportion.value));
        match self.points.get(next) {
            Some(to) => {
                let part = (from / beyond).ln() / (from / to.proportion.value).ln();
                let part = if before.is_some() {
                    part
                } else {
                    (from - beyond) / (from - to.proportion.value)
                };
                low + (to.latency_ns - low) * if part.is_finite() { part } else { 1.0 }
            }
            None => low + (self.max_ns.unwrap_or(low) - low) * (1.0 - beyond / from),
        }
    }
}

fn between(a: f64, b: f64, part: f64) -> f64 {
    if a > 0.0 && b > 0.0 { a * (b / a).powf(part) } else { a + (b - a) * part }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// e^-t at a few places, 1 us a mean.
    fn exponential() -> Curve {
        let point = |t: u32| {
            let value = (-f64::from(t)).exp();
            let proportion = Estimate { value, low: 0.9 * value, high: 1.1 * value };
            Point { latency_ns: f64::from(t) * 1e3, proportion }
        };
        Curve { points: (1..=10).map(point).collect(), max_ns: Some(12e3) }
    }

    #[test]
    fn between_points_a_tail_is_exponential() {
        let curve = exponential();
        for t in [1.0f64, 1.5, 4.2, 9.9] {
            let found = curve.proportion(Nanos((t * 1e3) as u64));
            assert!((found.value / (-t).exp() - 1.0).abs() < 1e-6, "{t}: {found:?}");
            assert!((found.high / found.value - 1.1).abs() < 1e-6);
            assert!((curve.latency_ns((-t).exp()) - t * 1e3).abs() < 1e-3, "{t}");
        }
    }

    #[test]
    fn beyond_the_points_the_ends_are_open() {
        let curve = exponential();
        let fast = curve.proportion(Nanos(100));
        assert!(fast.value > 0.9 && fast.high == 1.0 && fast.low < 0.4, "{fast:?}");
        let slowest = curve.proportion(Nanos(12_000));
        assert!(slowest.value == 0.0 && slowest.low == 0.0 && slowest.high > 0.0, "{slowest:?}");
        let lost = Curve { max_ns: None, ..exponential() };
        assert_eq!(lost.proportion(Nanos(1 << 60)), lost.points[9].proportion);
        assert_eq!(curve.latency_ns(0.0), 12e3);
        assert_eq!(curve.latency_ns(1.0), 0.0);
    }
}
