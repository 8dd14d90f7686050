//! Axes: from values to user units, and the ticks that people expect.

use model::Nanos;

/// How an axis spaces its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Linear,
    /// By their logarithm; all values are above 0.
    Log,
}

/// About how many steps an upright linear axis has.
pub const STEPS: usize = 5;

/// The values that an axis spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// The spacing.
    pub spacing: Spacing,
    /// The least value.
    pub min: f64,
    /// The greatest value, above the least.
    pub max: f64,
}

impl Domain {
    /// An evenly spaced domain that holds all values and ends at round numbers.
    pub fn linear(values: impl Iterator<Item = f64>) -> Domain {
        let Domain { spacing, min, max } = Domain::tight(values);
        let step = step(max - min, STEPS);
        Domain { spacing, min: (min / step).floor() * step, max: (max / step).ceil() * step }
    }

    /// An evenly spaced domain that ends where the values end.
    pub fn tight(values: impl Iterator<Item = f64>) -> Domain {
        let (min, max) = bounds(values);
        let (min, max) = if max > min { (min, max) } else { (min - 0.5, max + 0.5) };
        Domain { spacing: Spacing::Linear, min, max }
    }

    /// Where a value lies, 0 at the least and 1 at the greatest; values outside stay at the ends.
    pub fn position(&self, value: f64) -> f64 {
        let part = match self.spacing {
            Spacing::Linear => (value - self.min) / (self.max - self.min),
            Spacing::Log => (value / self.min).ln() / (self.max / self.min).ln(),
        };
        part.clamp(0.0, 1.0)
    }

    /// Round values, about `count` of them on a linear axis.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        match self.spacing {
            Spacing::Linear => linear_ticks(self.min, self.max, count),
            Spacing::Log => log_ticks(self.min, self.max, count),
        }
    }
}

/// A value on an axis and its words.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value.
    pub value: f64,
    /// The words.
    pub label: String,
}

/// Ticks of a latency axis: on a linear one all in one unit, on a logarithmic one each in its own.
pub fn latency_ticks(domain: &Domain, count: usize) -> Vec<Tick> {
    let common = Nanos(domain.max as u64).scale();
    let tick = |value: f64| {
        let scale =
            if domain.spacing == Spacing::Log { Nanos(value as u64).scale() } else { common };
        let unit = if value == 0.0 { String::new() } else { format!(" {}", scale.unit) };
        Tick { value, label: format!("{}{unit}", short(value / scale.ns)) }
    };
    domain.ticks(count).into_iter().map(tick).collect()
}

/// A number without the zeros that floating point or formats add.
pub fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (min, max) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), x| (min.min(x), max.max(x)));
    if min > max { (0.0, 1.0) } else { (min, max) }
}

fn step(span: f64, count: usize) -> f64 {
    let raw = span / count as f64;
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.999 * raw);
    factor.unwrap_or(10.0) * power
}

fn linear_ticks(min: f64, max: f64, count: usize) -> Vec<f64> {
    let step = step(max - min, count);
    let first = (min / step - 1e-9).ceil() as i64;
    let last = (max / step + 1e-9).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

fn log_ticks(min: f64, max: f64, count: usize) -> Vec<f64> {
    let (first, last) = (min.log10().floor() as i32, max.log10().ceil() as i32);
    let multiples = |factors: &'static [f64]| -> Vec<f64> {
        let all = (first..=last).flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k)));
        all.filter(|value| *value >= min * 0.999_999 && *value <= max * 1.000_001).collect()
    };
    let choices = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(multiples);
    let [fine, middle, coarse] = choices;
    if fine.len() <= count {
        fine
    } else if middle.len() <= count {
        middle
    } else {
        coarse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(spacing: Spacing, min: f64, max: f64, count: usize) -> Vec<String> {
        let ticks = latency_ticks(&Domain { spacing, min, max }, count);
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn latencies_have_round_ticks() {
        assert_eq!(labels(Spacing::Linear, 0.0, 9.3e6, 5), ["0", "2 ms", "4 ms", "6 ms", "8 ms"]);
        assert_eq!(
            labels(Spacing::Log, 4e5, 2.5e7, 8),
            ["500 us", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms"]
        );
        assert_eq!(
            labels(Spacing::Log, 1e3, 2e9, 8),
            ["1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"]
        );
    }

    #[test]
    fn a_domain_holds_its_values_and_never_divides_by_zero() {
        let domain = Domain::linear([0.37, -0.12].into_iter());
        assert!(domain.min <= -0.12 && domain.max >= 0.37);
        for flat in [Domain::linear([2.0].into_iter()), Domain::linear([].into_iter())] {
            assert!(flat.position(2.0).is_finite() && flat.max > flat.min);
        }
    }
}
