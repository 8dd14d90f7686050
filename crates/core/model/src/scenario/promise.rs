//! Promises to groups: how many of their requests may be slower than what, and what they may take for it.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::table::Table;
use super::value::found;
use super::{Group, Machine};
use crate::{Nanos, units};

/// At most so many of a group's requests are slower than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// Slower requests are outliers.
    pub within: Nanos,
    /// How many of a million requests may be.
    pub outliers_per_million: u32,
    /// What the group may have of the machine's CPU time as long as others want it, in millionths; its due is
    /// not less for that.
    pub at_most_per_million: u32,
}

/// A promise sooner than a switch and an interrupt is none; one of more than 10 s nothing needs.
const SPANS: RangeInclusive<Nanos> = Nanos::from_micros(100)..=Nanos::from_secs(10);
const MILLION: u32 = 1_000_000;
const DEFAULT_AT_MOST: u32 = MILLION / 2;

impl Promise {
    /// What all groups with promises may have together, in millionths of the machine: a twentieth stays for
    /// the others, as for other classes beside real-time ones in Linux (`sched_rt_runtime_us`).
    pub const TOGETHER: u32 = MILLION / 100 * 95;

    /// The group and the promise of `NAME: 10ms=0.1%, at most 60%`.
    pub fn to_group(text: &str) -> Result<(&str, Promise), String> {
        let (name, promise) = text.rsplit_once(": ").ok_or(
            "expected a cgroup or unit and what it is promised, such as 'web.service: 10ms=0.1%'",
        )?;
        Ok((name.trim(), Promise::read(promise.trim())?))
    }

    /// `10ms=0.1%`, with the default of what it may take, or `10ms=0.1%, at most 60%`.
    pub fn read(text: &str) -> Result<Promise, String> {
        const EXPECTED: &str = "expected a time and a share of requests such as \"10ms=0.1%\"";
        let wrong = || format!("found `{}`; {EXPECTED}", text.escape_debug());
        let (requests, at_most) = text.split_once(", at most ").unwrap_or((text, ""));
        let (within, outliers) = requests.split_once('=').ok_or_else(wrong)?;
        let within = units::duration(within.trim())
            .map_err(|wrong| format!("{wrong}, as in \"10ms=0.1%\""))?;
        if !SPANS.contains(&within) {
            let (least, most) = (units::written(*SPANS.start()), units::written(*SPANS.end()));
            return Err(format!(
                "found a time of {within}; expected {least} to {most}, as in \"10ms=0.1%\""
            ));
        }
        let share = |text: &str| {
            per_million(text.trim()).map_err(|wrong| format!("{wrong}, as in \"10ms=0.1%\""))
        };
        let outliers_per_million = share(outliers)?;
        let at_most_per_million =
            if at_most.is_empty() { DEFAULT_AT_MOST } else { share(at_most)? };
        Ok(Promise { within, outliers_per_million, at_most_per_million })
    }

    /// What is wrong with promises that are to be kept together.
    pub fn excess(promises: impl Iterator<Item = Promise>) -> Option<String> {
        let sum: u64 = promises.map(|promise| u64::from(promise.at_most_per_million)).sum();
        let percent = |per_million: u64| per_million as f64 / 1e4;
        let most = u64::from(Promise::TOGETHER);
        (sum > most).then(|| {
            let (sum, most) = (percent(sum), percent(most));
            format!(
                "all promises together may take {sum}% of the machine; expected {most}% at most: lower `at_most` of some"
            )
        })
    }

    /// What the group may have, in millionths of a CPU.
    pub fn share(&self, machine: &Machine) -> u64 {
        u64::from(self.at_most_per_million) * u64::from(machine.cpus)
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let percent = |per_million: u32| f64::from(per_million) / 1e4;
        let (outliers, most) = (self.outliers_per_million, self.at_most_per_million);
        write!(f, "{}={}%, at most {}%", self.within, percent(outliers), percent(most))
    }
}

/// A percentage above 0 and below 100, in millionths.
fn per_million(text: &str) -> Result<u32, String> {
    const EXPECTED: &str = "expected a percentage such as \"0.1%\", 0.0001% to 99%";
    let digits = text.strip_suffix('%').and_then(|number| {
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        (part.len() <= 4).then(|| format!("{whole}{part:0<4}"))
    });
    let number = digits.filter(|digits| digits.chars().all(|c| c.is_ascii_digit()));
    let share = number.and_then(|digits| digits.parse().ok());
    share
        .filter(|share| (1..=MILLION / 100 * 99).contains(share))
        .ok_or_else(|| format!("found `{}`; {EXPECTED}", text.escape_debug()))
}

/// The keys `promise` and `at_most` of a table.
pub(super) fn promise(table: &Table) -> Option<Promise> {
    let text = |value: &DeValue| value.as_str().map(str::to_string).ok_or_else(|| found(value));
    let quoted = |value: &DeValue, form| {
        text(value).map_err(|found| format!("found {found}; expected {form} in quotes"))
    };
    let promise = table.optional("promise", |value| {
        Promise::read(&quoted(value, "a promise such as \"10ms=0.1%\"")?)
    });
    let at_most = table.optional("at_most", |value| {
        per_million(quoted(value, "a percentage such as \"60%\"")?.trim())
    });
    if at_most.is_some() && table.get("promise").is_none() {
        table.missing(&["promise"]);
    }
    let promise = promise?;
    Some(Promise { at_most_per_million: at_most.unwrap_or(promise.at_most_per_million), ..promise })
}

/// What is wrong with the promises of all groups together, and with which key.
pub fn conflict(groups: &[Group]) -> Option<(&'static str, String)> {
    let promised = groups.iter().filter(|group| group.promise.is_some());
    for group in promised.clone() {
        let above = std::iter::successors(group.parent, |&at| groups[at].parent);
        if let Some(outer) = above.map(|at| &groups[at]).find(|outer| outer.promise.is_some()) {
            let (inner, outer) = (&group.name, &outer.name);
            let text = "which has a promise, too: leave one of them out";
            return Some(("promise", format!("`{inner}` lies in `{outer}`, {text}")));
        }
    }
    Promise::excess(promised.filter_map(|group| group.promise)).map(|text| ("at_most", text))
}
