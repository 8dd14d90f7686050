//! Figures as people read them: three significant digits, a unit, the interval in the unit of its value.

use model::Nanos;
use unicode_width::UnicodeWidthStr;

use crate::document::{Estimate, Range};

/// What stands where nothing is known.
pub const UNKNOWN: &str = "-";

/// A span of time; NaN and negative spans count as zero.
pub fn span(ns: f64) -> String {
    whole(ns).to_string()
}

/// A span that a user chose, without the zeros that a measured one carries: `5 ms`, `2.5 ms`.
pub fn round_span(ns: u64) -> String {
    let scale = Nanos(ns).scale();
    let number = scale.number(ns as f64);
    let short = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &number
    };
    format!("{short} {}", scale.unit)
}

/// A latency: (value, interval), `8.12 ms` and `[7.90, 8.40]`.
pub fn latency(q: &Estimate) -> (String, String) {
    let scale = whole(q.value.or(q.low).unwrap_or(0.0)).scale();
    estimate(q, |ns| scale.number(ns), &format!(" {}", scale.unit))
}

/// A ratio: `1.04x` and its interval. One that lies apart from 1 does not look like it, down to a
/// hundred-thousandth.
pub fn ratio(q: &Estimate) -> (String, String) {
    let nearest = q.low.filter(|low| *low > 1.0).or(q.high.filter(|high| *high < 1.0));
    let hidden = |digits: usize| {
        nearest.is_some_and(|end| format!("{end:.digits$}") == format!("{:.digits$}", 1.0))
    };
    let shown = q.value.filter(|value| *value > 0.0).or(q.low.filter(|low| *low > 0.0)).or(q.high);
    let least = decimals(shown.unwrap_or(0.0));
    let digits = (least..5).find(|digits| !hidden(*digits)).unwrap_or(5);
    estimate(q, |x| format!("{x:.digits$}"), "x")
}

/// A proportion in percent: `0.020%` and its interval.
pub fn percent(q: &Estimate) -> (String, String) {
    let shown = q.value.filter(|value| *value > 0.0).or(q.high).unwrap_or(0.0);
    let digits = percent_decimals(shown);
    estimate(q, |x| format!("{:.digits$}", 100.0 * x), "%")
}

/// A share in percent, without an interval.
pub fn share(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_string(), |share| format!("{:.1}%", 100.0 * share))
}

/// A load: `1180/s` and its interval, whole from 10 on.
pub fn rate(q: &Estimate) -> (String, String) {
    let number = |x: f64| {
        if x < 10.0 { format!("{x:.2}") } else { format!("{x:.0}") }
    };
    estimate(q, number, "/s")
}

/// A plain number and its interval.
pub fn number_within(q: &Estimate) -> (String, String) {
    let digits = decimals(q.value.or(q.low).or(q.high).unwrap_or(0.0));
    estimate(q, |x| format!("{x:.digits$}"), "")
}

/// A plain number with three significant digits, at most three decimals.
pub fn number(x: Option<f64>) -> String {
    match x {
        None => UNKNOWN.to_string(),
        Some(x) if x > 0.0 && x < 0.0005 => "<0.001".to_string(),
        Some(x) => format!("{:.*}", decimals(x), x),
    }
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(n: Option<u64>) -> String {
    let Some(n) = n else { return UNKNOWN.to_string() };
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// From the least to the greatest: `-0.020 .. 0.060`, three decimals.
pub fn range(range: &Range, unit: &str) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) => format!("{min:.3} .. {max:.3}{unit}"),
        _ => UNKNOWN.to_string(),
    }
}

/// A command line that a shell reads back as it was.
pub fn command(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Figures joined by ", ": `1, 2, 3`.
pub fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Words in lines of at most `width` columns, as far as no single word is wider.
pub fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() && last.width() + 1 + word.width() > width {
            lines.push(word.to_string());
        } else {
            let space = if last.is_empty() { "" } else { " " };
            *last = format!("{last}{space}{word}");
        }
    }
    lines
}

fn estimate(q: &Estimate, number: impl Fn(f64) -> String, unit: &str) -> (String, String) {
    let number = |x: f64| if x == 0.0 { "0".to_string() } else { number(x) };
    let value = match (q.value, q.low) {
        (Some(value), _) => format!("{}{unit}", number(value)),
        (None, Some(low)) if low > 0.0 => {
            return (format!("> {}{unit}", number(low)), String::new());
        }
        (None, _) => return (UNKNOWN.to_string(), String::new()),
    };
    let interval = match (q.low, q.high) {
        (None, None) => String::new(),
        (low, high) => {
            let end = |bound: Option<f64>, open: &str| bound.map_or(open.to_string(), number);
            format!("[{}, {}]", end(low, "0"), end(high, "inf"))
        }
    };
    (value, interval)
}

fn whole(ns: f64) -> Nanos {
    Nanos(ns.round() as u64)
}

fn decimals(x: f64) -> usize {
    match x.abs() {
        0.0 => 0,
        x if x < 0.1 => 3,
        x if x < 10.0 => 2,
        x if x < 100.0 => 1,
        _ => 0,
    }
}

/// Two significant digits of small percentages, up to a millionth.
fn percent_decimals(proportion: f64) -> usize {
    if proportion <= 0.0 {
        return 0;
    }
    let magnitude = (100.0 * proportion).log10().floor();
    (1.0 - magnitude).clamp(1.0, 6.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_unit_of_its_value() {
        let shown = latency(&Estimate::new(8_123_456.0, 899_000.0, 12_400_000.0));
        assert_eq!(shown, ("8.12 ms".to_string(), "[0.90, 12.40]".to_string()));
    }

    #[test]
    fn unbounded_and_unknown_are_shown_as_such() {
        let infinite = Estimate::new(f64::INFINITY, 2e9, f64::INFINITY);
        assert_eq!(latency(&infinite).0, "> 2.00 s");
        let no_upper = Estimate::new(4e6, 3e6, f64::INFINITY);
        assert_eq!(latency(&no_upper).1, "[3.00, inf]");
        assert_eq!(latency(&Estimate::default()), (UNKNOWN.to_string(), String::new()));
        assert_eq!(latency(&Estimate::exact(50_000.0)), ("50.0 us".to_string(), String::new()));
    }

    #[test]
    fn small_proportions_keep_their_digits() {
        let shown = |p| percent(&Estimate::exact(p)).0;
        assert_eq!(shown(0.5), "50.0%");
        assert_eq!(shown(0.000_213), "0.021%");
        assert_eq!(shown(0.0), "0%");
        assert_eq!(percent(&Estimate::new(0.0, 0.0, 0.00037)).1, "[0, 0.037]");
    }

    #[test]
    fn a_ratio_apart_from_1_is_not_rounded_to_1() {
        let shown = |value, low, high| ratio(&Estimate::new(value, low, high));
        let both = |value: &str, interval: &str| (value.to_string(), interval.to_string());
        assert_eq!(shown(1.0006, 1.0002, 1.2), both("1.0006x", "[1.0002, 1.2000]"));
        assert_eq!(shown(1.04, 0.98, 1.11), both("1.04x", "[0.98, 1.11]"));
        assert_eq!(shown(1.0, 1.0, 1.0), both("1.00x", "[1.00, 1.00]"));
        assert_eq!(shown(1.000_6, 0.9, 1.2), both("1.00x", "[0.90, 1.20]"));
        assert_eq!(shown(0.99, 0.98, 0.999_7), both("0.9900x", "[0.9800, 0.9997]"));
        assert_eq!(shown(0.0, 0.0, 0.081), both("0x", "[0, 0.081]"));
        assert_eq!(number(Some(0.0001)), "<0.001");
    }

    #[test]
    fn counts_are_grouped_and_commands_quoted() {
        assert_eq!(count(Some(1_234_567)), "1,234,567");
        assert_eq!(count(Some(999)), "999");
        let words = ["rearguard", "compare", "my file.toml", "it's"].map(String::from);
        assert_eq!(command(&words), r"rearguard compare 'my file.toml' 'it'\''s'");
    }
}
