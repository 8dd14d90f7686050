//! Ours beside the paper's.

use model::Failure;
use report::{Agreement, PaperClaim, PaperFigure, PaperValue};

use crate::catalogue::Entry;
use crate::definition::{Claim, Definition, Value, definition};
use crate::expression::{Reader, sides, value};
use crate::produce::scenario;
use crate::reading::Reading;
use crate::results::Results;

/// How far ours may be from the paper's number to agree with it.
const WITHIN: f64 = 0.2;

/// The figure without its chart.
pub fn figure(
    entry: &Entry,
    definition: &Definition,
    results: &Results,
) -> Result<PaperFigure, Failure> {
    let read = |reading: &str| results.read(reading);
    let failed = |error: String| Failure::Run(format!("{} {}: {error}", entry.paper, entry.figure));
    let values = definition.values.iter().map(|value| judged(value, &read));
    let claims = definition.claims.iter().map(|claim| held(claim, &read));
    Ok(PaperFigure {
        schema: report::PAPER_SCHEMA.to_string(),
        paper: entry.paper.to_string(),
        figure: entry.figure.to_string(),
        title: definition.title.clone(),
        section: definition.section.clone(),
        assumptions: definition.assumptions.clone(),
        missing: definition.missing.clone(),
        values: values.collect::<Result<_, _>>().map_err(failed)?,
        claims: claims.collect::<Result<_, _>>().map_err(failed)?,
        ..PaperFigure::default()
    })
}

fn judged(said: &Value, read: &Reader) -> Result<PaperValue, String> {
    let ours = said.ours.as_deref().map(|text| value(text, read)).transpose()?.and_then(finite);
    let ratio = ours.zip(said.paper).map(|(ours, from)| over(ours, from, said.to.unwrap_or(from)));
    let agreement = match (ratio, said.paper) {
        (Some(ratio), _) if (ratio - 1.0).abs() <= WITHIN => Agreement::Within20Percent,
        (Some(_), _) => Agreement::Not,
        (None, None) => Agreement::NotGiven,
        (None, Some(_)) => Agreement::NotProduced,
    };
    Ok(PaperValue {
        what: said.what.clone(),
        ours,
        paper: said.paper,
        to: said.to,
        from: said.from.clone(),
        ratio,
        agreement,
        why: said.why.clone(),
    })
}

/// Ours over the nearer end of a range; inside it 1.
fn over(ours: f64, from: f64, to: f64) -> f64 {
    if ours < from {
        ours / from
    } else if ours > to {
        ours / to
    } else {
        1.0
    }
}

/// A ratio with what lies beyond every measurement is no number.
fn finite(x: f64) -> Option<f64> {
    Some(x).filter(|x| x.is_finite())
}

fn held(claim: &Claim, read: &Reader) -> Result<PaperClaim, String> {
    let (left, right) = sides(&claim.holds, read)?;
    Ok(PaperClaim {
        says: claim.says.clone(),
        from: claim.from.clone(),
        test: claim.holds.clone(),
        left: finite(left),
        right: finite(right),
        agreement: if left < right { Agreement::Qualitative } else { Agreement::Not },
        why: claim.why.clone(),
    })
}

/// Whether a figure's file fits together: its scenarios are there, and every reading names a run and a policy
/// of it.
pub fn check(entry: &Entry) -> Result<(), Failure> {
    let definition = definition(entry)?;
    definition.runs.iter().try_for_each(|run| scenario(run).map(|_| ()))?;
    let read = |text: &str| known(&definition, text).map(|()| 1.0);
    let ours = definition.values.iter().filter_map(|said| said.ours.as_deref());
    let values = ours.map(|text| value(text, &read).map(|_| ()));
    let claims = definition.claims.iter().map(|claim| sides(&claim.holds, &read).map(|_| ()));
    let whole = values.chain(claims).collect::<Result<(), String>>();
    whole.map_err(|error| Failure::Input(format!("{} {}: {error}", entry.paper, entry.figure)))
}

fn known(definition: &Definition, text: &str) -> Result<(), String> {
    let reading = Reading::parse(text).ok_or_else(|| format!("'{text}' is no reading"))?;
    let mut runs = definition.runs.iter();
    let run = match &reading.at {
        Some(name) => runs.find(|run| run.name == *name),
        None => runs.next(),
    };
    let policy = run.is_some_and(|run| run.policies.contains(&reading.policy));
    if policy || definition.queues.is_some() {
        Ok(())
    } else {
        Err(format!("'{text}': no such run or policy"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_missed_by_what_lies_beyond_its_nearer_end() {
        let said = |ours: &str, to| Value {
            what: String::new(),
            ours: Some(ours.to_string()),
            paper: Some(10.0),
            to,
            from: String::new(),
            why: String::new(),
        };
        let judge = |ours, to| {
            let value = judged(&said(ours, to), &|_| Err(String::new())).unwrap();
            (value.ratio.unwrap(), value.agreement)
        };
        assert_eq!(judge("200", Some(1000.0)), (1.0, Agreement::Within20Percent));
        assert_eq!(judge("9", Some(1000.0)), (0.9, Agreement::Within20Percent));
        assert_eq!(judge("5", Some(1000.0)), (0.5, Agreement::Not));
        assert_eq!(judge("1500", Some(1000.0)), (1.5, Agreement::Not));
        assert_eq!(judge("200", None), (20.0, Agreement::Not), "a number is no range");
    }
}
