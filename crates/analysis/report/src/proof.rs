//! The document of `rearguard prove`: what schedulers do on a user's own machine, with what is to be held
//! against it.

use serde::{Deserialize, Serialize};

use crate::blocks::answer_cell;
use crate::document::{Answer, Estimate};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The `schema` of a [`Proof`].
pub const PROOF_SCHEMA: &str = "rearguard.proof/1";

/// Schedulers beside the kernel's default class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// [`PROOF_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard, with the commit.
    pub version: String,
    /// The machine and its kernel.
    pub machine: Vec<ProofFact>,
    /// What speaks against the figures, a sentence each.
    pub caveats: Vec<String>,
    /// Tails of services.
    pub tails: Vec<ProofRow>,
    /// Round trips through pipes.
    pub switches: Vec<ProofRow>,
}

/// A fact of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofFact {
    /// What it is about.
    pub what: String,
    /// What is so.
    pub is: String,
}

/// One figure under every scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofRow {
    /// What was run, in words.
    pub what: String,
    /// The figure: `p99.9`, `p99` or `round trip`.
    pub figure: String,
    /// Runs of each scheduler.
    pub runs: u64,
    /// The window of a run.
    pub window_ns: u64,
    /// Runs that failed their own checks and were repeated; they are in no figure.
    pub repeated: u64,
    /// The command that measures the row alone; `None`: there is none.
    pub command: Option<String>,
    /// The default class, the others, and the default class again; empty where nothing was measured.
    pub sides: Vec<ProofSide>,
    /// Why nothing was measured.
    pub lacks: Option<String>,
}

/// One scheduler in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProofSide {
    /// The policy.
    pub policy: String,
    /// The figure; unknown of the default class's second runs, which are compared alone.
    pub value_ns: Estimate,
    /// The figure of an ideal queue with the same arrivals and service times; unknown of round trips.
    pub ideal_ns: Estimate,
    /// The figure over that of the default class.
    pub ratio: Estimate,
    /// What may be said of that ratio; `None` of the default class itself.
    pub answer: Option<Answer>,
}

impl Proof {
    pub(crate) fn title(&self) -> String {
        let fact = |what: &str| self.machine.iter().find(|fact| fact.what == what);
        let is = |what: &str| fact(what).map_or("unknown", |fact| &fact.is);
        let release = is("kernel").split(' ').next().unwrap_or_default();
        format!("Schedulers on Linux {release}, {}", is("processor"))
    }

    /// The answers: how many tails became shorter or longer, what a switch costs, what the machine's own
    /// noise is.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let of = |row: &ProofRow| row.others().map(|side| side.policy.clone()).collect::<Vec<_>>();
        let rows = || self.tails.iter().chain(&self.switches);
        let policies = rows().map(of).find(|names| !names.is_empty()).unwrap_or_default();
        let told = policies
            .iter()
            .flat_map(|policy| [self.tail_sentence(policy), self.switch_sentence(policy)]);
        let twins: Vec<&ProofSide> = rows().filter_map(ProofRow::twin).collect();
        let noise = format!(
            "The default class against itself: told apart in {} of {} rows, by chance in one of twenty.",
            count(&twins, |answer| answer != Answer::CannotTell),
            count(&twins, |_| true)
        );
        told.flatten().chain([noise]).collect()
    }

    fn tail_sentence(&self, policy: &str) -> Option<String> {
        let sides = sides_of(&self.tails, policy);
        let known = |wanted: Answer| count(&sides, |answer| answer == wanted);
        (!sides.is_empty()).then(|| {
            format!(
                "Tails under {policy} against the default class: {} shorter, {} longer, {} not told apart, of {} rows.",
                known(Answer::Better),
                known(Answer::Worse),
                known(Answer::CannotTell),
                self.tails.len()
            )
        })
    }

    fn switch_sentence(&self, policy: &str) -> Option<String> {
        let ratios = sides_of(&self.switches, policy).into_iter();
        let ratios: Vec<f64> = ratios.filter_map(|side| side.ratio.value).collect();
        let least = ratios.iter().copied().reduce(f64::min)?;
        let most = ratios.iter().copied().reduce(f64::max)?;
        Some(format!(
            "A round trip through pipes takes {least:.2} to {most:.2} times as long under {policy}."
        ))
    }

    /// Tails, switches, and the machine with all that is to be held against the figures.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        vec![self.tails_block(), self.switches_block(), self.machine_block()]
    }

    fn tails_block(&self) -> Block {
        let remarks = [
            "x ideal: over a first come, first served queue with the same arrivals and service times.",
            "better, worse: by 1% or more, with 95% confidence.",
        ];
        let again = self.tails.iter().filter_map(|row| row.command.clone());
        block("tail", &self.tails, remarks.map(String::from).into_iter().chain(again))
    }

    fn switches_block(&self) -> Block {
        let remark = "Two threads of a process pass a byte to and fro. So many processes share one CPU. What is \
                      compared ran right after each other.";
        block("cost of a switch", &self.switches, [remark.to_string()])
    }

    fn machine_block(&self) -> Block {
        let mut grid = Grid::new(["fact", "this machine"].map(String::from));
        let row = |fact: &ProofFact| vec![Cell::plain(&fact.what), Cell::plain(&fact.is)];
        let version = ProofFact { what: "rearguard".into(), is: self.version.clone() };
        grid.rows = self.machine.iter().chain([&version]).map(row).collect();
        let notes = self.caveats.iter().map(|words| Cell::plain(words).tone(Tone::Bad)).collect();
        Block { heading: "the machine, and what to hold against it".to_string(), grid, notes }
    }
}

impl ProofRow {
    /// All schedulers but the default class.
    fn others(&self) -> impl Iterator<Item = &ProofSide> {
        let own = self.sides.first().map(|side| &side.policy);
        self.sides.iter().filter(move |side| Some(&side.policy) != own)
    }

    /// The default class against itself.
    fn twin(&self) -> Option<&ProofSide> {
        let (first, rest) = self.sides.split_first()?;
        rest.iter().find(|side| side.policy == first.policy)
    }

    /// A line a scheduler.
    fn lines(&self) -> impl Iterator<Item = Vec<Cell>> {
        self.sides.iter().enumerate().map(|(at, side)| {
            let [what, runs] = match at {
                0 => [format!("{}, {}", self.what, self.figure), self.runs()],
                _ => [String::new(), String::new()],
            };
            let again = if at > 0 && side.policy == self.sides[0].policy { " again" } else { "" };
            let value_over_ideal =
                Estimate { value: side.value_ns.over(&side.ideal_ns).value, ..Estimate::default() };
            vec![
                Cell::plain(what),
                Cell::plain(runs),
                Cell::plain(format!("{}{again}", side.policy)),
                Cell::estimate(human::latency(&side.value_ns)),
                Cell::estimate(human::ratio(&value_over_ideal)),
                side.answer
                    .map_or(Cell::plain(human::UNKNOWN), |answer| answer_cell(answer, &side.ratio)),
            ]
        })
    }

    fn runs(&self) -> String {
        format!("{} x {}", self.runs, human::round_span(self.window_ns))
    }
}

/// A table of rows; what was not measured stands below it, before other remarks.
fn block(heading: &str, rows: &[ProofRow], remarks: impl IntoIterator<Item = String>) -> Block {
    let titles = [heading, "runs", "scheduler", "took", "x ideal", "against the default class"];
    let mut grid = Grid::new(titles.map(String::from)).claiming(Room::First, &[titles[5]]);
    grid.spare = ["runs", "x ideal"].map(String::from).to_vec();
    grid.rows = rows.iter().flat_map(ProofRow::lines).collect();
    let lack = |row: &ProofRow| {
        let why = row.lacks.as_ref()?;
        Some(Cell::plain(format!("Not measured: {}: {why}", row.what)).tone(Tone::Bad))
    };
    let remarks = remarks.into_iter().map(|words| Cell::plain(words).tone(Tone::Faint));
    let notes = rows.iter().filter_map(lack).chain(remarks).collect();
    Block { heading: heading.to_string(), grid: grid.without_empty(), notes }
}

/// A policy in all rows that have it.
fn sides_of<'a>(rows: &'a [ProofRow], policy: &str) -> Vec<&'a ProofSide> {
    rows.iter().flat_map(ProofRow::others).filter(|side| side.policy == policy).collect()
}

fn count(sides: &[&ProofSide], wanted: impl Fn(Answer) -> bool) -> usize {
    sides.iter().filter(|side| side.answer.is_some_and(&wanted)).count()
}
