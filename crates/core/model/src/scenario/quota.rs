//! Limits of a group's CPU time: `cpu.max` and `cpu.max.burst`.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::table::Table;
use super::value::{duration, found};
use crate::{Nanos, units};

/// So much CPU time in every period and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// CPU time of all threads of the group and of those below it, in a period.
    pub quota: Nanos,
    /// How often the quota comes anew.
    pub period: Nanos,
    /// What unused quota may add up to beside that of the present period; at most the quota.
    pub burst: Nanos,
}

/// The kernel's least quota and period, and its longest period (`min_cfs_quota_period` and
/// `max_cfs_quota_period`).
const LEAST: Nanos = Nanos::from_millis(1);
const PERIODS: RangeInclusive<Nanos> = LEAST..=Nanos::from_secs(1);
const QUOTAS: RangeInclusive<Nanos> = LEAST..=Nanos::from_secs(4_096);
const DEFAULT_PERIOD: Nanos = Nanos::from_millis(100);

impl Quota {
    /// So much in every period, and nothing saved for later.
    pub fn new(quota: Nanos, period: Nanos) -> Quota {
        Quota { quota, period, burst: Nanos::ZERO }
    }

    /// How many CPUs it comes to.
    pub fn cpus(&self) -> f64 {
        self.quota.as_secs_f64() / self.period.as_secs_f64()
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} in {}", self.quota, self.period)?;
        if self.burst > Nanos::ZERO { write!(f, ", burst {}", self.burst) } else { Ok(()) }
    }
}

/// The keys `max` and `burst` of a table. `None` where `max` is not there or wrong; `Some(None)`: no limit.
pub(super) fn quota(table: &Table) -> Option<Option<Quota>> {
    let max = table.optional("max", max);
    let burst = table.optional("burst", duration);
    if burst.is_some() && table.get("max").is_none() {
        table.missing(&["max"]);
    }
    let limit = max?;
    let most = limit.map_or(Nanos::ZERO, |limit| limit.quota);
    let burst = burst.unwrap_or(Nanos::ZERO);
    if burst > most {
        let most = units::written(most);
        table.wrong("burst", format!("found {burst}; expected at most the quota, \"{most}\""));
    }
    Some(limit.map(|limit| Quota { burst, ..limit }))
}

const EXPECTED: &str = "a quota and its period in quotes such as \"50ms/100ms\" (half of one CPU), or \"max\" for no limit";

/// `QUOTA/PERIOD`, `QUOTA` alone, or `max`.
fn max(value: &DeValue) -> Result<Option<Quota>, String> {
    let text =
        value.as_str().ok_or_else(|| format!("found {}; expected {EXPECTED}", found(value)))?;
    if text.trim() == "max" {
        return Ok(None);
    }
    let (quota, period) = text.split_once('/').unwrap_or((text, ""));
    let quota = within("quota", quota, QUOTAS)?;
    let period =
        if period.is_empty() { DEFAULT_PERIOD } else { within("period", period, PERIODS)? };
    Ok(Some(Quota::new(quota, period)))
}

fn within(what: &str, text: &str, range: RangeInclusive<Nanos>) -> Result<Nanos, String> {
    let span = units::duration(text).map_err(|wrong| {
        let (wrong, _) = wrong.rsplit_once("; expected").unwrap_or((&wrong, ""));
        format!("{what}: {wrong}; expected {EXPECTED}")
    })?;
    if range.contains(&span) {
        return Ok(span);
    }
    let (low, high) = (units::written(*range.start()), units::written(*range.end()));
    Err(format!("found a {what} of {span}; expected {low} to {high}, as in \"50ms/100ms\""))
}
