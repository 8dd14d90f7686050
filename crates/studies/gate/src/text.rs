//! An outcome for people, and for GitHub's log.

use model::{Answer, Nanos};
use report::ROUND;

use crate::judge::{FAMILY, Judged, Least, Outcome};

/// Every figure, and what the answers mean.
pub fn table(outcome: &Outcome, least: Least) -> String {
    let rows = outcome.0.iter().map(cells);
    let rows: Vec<[String; 6]> = [HEAD.map(str::to_string)].into_iter().chain(rows).collect();
    let counted = |answer: Answer| outcome.with(answer).count();
    format!(
        "{}{} figures: {} worse, {} better, {} cannot tell\n\
         worse, better: by {least} or more; any false alarm at all has a probability of {}% at most\n",
        aligned(&rows),
        outcome.0.len(),
        counted(Answer::Worse),
        counted(Answer::Better),
        counted(Answer::CannotTell),
        100.0 * FAMILY,
    )
}

/// Rows of cells, each column as wide as its widest cell.
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..COLUMNS).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

const HEAD: [&str; 6] = ["scenario", "program", "figure", "base", "now", "answer"];

fn cells(judged: &Judged) -> [String; 6] {
    [
        judged.scenario.clone(),
        judged.program.clone().unwrap_or_else(|| "-".to_string()),
        judged.figure.clone(),
        said(&judged.figure, judged.base),
        said(&judged.figure, judged.now),
        judged.answer.word().to_string(),
    ]
}

/// A line for each figure that is worse, as GitHub marks them in a pull request.
pub fn annotations(outcome: &Outcome) -> String {
    let escaped = |text: String| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let line =
        |judged: &Judged| format!("::error title=rearguard gate::{}\n", escaped(sentence(judged)));
    outcome.with(Answer::Worse).map(line).collect()
}

pub(crate) fn sentence(judged: &Judged) -> String {
    let program = judged.program.as_ref().map_or(String::new(), |program| format!("{program}, "));
    format!(
        "{}: {program}{}: {}, {} to {}",
        judged.scenario,
        judged.figure,
        judged.answer.word(),
        said(&judged.figure, judged.base),
        said(&judged.figure, judged.now)
    )
}

/// A figure's value with its unit.
pub fn said(figure: &str, value: f64) -> String {
    match figure {
        _ if !value.is_finite() => "never".to_string(),
        time if time == ROUND || time.starts_with("latency_ns") => span(value),
        "lag_s" => span(value * 1e9),
        "outlier.proportion" | "idle_share" | "share_error" => format!("{:.3}%", 100.0 * value),
        _ => format!("{value:.4}"),
    }
}

fn span(ns: f64) -> String {
    Nanos(ns.round() as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_times_and_numbers_as_numbers() {
        assert_eq!(said(ROUND, 4_743_125.5), "4.74 ms");
        assert_eq!(said("latency_ns.p99", 4_743_125.0), "4.74 ms");
        assert_eq!(said("inversions_per_request", 0.5), "0.5000", "the control");
    }
}
