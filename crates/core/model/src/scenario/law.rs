//! Laws of service times and gaps.

use super::table::Table;
use super::value::{DURATIONS, number, span, word};
use crate::law::Law;
use crate::{Failure, Nanos};

/// The words of `law` and the parameters of each: those of the command line, `lognormal:cv=2`.
const LAWS: [(&str, &[&str]); 11] = [
    ("fixed", &[]),
    ("deterministic", &[]),
    ("exponential", &[]),
    ("poisson", &[]),
    ("lognormal", &["cv"]),
    ("weibull", &["shape"]),
    ("pareto", &["shape"]),
    ("hyperexponential", &["cv"]),
    ("mmpp", &["ratio", "share", "length"]),
    ("measured", &["samples"]),
    ("replay", &["samples"]),
];

/// The law that a table names, `default` if it names none, and the mean of its samples if it has some.
///
/// `beside` are the table's other keys. `None` only where a problem was reported.
pub fn law(table: &Table, default: &str, beside: &[&str]) -> Option<(Law, Option<Nanos>)> {
    let words = LAWS.map(|(word, _)| word);
    let index = match table.get("law") {
        Some(_) => table.optional("law", word(&words)),
        None => words.iter().position(|word| *word == default),
    };
    let parameters: Vec<&str> = match index {
        Some(index) => LAWS[index].1.to_vec(),
        None => LAWS.iter().flat_map(|(_, keys)| *keys).copied().collect(),
    };
    table.expect_keys(&[&["law"], beside, &parameters].concat());
    match words[index?] {
        "measured" => samples(table, Law::measured),
        "replay" => samples(table, Law::replay),
        word => Some((with_numbers(table, word, &parameters)?, None)),
    }
}

/// A law whose parameters are numbers. Its range is the law's own to judge.
fn with_numbers(table: &Table, word: &str, parameters: &[&str]) -> Option<Law> {
    let read =
        |key: &&str| table.required(key, |value| number(value).map_err(|text| text + example(key)));
    let read: Vec<Option<f64>> = parameters.iter().map(read).collect();
    let numbers = read.into_iter().collect::<Option<Vec<f64>>>()?;
    let text = parameters
        .iter()
        .zip(numbers)
        .fold(word.to_string(), |text, (key, number)| text + &format!(":{key}={number}"));
    match text.parse() {
        Ok(law) => Some(law),
        Err(failure) => {
            reject(table, &failure, parameters);
            None
        }
    }
}

/// A value that every law with such a parameter takes.
fn example(key: &str) -> &'static str {
    if key == "share" { ", such as 0.1" } else { ", such as 2" }
}

/// The law of samples, durations each, and their mean.
fn samples(table: &Table, of: fn(&[f64]) -> Result<Law, Failure>) -> Option<(Law, Option<Nanos>)> {
    if table.get("samples").is_none() {
        table.required("samples", span);
    }
    let samples: Vec<Nanos> =
        table.list("samples", DURATIONS, span)?.into_iter().map(|(sample, _)| sample).collect();
    let mean = samples.iter().map(|sample| u128::from(sample.0)).sum::<u128>()
        / (samples.len() as u128).max(1);
    let lengths: Vec<f64> = samples.iter().map(|sample| sample.0 as f64).collect();
    match of(&lengths) {
        Ok(law) => Some((law, Some(Nanos(mean as u64)))),
        Err(failure) => {
            reject(table, &failure, &["samples"]);
            None
        }
    }
}

/// Reports the law's own complaint at the parameter that it names.
fn reject(table: &Table, failure: &Failure, parameters: &[&str]) {
    let text = failure.to_string();
    let named = parameters.iter().find(|key| text.contains(&format!("`{key}`")));
    let example = named.filter(|key| **key != "samples").map_or("", |key| example(key));
    table.problems.add(table.place_of(named.unwrap_or(&"law")), text + example);
}
