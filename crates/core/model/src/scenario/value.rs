//! Readers of single values. Their errors say what was found and what was expected.

use toml::de::{DeInteger, DeValue};

use super::problem::did_you_mean;
use super::table::quoted;
use crate::{CpuId, Nanos, units};

/// A list of durations, for messages.
pub(super) const DURATIONS: &str = "[\"150us\", \"1ms\"]";
/// Of a name.
const MOST_LETTERS: usize = 64;
/// Of a group's path: what the kernel has for a file's.
const MOST_PATH_LETTERS: usize = 4_095;
/// Of a file's text in a message.
const MOST_QUOTED: usize = 200;

/// A value as messages name it.
pub fn found(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("`{}`", clipped(text)),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(flag) => format!("`{flag}`"),
        DeValue::Datetime(_) => "a date".to_string(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_string(),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a table".to_string(),
    }
}

/// A file's text as a message quotes it.
pub(super) fn clipped(text: &str) -> String {
    let shown: String = text.chars().take(MOST_QUOTED).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{}{more}", shown.escape_debug())
}

fn text<'a>(value: &'a DeValue, expected: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("found {}; expected {expected}", found(value)))
}

/// A word of a command line.
pub(super) fn argument(value: &DeValue) -> Result<String, String> {
    let word = text(value, "a word in quotes such as \"-g\"")?;
    match word.contains('\0') || word.len() > MOST_PATH_LETTERS {
        true => {
            Err(format!("expected a word of at most {MOST_PATH_LETTERS} bytes, none of them 0"))
        }
        false => Ok(word.to_string()),
    }
}

/// A duration, zero included, which needs no unit.
pub fn duration(value: &DeValue) -> Result<Nanos, String> {
    if matches!(value, DeValue::Integer(number) if integer(number) == Some(0)) {
        return Ok(Nanos::ZERO);
    }
    units::duration(text(value, "a duration in quotes such as \"50us\", \"10ms\" or \"1.5s\"")?)
}

/// A duration above zero.
pub fn span(value: &DeValue) -> Result<Nanos, String> {
    match duration(value)? {
        Nanos::ZERO => Err("found zero; expected a duration above 0, such as \"10ms\"".to_string()),
        span => Ok(span),
    }
}

/// A duration between two others, both included.
pub fn span_within(low: Nanos, high: Nanos) -> impl Fn(&DeValue) -> Result<Nanos, String> {
    move |value| match duration(value)? {
        Nanos::ZERO if low > Nanos::ZERO => span(value),
        span if span < low || span > high => {
            let (low, high) = (units::written(low), units::written(high));
            Err(format!("found {span}; expected \"{low}\" to \"{high}\""))
        }
        span => Ok(span),
    }
}

/// Requests a second, above zero.
pub fn rate_per_s(value: &DeValue) -> Result<f64, String> {
    let rate = units::rate_per_s(text(value, "a rate in quotes such as \"100/s\" or \"1.6k/s\"")?)?;
    match rate > 0.0 {
        true => Ok(rate),
        false => Err("found zero; expected a rate above 0, such as \"100/s\"".to_string()),
    }
}

/// A whole number in a range, or a count in quotes such as "10k".
pub fn whole<T: TryFrom<i128>>(low: i64, high: i64) -> impl Fn(&DeValue) -> Result<T, String> {
    move |value| {
        let number = match value {
            DeValue::Integer(number) => integer(number),
            DeValue::String(text) => units::count(text).ok().map(i128::from),
            _ => None,
        };
        number
            .filter(|number| (i128::from(low)..=i128::from(high)).contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                format!("found {}; expected a whole number from {low} to {high}", found(value))
            })
    }
}

fn integer(number: &DeInteger) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A number, whole or not. Not finite ones are none.
pub fn number(value: &DeValue) -> Result<f64, String> {
    let number = match value {
        DeValue::Integer(number) => integer(number).map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("found {}; expected a number", found(value)))
}

/// `true` or `false`.
pub(super) fn flag(value: &DeValue) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("found {}; expected true or false", found(value)))
}

/// A number between two others, both included.
pub(super) fn number_within(low: f64, high: f64) -> impl Fn(&DeValue) -> Result<f64, String> {
    move |value| {
        let fits = |number: &f64| (low..=high).contains(number);
        number(value).ok().filter(fits).ok_or_else(|| {
            format!("found {}; expected a number from {low} to {high}", found(value))
        })
    }
}

/// Some of so many CPUs, each once, in rising order: a list, or the kernel's own form of one, `"0-3,8"`.
pub(super) fn cpu_list(cpus: u32) -> impl Fn(&DeValue) -> Result<Vec<CpuId>, String> {
    move |value| {
        let example = if cpus > 1 { "[0, 1] or \"0-1\"" } else { "[0] or \"0\"" };
        let last = cpus.saturating_sub(1);
        let wrong =
            || format!("found {}; expected CPUs from 0 to {last} such as {example}", found(value));
        let mut list = match value {
            DeValue::String(text) => cpu_ranges(text, cpus).ok_or_else(wrong)?,
            DeValue::Array(items) if !items.is_empty() => {
                let read = whole(0, i64::from(last));
                let cpu = |item: &toml::Spanned<DeValue>| read(item.get_ref()).map(CpuId);
                items.iter().map(cpu).collect::<Result<Vec<CpuId>, String>>()?
            }
            _ => return Err(wrong()),
        };
        list.sort_unstable();
        list.dedup();
        Ok(list)
    }
}

/// CPUs as `cpuset.cpus` has them, `0-3,8`; `None` where one is not below `cpus`, it is no such list, or it
/// has more parts than there are CPUs.
fn cpu_ranges(text: &str, cpus: u32) -> Option<Vec<CpuId>> {
    let parts: Vec<&str> = text.split(',').take(cpus as usize + 1).collect();
    let own = |part: &&str| CpuId::range(part).filter(|range| *range.end() < cpus);
    let ranges: Vec<_> = parts.iter().map(own).collect::<Option<_>>()?;
    let has = |cpu: &u32| ranges.iter().any(|range| range.contains(cpu));
    (ranges.len() <= cpus as usize).then(|| (0..cpus).filter(has).map(CpuId).collect())
}

/// A share of the machine that a service wants. Above 10 it is a percentage by mistake.
pub fn utilisation(value: &DeValue) -> Result<f64, String> {
    let fits = |share: &f64| *share > 0.0 && *share <= 10.0;
    number(value).ok().filter(fits).ok_or_else(|| {
        let expected = "expected a share of the machine such as 0.8, above 0 and at most 10";
        format!("found {}; {expected}", found(value))
    })
}

/// One of a few words; its place in the list.
pub fn word<'a>(known: &'a [&'a str]) -> impl Fn(&DeValue) -> Result<usize, String> + 'a {
    move |value| {
        let wrong = text(value, &quoted(known))?;
        known.iter().position(|word| *word == wrong).ok_or_else(|| {
            let hint = did_you_mean(wrong, known);
            format!("found {}; expected {}{hint}", found(value), quoted(known))
        })
    }
}

/// A name: letters, digits, `-`, `_` and `.`, beginning with a letter or digit, at most 64 characters.
pub fn name(value: &DeValue) -> Result<String, String> {
    named(value, is_name)
}

/// A group's full path: names with `/` between them.
pub(super) fn path(value: &DeValue) -> Result<String, String> {
    let path = named(value, |path| path.split('/').all(is_name))?;
    if path.len() > MOST_PATH_LETTERS {
        let found = found(value);
        return Err(format!(
            "found {found}; expected a path of at most {MOST_PATH_LETTERS} characters, such as \"web-1\""
        ));
    }
    Ok(path)
}

fn named(value: &DeValue, fits: impl Fn(&str) -> bool) -> Result<String, String> {
    const EXPECTED: &str = "a name such as \"web-1\": letters, digits, `-`, `_` and `.`";
    let name = text(value, EXPECTED)?;
    match fits(name) {
        true => Ok(name.to_string()),
        false if name.split('/').any(|part| part.len() > MOST_LETTERS) => Err(format!(
            "found {}; expected a name of at most {MOST_LETTERS} characters, such as \"web-1\"",
            found(value)
        )),
        false => Err(format!("found {}; expected {EXPECTED}", found(value))),
    }
}

fn is_name(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(inside)
        && name.len() <= MOST_LETTERS
}
