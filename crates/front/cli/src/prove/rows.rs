//! Rows of tails: one comparison each, with as many runs as the time has room for.

use compare::command::command;
use model::{Failure, Scenario};
use report::Document;
use report::document::{Estimate, Verdict};
use report::proof::{ProofRow, ProofSide};

use super::plan::{Pace, ROWS, Row};
use super::timed::Timed;
use super::{Planned, Study, scenarios};

/// Why a row has no figures, where its machine could have run it.
const TIME_IS_UP: &str = "the time was up";

impl Study {
    /// Every row, and a sentence for each that was measured at the second attempt. A row that fails leaves
    /// the others as they are, and has its second attempt after them: what disturbed it may be over.
    pub(super) fn tails(
        &self,
        rows: &[Planned],
        watch: &Timed,
    ) -> Result<(Vec<ProofRow>, Vec<String>), Failure> {
        let mut pace = Pace::default();
        let first = self.each(rows, watch, &mut pace)?;
        let mut again = rows.to_vec();
        for (row, found) in again.iter_mut().zip(&first).filter(|(_, found)| found.lacks.is_none())
        {
            *row = Err(found.clone());
        }
        let second = self.each(&again, watch, &mut pace)?;
        Ok(latest(first, second))
    }

    fn each(
        &self,
        rows: &[Planned],
        watch: &Timed,
        pace: &mut Pace,
    ) -> Result<Vec<ProofRow>, Failure> {
        let found = rows.iter().enumerate().map(|(at, row)| match row {
            Ok(row) => self.tail(row, &scenarios(&rows[at..])?, watch, pace),
            Err(found) => Ok(found.clone()),
        });
        found.collect()
    }

    /// A row; its scenario leads those that are left.
    fn tail(
        &self,
        row: &Row,
        left: &[Scenario],
        watch: &Timed,
        pace: &mut Pace,
    ) -> Result<ProofRow, Failure> {
        let time = watch.left().saturating_sub(self.budget.reserve());
        let Some(fit) = self.budget.fit(left, time, pace.percent()) else {
            return Ok(row.lacking(TIME_IS_UP.to_string()));
        };
        let scenario = row.scenario(fit.percent)?;
        let begin = watch.elapsed();
        let outcome = compare::run(&self.compared(&scenario, fit.runs), &self.arm, watch);
        pace.add(self.budget.cost(&left[0], fit), watch.elapsed() - begin);
        match outcome {
            Ok(document) => Ok(row.found(&document, &scenario)),
            Err(Failure::Interrupted) if !watch.user_stops() => {
                Ok(row.lacking(TIME_IS_UP.to_string()))
            }
            Err(Failure::Run(why) | Failure::Machine(why)) => Ok(row.lacking(why)),
            Err(failure) => Err(failure),
        }
    }
}

impl Row {
    /// Without figures.
    pub fn lacking(&self, why: String) -> ProofRow {
        ProofRow {
            what: self.what.to_string(),
            figure: self.tail.name().to_string(),
            lacks: Some(why),
            ..ProofRow::default()
        }
    }

    /// What its comparison came to.
    fn found(&self, document: &Document, scenario: &Scenario) -> ProofRow {
        let policies: Vec<&str> = document.shown().iter().map(|one| one.policy.as_str()).collect();
        let seeds = document.seeds.len();
        let again = command(self.file, &document.arm, &[], Some(scenario.duration));
        let sides = policies.iter().map(|policy| self.side(document, policy));
        let twin = policies.first().map(|first| ProofSide {
            policy: first.to_string(),
            ..compared(self.verdict(document, first, first))
        });
        ProofRow {
            runs: seeds as u64,
            window_ns: scenario.duration.0,
            repeated: document.discarded.len() as u64,
            command: Some(format!("{again} --policy {} --seeds {seeds}", policies.join(","))),
            sides: sides.chain(twin).collect(),
            lacks: None,
            ..self.lacking(String::new())
        }
    }

    fn side(&self, document: &Document, policy: &str) -> ProofSide {
        let shown = document.shown();
        let first = shown.first().map_or("", |one| &one.policy);
        let result = shown.iter().find(|one| one.policy == policy);
        let mut programs = result.into_iter().flat_map(|one| &one.programs);
        let service = programs.find(|program| program.latency_ns.is_some());
        let of = |latency: Option<_>| latency.map_or(Estimate::default(), |one| self.tail.of(&one));
        let verdict = self.verdict(document, policy, first).filter(|_| policy != first);
        ProofSide {
            policy: policy.to_string(),
            value_ns: of(service.and_then(|program| program.latency_ns)),
            ideal_ns: of(service.and_then(|program| program.ideal_ns)),
            ..compared(verdict)
        }
    }

    fn verdict<'a>(&self, document: &'a Document, a: &str, b: &str) -> Option<&'a Verdict> {
        let mut verdicts = document.verdicts.iter();
        verdicts.find(|one| one.metric == self.tail.metric() && one.a == a && one.b == b)
    }
}

/// The second attempts that have figures, else the first ones. Why a first one failed is told in any case: a
/// scheduler may have been ejected.
fn latest(first: Vec<ProofRow>, second: Vec<ProofRow>) -> (Vec<ProofRow>, Vec<String>) {
    let mut notes = Vec::new();
    let latest = first.into_iter().zip(second).map(|(first, second)| match &first.lacks {
        Some(why) if second.lacks.is_none() => {
            notes
                .push(format!("Measured at the second attempt: {}. The first: {why}.", first.what));
            second
        }
        _ => first,
    });
    (latest.collect(), notes)
}

/// What a verdict says of a side.
fn compared(verdict: Option<&Verdict>) -> ProofSide {
    ProofSide {
        ratio: verdict.map_or(Estimate::default(), |one| one.ratio),
        answer: verdict.map(|one| one.answer),
        ..ProofSide::default()
    }
}

/// What was not as planned, a sentence each.
pub fn noted(tails: &[ProofRow]) -> Vec<String> {
    let short = |(row, found): (&Row, &ProofRow)| row.is_shorter(found);
    let short = ROWS.iter().zip(tails).any(short).then(|| {
        "The time was short: some windows are shorter than usual, and their intervals wider."
            .to_string()
    });
    let repeated: u64 = tails.iter().map(|row| row.repeated).sum();
    let repeated = (repeated > 0).then(|| {
        format!("Runs that failed their own checks, most often for a late generator, and were made again: {repeated}.")
    });
    short.into_iter().chain(repeated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_attempt_counts_where_it_has_figures_and_the_first_ones_failure_is_told() {
        let row = |runs, lacks: Option<&str>| ProofRow {
            what: "a row".to_string(),
            runs,
            lacks: lacks.map(str::to_string),
            ..ProofRow::default()
        };
        let first = [row(5, None), row(0, Some("ejected")), row(0, Some("late"))].to_vec();
        let second = [row(5, None), row(4, None), row(0, Some(TIME_IS_UP))].to_vec();
        let (rows, notes) = latest(first, second);
        assert_eq!(rows.iter().map(|row| row.runs).collect::<Vec<_>>(), [5, 4, 0]);
        assert_eq!(rows[2].lacks.as_deref(), Some("late"));
        assert_eq!(notes, ["Measured at the second attempt: a row. The first: ejected."]);
    }
}
