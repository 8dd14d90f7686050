//! HdrHistogram's table of percentiles, as `outputPercentileDistribution` and wrk2 print it.

use model::Nanos;
use stats::Estimate;

use super::curve::{Curve, Point};
use super::{Measured, Shape};

/// Whether a text holds such a table: its heading is always the same.
pub(super) fn is_table(text: &str) -> bool {
    text.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("Value") && words.next() == Some("Percentile")
    })
}

/// Reads the rows below the heading: value, percentile as a fraction, count up to it. Without an interval: a
/// table has forgotten the order of its samples.
pub(super) fn read(text: &str, unit: Nanos) -> Result<Measured, String> {
    // The table ends with remarks, each behind a `#`.
    let body = text.lines().skip_while(|line| !line.trim_start().starts_with("Value")).skip(1);
    let rows = body.map(str::trim).take_while(|line| !line.starts_with('#'));
    let rows = rows.filter(|line| !line.is_empty()).map(row);
    let rows: Vec<(f64, f64, Option<u64>)> = rows.collect::<Result<_, _>>()?;
    let max_ns = rows.last().map(|(value, ..)| value * unit.0 as f64);
    let requests = rows.last().and_then(|(.., count)| *count);
    let mut points: Vec<Point> = Vec::new();
    for (value, percentile, _) in rows.iter().filter(|(_, percentile, _)| *percentile < 1.0) {
        let value_of = 1.0 - percentile;
        let point = Point {
            latency_ns: value * unit.0 as f64,
            proportion: Estimate { value: value_of, low: f64::NAN, high: f64::NAN },
        };
        // Rows of one value: the last says how many are above it.
        points.pop_if(|last| last.latency_ns == point.latency_ns);
        points.push(point);
    }
    if points.is_empty() {
        return Err("a table of percentiles without rows".to_string());
    }
    let shape = Shape::Curve(Curve { points, max_ns });
    let name = String::new();
    Ok(Measured { name, requests, rate_per_s: None, threshold: None, counted: None, shape })
}

/// A value, the share of requests up to it, and, where a third column says it, their number.
fn row(line: &str) -> Result<(f64, f64, Option<u64>), String> {
    let wrong = || format!("found `{}`; expected a value and a percentile", line.escape_debug());
    let mut words = line.split_whitespace().map(|word| word.parse().map_err(|_| wrong()));
    let mut number = || words.next().unwrap_or_else(|| Err(wrong()));
    let (value, percentile) = (number()?, number()?);
    Ok((value, percentile, line.split_whitespace().nth(2).and_then(|count| count.parse().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.500     0.000000            1         1.00
       1.000     0.500000           50         2.00
       1.500     0.900000           90        10.00
       1.500     0.950000           95        20.00
       4.000     1.000000          100          inf
#[Mean    =        1.100, StdDeviation   =        0.5]
";

    #[test]
    fn a_table_is_a_curve_without_intervals() {
        assert!(is_table(TABLE) && !is_table("#[StartTime: 1]\n0.1,1.0,2.0,abc"));
        let measured = read(TABLE, Nanos::from_millis(1)).expect("a table");
        assert_eq!(measured.requests, Some(100));
        let slow = measured.proportion(Nanos::from_micros(1_500));
        assert!((slow.value - 0.05).abs() < 1e-9 && slow.low.is_nan(), "{slow:?}");
        assert_eq!(measured.proportion(Nanos::from_millis(4)).value, 0.0);
    }

    #[test]
    fn a_broken_table_is_named() {
        assert!(read("Value Percentile\n", Nanos(1)).unwrap_err().contains("without rows"));
        assert!(read("Value Percentile\n1 x\n", Nanos(1)).unwrap_err().contains("`1 x`"));
    }
}
