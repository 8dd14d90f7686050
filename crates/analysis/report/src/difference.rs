//! The document of `rearguard diff`: two results held against each other, before and after.

use serde::{Deserialize, Serialize};

use crate::blocks::ROUND;
use crate::document::{Answer, Estimate};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The `schema` of a [`Difference`].
pub const DIFFERENCE_SCHEMA: &str = "rearguard.difference/1";

/// What became of every figure that two results have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// [`DIFFERENCE_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// What is held against.
    pub before: Side,
    /// What is held against it.
    pub after: Side,
    /// What else is not the same.
    pub conditions: Vec<Condition>,
    /// Services that both sides have.
    pub changes: Vec<Change>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The files, a run each; or one, of several seeds.
    pub files: Vec<String>,
    /// The `schema` of their documents.
    pub document: String,
    /// Runs behind each figure: files, or seeds.
    pub runs: u64,
    /// Services that the other side lacks.
    pub alone: Vec<String>,
}

/// A fact of the making that differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Which.
    pub what: String,
    /// As it was.
    pub before: String,
    /// As it is.
    pub after: String,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Policy and service, or target, as it was.
    pub before: String,
    /// As it is.
    pub after: String,
    /// Its figures.
    pub figures: Vec<FigureChange>,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FigureChange {
    /// Its key in the documents: `latency_ns.p99_9`.
    pub figure: String,
    /// As it was.
    pub before: Estimate,
    /// As it is.
    pub after: Estimate,
    /// After over before.
    pub ratio: Estimate,
    /// Whether it became better; `None` where no direction is better, or nothing is known of the ratio's
    /// reach.
    pub answer: Option<Answer>,
}

/// The figure of requests that were never answered.
pub const LOST: &str = "lost_share";
/// The figure of requests that were answered otherwise than wanted.
pub const COMPLAINED: &str = "complained_share";
/// What is said before all else where it grew.
const FAILURES: [&str; 2] = [LOST, COMPLAINED];
/// What is said first of a service then: the first of these that is told, else failures that are, else the
/// first of these that is known.
const HEADLINES: [&str; 6] =
    ["latency_ns.p99_9", "latency_ns.p99", "latency_ns.p90", "latency_ns.p50", "rate_per_s", ROUND];

impl Difference {
    /// Whether anything became worse.
    pub fn is_worse(&self) -> bool {
        let mut all = self.changes.iter().flat_map(|change| &change.figures);
        all.any(|figure| figure.answer == Some(Answer::Worse))
    }

    pub(crate) fn title(&self) -> String {
        let files = |side: &Side| side.files.join(", ");
        format!("{} against {}", files(&self.after), files(&self.before))
    }

    /// The answers, a sentence a service.
    pub(crate) fn sentences(&self) -> Vec<String> {
        self.changes.iter().filter_map(Change::sentence).collect()
    }

    /// A table a service; what they rest on stands below the last one.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.changes.iter().map(Change::block).collect();
        if let Some(last) = blocks.last_mut() {
            last.notes = self.notes();
        }
        blocks
    }

    fn notes(&self) -> Vec<Cell> {
        let other = self.conditions.iter().map(|one| {
            let words =
                |side: &str| if side.is_empty() { "-".to_string() } else { side.to_string() };
            let text = format!(
                "not the same: {}: {}, then {}",
                one.what,
                words(&one.before),
                words(&one.after)
            );
            Cell::plain(text).tone(Tone::Bad)
        });
        let alone = [("before", &self.before), ("after", &self.after)];
        let alone = alone.into_iter().filter(|(_, side)| !side.alone.is_empty());
        let alone = alone.map(|(when, side)| format!("only {when}: {}", side.alone.join(", ")));
        let limits = alone.chain([self.limits()]).map(|text| Cell::plain(text).tone(Tone::Faint));
        other.chain(limits).collect()
    }

    /// What a verdict rests on, and why little can be told of few runs.
    fn limits(&self) -> String {
        let runs = self.before.runs.min(self.after.runs);
        let several = self.before.files.len().min(self.after.files.len()) > 1;
        let by =
            if several { "how much runs differ" } else { "both intervals at their worst ends" };
        if runs >= Answer::ENOUGH_PAIRS as u64 {
            return format!("better, worse: by 1% or more, by {by}");
        }
        let many = if runs == 1 { "run" } else { "runs" };
        format!(
            "better, worse: by {by}; {runs} {many} a side cannot show how much whole runs differ, so {} times \
             either way is allowed for; {} runs or more measure it: --seeds, or a file a run (a1.json,a2.json,a3.json)",
            Answer::UNSEEN,
            Answer::ENOUGH_PAIRS
        )
    }
}

impl Change {
    fn name(&self) -> String {
        if self.before == self.after {
            return self.after.clone();
        }
        format!("{} instead of {}", self.after, self.before)
    }

    fn sentence(&self) -> Option<String> {
        let figure = self.headline()?;
        let (name, what) = (self.name(), figure.name());
        let (before, after) = (figure.shown(&figure.before).0, figure.shown(&figure.after).0);
        let (ratio, interval) = human::ratio(&figure.ratio);
        let ratio = match &ratio[..] {
            human::UNKNOWN => String::new(),
            ratio => format!(" ({})", format!("{ratio} {interval}").trim_end()),
        };
        Some(match figure.answer {
            None | Some(Answer::CannotTell) => {
                format!(
                    "{name}: whether {what} changed cannot be told: {before}, then {after}{ratio}."
                )
            }
            Some(answer) => {
                format!("{name}: {what} is {}: {before}, then {after}{ratio}.", answer.word())
            }
        })
    }

    fn headline(&self) -> Option<&FigureChange> {
        let of = |keys: &'static [&str]| {
            keys.iter().filter_map(|key| self.figures.iter().find(|one| one.figure == *key))
        };
        let told =
            |one: &&FigureChange| one.answer.is_some_and(|answer| answer != Answer::CannotTell);
        let grew = of(&FAILURES).find(|one| one.answer == Some(Answer::Worse));
        grew.or_else(|| of(&HEADLINES).find(told))
            .or_else(|| of(&FAILURES).find(told))
            .or_else(|| of(&HEADLINES).next())
            .or_else(|| of(&FAILURES).next())
    }

    fn block(&self) -> Block {
        let titles = ["figure", "before", "after", "after / before", "answer"];
        let mut grid =
            Grid::new(titles.map(String::from)).claiming(Room::First, &["after / before"]);
        grid.rows = self.figures.iter().map(FigureChange::row).collect();
        Block { heading: self.name(), grid, notes: Vec::new() }
    }
}

impl FigureChange {
    fn name(&self) -> String {
        let words = match &self.figure[..] {
            "rate_per_s" => "carries".to_string(),
            "of_ideal" => "of the ideal".to_string(),
            LOST => "lost".to_string(),
            COMPLAINED => "complaints".to_string(),
            "outlier.proportion" => "outliers".to_string(),
            ROUND => "a round".to_string(),
            other => other.replace("latency_ns.", "").replace("_ns.", " ").replace("stages.", ""),
        };
        words.replace("p99_9", "p99.9")
    }

    fn shown(&self, value: &Estimate) -> (String, String) {
        // Only what is beyond any number has an answer without figures.
        if self.answer.is_some() && *value == Estimate::default() {
            return ("lost".to_string(), String::new());
        }
        match &self.figure[..] {
            "rate_per_s" => human::rate(value),
            "of_ideal" | LOST | COMPLAINED | "outlier.proportion" => human::percent(value),
            _ => human::latency(value),
        }
    }

    fn row(&self) -> Vec<Cell> {
        let tone = match self.answer {
            Some(Answer::Better) => Tone::Good,
            Some(Answer::Worse) => Tone::Bad,
            _ => Tone::Faint,
        };
        let answer = self.answer.map_or(human::UNKNOWN, Answer::word);
        vec![
            Cell::plain(self.name()),
            Cell::estimate(self.shown(&self.before)),
            Cell::estimate(self.shown(&self.after)),
            Cell::estimate(human::ratio(&self.ratio)),
            Cell::plain(answer).tone(tone),
        ]
    }
}
