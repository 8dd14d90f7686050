//! The document of `rearguard what-if`: what would have become of the requests of a trace.

use serde::{Deserialize, Serialize};

use crate::document::{Answer, Estimate, Latency};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;

/// The `schema` of a [`WhatIf`].
pub const WHAT_IF_SCHEMA: &str = "rearguard.what-if/1";

/// A foretelling, and what it is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// [`WHAT_IF_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// What the trace is of.
    pub trace: String,
    /// Where it was made, in one line.
    pub machine: String,
    /// The policy that ran then, as it is simulated.
    pub now: String,
    /// What the scenario rests on, a sentence each.
    pub assumptions: Vec<String>,
    /// Its services.
    pub services: Vec<WhatIfService>,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WhatIfService {
    /// Its name.
    pub name: String,
    /// Its requests in the measured part of the trace.
    pub requests: u64,
    /// Their latency, as it was.
    pub measured_ns: Latency,
    /// The same simulated: what the model is worth.
    pub simulated_ns: Latency,
    /// What is foretold, policy by policy.
    pub foretold: Vec<Foretold>,
}

/// What would have become of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Foretold {
    /// Under this policy.
    pub policy: String,
    /// With other values for keys of the scenario, and without programs.
    pub changes: Vec<String>,
    /// What the change costs, in words; `None`: it was the user's own.
    pub costs: Option<String>,
    /// The latency that is foretold; figures of which the model does not hold are unknown. The interval
    /// allows for as much as the model was off when it simulated what was measured.
    pub latency_ns: Latency,
    /// What the simulation says by itself.
    pub simulated_ns: Latency,
    /// Its p99.9 over that of what was, both simulated.
    pub ratio: Estimate,
    /// Whether the p99.9 becomes better: told where all of its interval lies beyond what was measured.
    pub answer: Answer,
}

impl WhatIf {
    pub(crate) fn title(&self) -> String {
        format!("What if: {}", self.trace)
    }

    /// The answers, a sentence a foretelling.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let of = |service: &WhatIfService| -> Vec<String> {
            service.foretold.iter().map(|one| self.sentence(service, one)).collect()
        };
        self.services.iter().flat_map(of).collect()
    }

    fn sentence(&self, service: &WhatIfService, one: &Foretold) -> String {
        let name = &service.name;
        let shown = |value: &Estimate| human::latency(value).0;
        let measured = shown(&service.measured_ns.p99_9);
        let Some(_) = one.latency_ns.p99_9.value else {
            return format!(
                "{name}, {}: cannot tell: the model has a p50 of {} and a p99.9 of {}; measured were {} and {measured}.",
                self.change(one),
                shown(&service.simulated_ns.p50),
                shown(&service.simulated_ns.p99_9),
                shown(&service.measured_ns.p50),
            );
        };
        let (foretold, interval) = human::latency(&one.latency_ns.p99_9);
        let word = match one.answer {
            Answer::CannotTell => "which may be no change",
            Answer::Better => "which is better",
            Answer::Worse => "which is worse",
        };
        let change = self.change(one);
        format!("{name}, {change}: p99.9 of {foretold} {interval}, {word}; it was {measured}.")
    }

    fn change(&self, one: &Foretold) -> String {
        let as_it_was = one.policy == self.now && !one.changes.is_empty();
        let policy = (!as_it_was).then_some(&one.policy);
        let words = policy.into_iter().chain(&one.changes).cloned();
        words.collect::<Vec<_>>().join(", ")
    }

    /// A table a service.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            self.services.iter().map(|service| self.block(service)).collect();
        let assumed = self.assumptions.iter().map(|words| format!("assumed: {words}"));
        let allowed = "foretold for these requests; intervals allow for as much as the model was off of what was \
                       measured, and 10% more";
        let all = self.services.iter().flat_map(|service| &service.foretold);
        let costs =
            all.filter_map(|one| Some(format!("{}: {}", self.change(one), one.costs.as_ref()?)));
        let notes = [allowed.to_string()].into_iter().chain(costs).chain(assumed);
        if let Some(last) = blocks.last_mut() {
            last.notes = notes.map(|words| Cell::plain(words).tone(Tone::Faint)).collect();
        }
        blocks
    }

    fn block(&self, service: &WhatIfService) -> Block {
        let titles = ["", "p50", "p90", "p99", "p99.9", "p99.9 x as it was"];
        let mut grid = Grid::new(titles.map(String::from)).claiming(Room::First, &["p99.9"]);
        let row = |name: String, latency: &Latency, last: Cell| {
            let figures = [latency.p50, latency.p90, latency.p99, latency.p99_9];
            let cells = figures.iter().map(|figure| Cell::estimate(human::latency(figure)));
            [Cell::plain(name)].into_iter().chain(cells).chain([last]).collect::<Vec<_>>()
        };
        let none = || Cell::plain(human::UNKNOWN);
        grid.rows.push(row("measured".into(), &service.measured_ns, none()));
        grid.rows.push(row(format!("simulated, {}", self.now), &service.simulated_ns, none()));
        for one in &service.foretold {
            let tone = match one.answer {
                Answer::Better => Tone::Good,
                Answer::Worse => Tone::Bad,
                Answer::CannotTell => Tone::Faint,
            };
            let ratio = Cell::estimate(human::ratio(&one.ratio)).tone(tone);
            grid.rows.push(row(format!("foretold, {}", self.change(one)), &one.latency_ns, ratio));
        }
        let requests = human::count(Some(service.requests));
        Block { heading: format!("{}: {requests} requests", service.name), grid, notes: Vec::new() }
    }
}
