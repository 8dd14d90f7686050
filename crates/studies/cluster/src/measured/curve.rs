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
    ///
    /// Before the first point all requests are slower. A curve does not say how fast the fastest were, only
    /// how many were no slower than its first point: they count as taking that long, so that no answer is
    /// faster than any that was seen.
    pub fn proportion(&self, threshold: Nanos) -> Estimate {
        let at = threshold.0 as f64;
        let next = self.points.partition_point(|point| point.latency_ns <= at);
        match (next.checked_sub(1).map(|last| self.points[last]), self.points.get(next)) {
            // So many are surely slower; up to all may be.
            (None, Some(first)) => Estimate { value: 1.0, low: first.proportion.low, high: 1.0 },
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

    /// The inverse of [`Curve::proportion`]: what is not slower than the first point takes its latency.
    pub fn latency_ns(&self, beyond: f64) -> f64 {
        let next = self.points.partition_point(|point| point.proportion.value > beyond);
        let to = self.points.get(next);
        let Some(from) = next.checked_sub(1).map(|last| self.points[last]) else {
            return to.map_or(f64::NAN, |first| first.latency_ns);
        };
        let (low, share) = (from.latency_ns, from.proportion.value);
        match to {
            Some(to) => {
                let part = (share / beyond).ln() / (share / to.proportion.value).ln();
                low + (to.latency_ns - low) * if part.is_finite() { part } else { 1.0 }
            }
            None => low + (self.max_ns.unwrap_or(low) - low) * (1.0 - beyond / share),
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
        assert!(fast.value == 1.0 && fast.high == 1.0 && fast.low < 0.4, "{fast:?}");
        let slowest = curve.proportion(Nanos(12_000));
        assert!(slowest.value == 0.0 && slowest.low == 0.0 && slowest.high > 0.0, "{slowest:?}");
        let lost = Curve { max_ns: None, ..exponential() };
        assert_eq!(lost.proportion(Nanos(1 << 60)), lost.points[9].proportion);
        assert_eq!(curve.latency_ns(0.0), 12e3);
        assert_eq!(curve.latency_ns(1.0), 1e3);
    }

    /// Services that all take 1 ms, and half of which wait first: nothing is faster than 1 ms.
    #[test]
    fn nothing_is_faster_than_the_first_point() {
        let point = |latency_ns: f64, value: f64| {
            let proportion = Estimate { value, low: 0.9 * value, high: 1.1 * value };
            Point { latency_ns, proportion }
        };
        let curve = Curve { points: vec![point(1e6, 0.5), point(2e6, 0.1)], max_ns: Some(4e6) };
        let above = |ns: u64| curve.proportion(Nanos(ns)).value;
        assert_eq!([0, 500_000, 999_999].map(above), [1.0; 3]);
        assert_eq!([0.5, 0.6, 0.75, 0.999, 1.0].map(|beyond| curve.latency_ns(beyond)), [1e6; 5]);
        // The control: from the first point on the curve is asked.
        assert!((above(1_000_000) - 0.5).abs() < 1e-12 && above(1_500_000) < 0.25);
        assert!(curve.latency_ns(0.499) > 1e6);
    }
}
