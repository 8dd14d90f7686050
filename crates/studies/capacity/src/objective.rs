//! An objective of a service's tail.

use std::fmt;
use std::str::FromStr;

use model::{Failure, Nanos, units};

/// At most so many requests may be slower than so long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// A request slower than this is an outlier.
    pub threshold: Nanos,
    /// Outliers over requests at most: above 0, below 1.
    pub proportion: f64,
}

impl FromStr for Objective {
    type Err = Failure;

    /// Reads `10ms=0.1%`.
    fn from_str(text: &str) -> Result<Objective, Failure> {
        let wrong = |what: &str| {
            let expected = "expected DURATION=PERCENT such as 10ms=0.1%: at most 0.1% of requests slower than 10 ms";
            Failure::Input(format!("`{}`: {what}{expected}", text.escape_debug()))
        };
        let (threshold, percent) = text.split_once('=').ok_or_else(|| wrong(""))?;
        let threshold = units::duration(threshold).map_err(|why| wrong(&format!("{why}; ")))?;
        let number = percent.trim().strip_suffix('%').and_then(|number| number.parse().ok());
        let percent: f64 = number.ok_or_else(|| wrong("no percentage; "))?;
        if threshold == Nanos::ZERO || !(percent > 0.0 && percent < 100.0) {
            return Err(wrong("the duration must be above 0, the percentage between 0 and 100; "));
        }
        Ok(Objective { threshold, proportion: percent / 100.0 })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let percent = 100.0 * self.proportion;
        write!(f, "at most {percent:.6}")?;
        write!(f, "% of requests slower than {}", self.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_a_duration_and_a_percentage() {
        let read = |text: &str| text.parse::<Objective>();
        let objective = Objective { threshold: Nanos(10_000_000), proportion: 0.001 };
        assert_eq!(read("10ms=0.1%"), Ok(objective));
        assert_eq!(read("10ms = 0.1%"), Ok(objective));
        for wrong in [
            "10ms",
            "p99.9<10ms",
            "10ms=0.001",
            "10=0.1%",
            "0=1%",
            "1ms=0%",
            "1ms=100%",
            "1ms=NaN%",
        ] {
            let message = read(wrong).unwrap_err().to_string();
            assert!(message.contains("such as 10ms=0.1%"), "{message}");
        }
    }
}
