//! Two results held against each other, before and after: any two documents that hold latencies or loads.

mod found;
mod pairs;
mod ratio;

use model::Failure;
use report::difference::{Change, Condition, DIFFERENCE_SCHEMA, Difference, Side};

pub use crate::difference::found::Found;

/// Before against after, each one file or several runs of the same; the caller adds command line and version.
///
/// Fails where the two have nothing in common, where one run was given twice, and where one is to be held
/// against several.
pub fn difference(before: &[Found], after: &[Found]) -> Result<Difference, Failure> {
    [before, after].into_iter().try_for_each(once_each)?;
    alike(before, after)?;
    let paired = pairs::pairs(before, after);
    let changes: Vec<Change> = paired.iter().map(|pair| ratio::change(pair)).collect();
    let changes: Vec<Change> = changes.into_iter().filter(|one| !one.figures.is_empty()).collect();
    if changes.is_empty() {
        return Err(Failure::Input(nothing_in_common(before, after)));
    }
    let side = |files: &[Found], names: Vec<&String>| Side {
        files: files.iter().map(|one| one.file.clone()).collect(),
        document: files.first().map_or(String::new(), |one| one.schema.clone()),
        runs: runs(files) as u64,
        alone: alone(files, &names),
    };
    Ok(Difference {
        schema: DIFFERENCE_SCHEMA.to_string(),
        before: side(before, changes.iter().map(|one| &one.before).collect()),
        after: side(after, changes.iter().map(|one| &one.after).collect()),
        conditions: conditions(before, after),
        changes,
        ..Difference::default()
    })
}

/// Runs of one side: files, or the seeds of a single one.
fn runs(files: &[Found]) -> usize {
    match files {
        [one] => one.runs,
        several => several.len(),
    }
}

fn once_each(files: &[Found]) -> Result<(), Failure> {
    let twice =
        (1..files.len()).find(|at| files[..*at].iter().any(|one| one.text == files[*at].text));
    twice.map_or(Ok(()), |at| {
        let what = "the same result is given twice, and shows nothing of how much runs differ";
        Err(Failure::Input(format!("{}: {what}", files[at].file)))
    })
}

/// The interval of one file is that of its requests, and several have that of runs: there is no ratio of the
/// two. Taking one of the several would make the answer hang on their order.
fn alike(before: &[Found], after: &[Found]) -> Result<(), Failure> {
    let (one, several) = match (before, after) {
        ([one], [_, _, ..]) => (one, after.len()),
        ([_, _, ..], [one]) => (one, before.len()),
        _ => return Ok(()),
    };
    Err(Failure::Input(format!(
        "{}: diff holds no single file against {several}: it does not show how much runs differ: name as \
         many files before as after",
        one.file
    )))
}

/// What has no counterpart on the other side.
fn alone(files: &[Found], paired: &[&String]) -> Vec<String> {
    let names = files.first().map_or(&[][..], |one| &one.subjects);
    names.iter().map(|one| one.name()).filter(|name| !paired.contains(&name)).collect()
}

/// What else is not the same: a difference may be its work.
fn conditions(before: &[Found], after: &[Found]) -> Vec<Condition> {
    let (Some(before), Some(after)) = (before.first(), after.first()) else { return Vec::new() };
    let of = |found: &Found, what: &str| found.facts.iter().find(|fact| fact.0 == what).cloned();
    let differing = before.facts.iter().filter_map(|(what, value)| {
        let other = of(after, what)?.1;
        (*value != other).then(|| condition(what, value, &other))
    });
    differing.collect()
}

fn condition(what: &str, before: &str, after: &str) -> Condition {
    let only = |own: &str, other: &str| {
        let lines = own.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let lines = lines.filter(|line| !other.lines().any(|there| there.trim() == *line));
        lines.collect::<Vec<_>>().join("; ")
    };
    let several = before.lines().count() > 1 || after.lines().count() > 1;
    let (before, after) = if several {
        (only(before, after), only(after, before))
    } else {
        (before.to_string(), after.to_string())
    };
    Condition { what: what.to_string(), before, after }
}

fn nothing_in_common(before: &[Found], after: &[Found]) -> String {
    let side = |files: &[Found]| {
        let named = |one: &Found| one.subjects.iter().map(|own| own.name()).collect::<Vec<_>>();
        let first = files.first().map(|one| (one.file.clone(), named(one)));
        let (file, names) = first.unwrap_or_default();
        format!("{file} has {}", if names.is_empty() { "none".into() } else { names.join(", ") })
    };
    let objective = conditions(before, after).into_iter().find(|one| one.what == found::OBJECTIVE);
    let why = objective.map_or(String::new(), |one| {
        format!("; they ask for {} and for {}", one.before, one.after)
    });
    format!(
        "nothing to hold against each other: of services {}, and {}{why}",
        side(before),
        side(after)
    )
}
