//! Numbers with units, as people write them in scenarios and on the command line.
//!
//! Every number is read as a decimal, digit by digit: `0.1us` is 100 ns and never 99. The errors say what was
//! found and what was expected, and stand alone: callers put the place or the option in front.

use crate::Nanos;

/// Units of time in nanoseconds.
const TIMES: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];

/// Units that spans are written in.
const WRITTEN: [(&str, u64); 4] =
    [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Factors of counts and rates.
const FACTORS: [(&str, u64); 4] = [("", 1), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];

/// Rates are read in millionths of a request a second, so that `0.5/s` is exact too.
const RATE_STEP: u64 = 1_000_000;

/// What is said of a text that is not the quantity it should be.
struct Words {
    noun: &'static str,
    expected: &'static str,
    fraction: &'static str,
    overflow: &'static str,
}

const DURATION: Words = Words {
    noun: "duration",
    expected: "expected a duration such as 50us, 10ms or 1.5s",
    fraction: "has a part of a nanosecond",
    overflow: "is longer than 584 years",
};
const RATE: Words = Words {
    noun: "rate",
    expected: "expected a rate such as 100/s or 1.6k/s",
    fraction: "has more than six decimals",
    overflow: "is too high",
};
const COUNT: Words = Words {
    noun: "count",
    expected: "expected a count such as 200, 10k or 1.5M",
    fraction: "is not whole",
    overflow: "is too large",
};

/// Reads a duration: a decimal number with `ns`, `us`, `ms`, `s` or `min`. `0` alone is zero.
///
/// Errors: no unit, an unknown one, anything but digits and one point, more than 584 years, a part of a
/// nanosecond.
pub fn duration(text: &str) -> Result<Nanos, String> {
    if text.trim() == "0" {
        return Ok(Nanos::ZERO);
    }
    let of_unit = |unit: &str| match (unit, factor(&TIMES, unit)) {
        ("", _) => Err("has no unit".to_string()),
        (_, None) => Err(format!("has the unknown unit `{unit}`")),
        (_, Some(factor)) => Ok(factor),
    };
    read(text, &DURATION, of_unit).map(Nanos)
}

/// A span as [`duration`] reads it, exactly: `100us`, `86400s`.
pub fn written(span: Nanos) -> String {
    let whole = WRITTEN.iter().find(|(_, ns)| span.0.is_multiple_of(*ns));
    let (unit, ns) = whole.expect("every span is whole in ns");
    format!("{}{unit}", span.0 / ns)
}

/// [`duration`] of what goes on for long: there `10m` are minutes as with `sleep`.
pub fn long_duration(text: &str) -> Result<Nanos, String> {
    match text.strip_suffix('m') {
        Some(minutes) => duration(&format!("{minutes}min")),
        None => duration(text),
    }
}

/// Reads a rate in requests a second: `100/s`, `1.6k/s`, `2M/s`.
///
/// Errors: no `/s`, an unknown factor, more than six decimals, above about 1.8e13 a second.
pub fn rate_per_s(text: &str) -> Result<f64, String> {
    let of_unit = |unit: &str| {
        let prefix = unit.strip_suffix("/s").ok_or("does not end in `/s`")?;
        Ok(multiple(prefix)? * RATE_STEP)
    };
    Ok(read(text, &RATE, of_unit)? as f64 / RATE_STEP as f64)
}

/// Reads a count: `200`, `10k`, `1.5M`, `1G`.
///
/// Errors: an unknown factor, a number that is not whole, above 2^64 - 1.
pub fn count(text: &str) -> Result<u64, String> {
    read(text, &COUNT, multiple)
}

/// A number times the factor that `of_unit` makes of what follows it, or says is wrong with that.
fn read(
    text: &str,
    words: &Words,
    of_unit: impl Fn(&str) -> Result<u64, String>,
) -> Result<u64, String> {
    let text = text.trim();
    let wrong = |what: &str| format!("`{}` {what}; {}", text.escape_debug(), words.expected);
    let (number, unit) = split(text).ok_or_else(|| wrong(&format!("is no {}", words.noun)))?;
    let factor = of_unit(unit).map_err(|what| wrong(&what))?;
    match scaled(number, factor) {
        Scaled::Whole(number) => Ok(number),
        Scaled::Fraction => Err(wrong(words.fraction)),
        Scaled::Overflow => Err(wrong(words.overflow)),
    }
}

fn multiple(prefix: &str) -> Result<u64, String> {
    factor(&FACTORS, prefix).ok_or_else(|| format!("has the unknown factor `{prefix}`"))
}

/// The number in front and what follows it, without the space between; `None` where no digit leads.
fn split(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (digits(whole) && digits(part)).then_some((number, unit.trim_start()))
}

fn factor(table: &[(&str, u64)], unit: &str) -> Option<u64> {
    table.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// A decimal times a factor.
enum Scaled {
    Whole(u64),
    Fraction,
    Overflow,
}

/// `number` is digits with at most one point between them.
fn scaled(number: &str, factor: u64) -> Scaled {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = part.trim_end_matches('0');
    let Some(high) = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(factor)) else {
        return Scaled::Overflow;
    };
    // 10^18 is past every factor's zeros: more decimals cannot come out whole.
    if part.len() > 18 {
        return Scaled::Fraction;
    }
    let tenths = 10u128.pow(part.len() as u32);
    let low = part.parse::<u128>().unwrap_or(0) * u128::from(factor);
    if low % tenths != 0 {
        return Scaled::Fraction;
    }
    match high.checked_add((low / tenths) as u64) {
        Some(sum) => Scaled::Whole(sum),
        None => Scaled::Overflow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_to_the_nanosecond() {
        let read = |text| duration(text).unwrap().0;
        assert_eq!(read("50us"), 50_000);
        assert_eq!(read("50 µs"), 50_000);
        assert_eq!(read("0.1us"), 100);
        assert_eq!(read("1.5s"), 1_500_000_000);
        assert_eq!(read("2min"), 120_000_000_000);
        assert_eq!(read("0.000000001s"), 1);
        assert_eq!(
            read("9007199254.740993s"),
            9_007_199_254_740_993_000,
            "not every f64 holds this"
        );
        assert_eq!(read("18446744073.709551615s"), u64::MAX);
        assert_eq!(read("0"), 0);
    }

    #[test]
    fn a_span_is_written_as_it_is_read() {
        for (text, again) in
            [("50us", "50us"), ("1.5s", "1500ms"), ("24min", "1440s"), ("7ns", "7ns")]
        {
            let span = duration(text).unwrap();
            assert_eq!((&*written(span), duration(again)), (again, Ok(span)), "{text}");
        }
    }

    #[test]
    fn wrong_durations_say_what_is_wrong() {
        let error = |text| duration(text).unwrap_err();
        assert_eq!(error("50"), "`50` has no unit; expected a duration such as 50us, 10ms or 1.5s");
        assert_eq!(
            error("5m"),
            "`5m` has the unknown unit `m`; expected a duration such as 50us, 10ms or 1.5s"
        );
        assert_eq!(
            error("1.5ns"),
            "`1.5ns` has a part of a nanosecond; expected a duration such as 50us, 10ms or 1.5s"
        );
        assert_eq!(
            error("20000000000s"),
            "`20000000000s` is longer than 584 years; expected a duration such as 50us, 10ms or 1.5s"
        );
        assert_eq!(
            error("18446744073.709551616s"),
            "`18446744073.709551616s` is longer than 584 years; expected a duration such as 50us, 10ms or 1.5s"
        );
        for text in ["", "ms", "-1s", "1.s", ".5s", "1.2.3s", "1e3s", "+1s", "1,5s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_goes_on_for_long_is_read_in_minutes() {
        assert_eq!(long_duration("10m"), Ok(Nanos::from_millis(600_000)));
        assert_eq!(long_duration("90s"), Ok(Nanos::from_millis(90_000)));
        assert!(long_duration("1h").is_err() && long_duration("m").is_err());
    }

    #[test]
    fn rates_are_exact() {
        let read = |text| rate_per_s(text).unwrap();
        assert_eq!(read("12k/s"), 12_000.0);
        assert_eq!(read("1.6k/s"), 1_600.0);
        assert_eq!(read("0.5/s"), 0.5);
        assert_eq!(read("2M/s"), 2e6);
        assert_eq!(
            rate_per_s("12k"),
            Err("`12k` does not end in `/s`; expected a rate such as 100/s or 1.6k/s".into())
        );
        assert_eq!(
            rate_per_s("12K/s"),
            Err("`12K/s` has the unknown factor `K`; expected a rate such as 100/s or 1.6k/s"
                .into())
        );
        assert!(rate_per_s("99999G/s").is_err());
        assert!(rate_per_s("0.0000001/s").is_err());
    }

    #[test]
    fn counts_are_whole() {
        let read = |text| count(text).unwrap();
        assert_eq!(read("200"), 200);
        assert_eq!(read("10M"), 10_000_000);
        assert_eq!(read("1.5k"), 1_500);
        assert_eq!(read("18446744073709551615"), u64::MAX);
        assert_eq!(
            count("1.5"),
            Err("`1.5` is not whole; expected a count such as 200, 10k or 1.5M".into())
        );
        assert_eq!(
            count("ten"),
            Err("`ten` is no count; expected a count such as 200, 10k or 1.5M".into())
        );
        assert!(count("18446744073709551616").is_err());
        assert!(count("100000000000G").is_err());
    }
}
