//! The question put to the simulator, and what its answer is worth.

use std::collections::BTreeSet;

use compare::{Plan, run};
use model::edit::{Edit, edited};
use model::{Answer, Arm, Events, Failure, PolicySpec, Scenario, Watch};
use report::document::{Document, Estimate, Latency};
use report::whatif::{Foretold, WHAT_IF_SCHEMA, WhatIf, WhatIfService};
use trace::Recorded;

use crate::scenario::Found;
use crate::without::without;

/// A model that is further off than this, either way, foretells nothing.
const FURTHEST_OFF: f64 = 2.0;

/// A model that gives what was measured may be off by so much of what was not: 24 changes on a real kernel
/// (docs/guide/what-if.md).
const SPARE: f64 = 1.1;

/// A change to be foretold.
#[derive(Clone, Debug)]
pub struct Change {
    /// Under this policy.
    pub policy: PolicySpec,
    /// With other values for keys of the scenario.
    pub edits: Vec<Edit>,
    /// Without these programs.
    pub without: Vec<String>,
    /// What it costs, in words.
    pub costs: Option<String>,
}

impl Change {
    /// Another policy alone.
    pub fn to(policy: PolicySpec) -> Change {
        Change { policy, edits: Vec::new(), without: Vec::new(), costs: None }
    }

    fn words(&self) -> Vec<String> {
        let gone = self.without.iter().map(|name| format!("without {name}"));
        gone.chain(self.edits.iter().map(Edit::to_string)).collect()
    }

    /// The scenario with it, and what its names stand for.
    fn apply(&self, text: &str, file: &str) -> Result<(String, Vec<String>), Failure> {
        let (left, said) = without(text, &self.without)?;
        Ok((edited(&left, file, &self.edits)?, said))
    }
}

/// What is asked.
#[derive(Debug)]
pub struct Question<'a> {
    /// The policy that ran when the trace was made.
    pub now: PolicySpec,
    /// What may become of it.
    pub changes: &'a [Change],
    /// Seeds: they draw what costs differ by. The requests are the same.
    pub seeds: Vec<u64>,
}

/// Simulates what was, to see what the model is worth, and then what would be. The caller adds command line
/// and version.
pub fn foretell(
    recorded: &Recorded,
    found: &Found,
    question: &Question,
    arm: &dyn Arm,
    watch: &dyn Watch,
) -> Result<WhatIf, Failure> {
    let file = &recorded.header.scenario;
    let simulated = |text: &str, policy: &PolicySpec| {
        let scenario = Scenario::read(text, file)?;
        let plan = Plan {
            scenario: &scenario,
            policies: vec![policy.clone()],
            seeds: question.seeds.clone(),
            jobs: None,
            events: Events::when(false),
        };
        run(&plan, arm, watch)
    };
    let texts = question.changes.iter().map(|change| change.apply(&found.text, file));
    let (texts, said): (Vec<String>, Vec<Vec<String>>) =
        texts.collect::<Result<Vec<_>, Failure>>()?.into_iter().unzip();
    // Several policies are asked for with the same names.
    let said: BTreeSet<String> = said.into_iter().flatten().collect();
    let now = simulated(&found.text, &question.now)?;
    let would_be = question.changes.iter().zip(&texts);
    let would_be = would_be.map(|(change, text)| Ok((change, simulated(text, &change.policy)?)));
    let would_be = would_be.collect::<Result<Vec<(&Change, Document)>, Failure>>()?;
    let services = found.services.iter().filter_map(|(program, name)| {
        let runs = [stats::window_latencies(&recorded.trace, *program)];
        let measured = figures::latency(&stats::latency_estimates(&runs)?);
        Some(service(name, runs[0].len() as u64, exact(measured), &now, &would_be))
    });
    Ok(WhatIf {
        schema: WHAT_IF_SCHEMA.to_string(),
        trace: recorded.header.scenario.clone(),
        machine: recorded.header.machine.clone(),
        now: question.now.to_string(),
        assumptions: found.assumptions.iter().cloned().chain(said).collect(),
        services: services.collect(),
        ..WhatIf::default()
    })
}

/// Of these requests, and not of others like them: as they were.
fn exact(latency: Latency) -> Latency {
    each(|of| Estimate { low: None, high: None, ..of(&latency) })
}

fn service(
    name: &str,
    requests: u64,
    measured: Latency,
    now: &Document,
    would_be: &[(&Change, Document)],
) -> WhatIfService {
    let was = by_seed(now, name);
    let simulated = over_seeds(&was);
    let foretold = would_be.iter().map(|(change, document)| {
        let then = by_seed(document, name);
        let p99_9 = |all: &[Latency]| values(all, |latency| latency.p99_9);
        let simulated_ns = over_seeds(&then);
        let latency_ns = widened(&simulated_ns, &simulated, &measured);
        // A factor of a model that is not believed is as little worth as its answer.
        let known = latency_ns.p99_9 != Estimate::default();
        let ratio = stats::ratio_of_runs(&p99_9(&then), &p99_9(&was)).filter(|_| known);
        let by_seeds = ratio.map_or(Answer::CannotTell, |ratio| Answer::of(ratio.low, ratio.high));
        Foretold {
            policy: change.policy.to_string(),
            changes: change.words(),
            costs: change.costs.clone(),
            answer: answer(by_seeds, &latency_ns.p99_9, &measured.p99_9),
            latency_ns,
            simulated_ns,
            ratio: ratio.map_or(Estimate::default(), figures::estimate),
        }
    });
    let foretold = foretold.collect();
    WhatIfService {
        name: name.to_string(),
        requests,
        measured_ns: measured,
        simulated_ns: simulated,
        foretold,
    }
}

/// What the seeds tell, where all of the foretold interval lies beyond what was measured. The requests are
/// the same under each seed, so seeds differ by next to nothing: a smaller difference may be what the model
/// lacks.
fn answer(by_seeds: Answer, foretold: &Estimate, measured: &Estimate) -> Answer {
    let is_beyond = match by_seeds {
        Answer::Better => foretold.high.zip(measured.value).is_some_and(|(high, was)| high < was),
        Answer::Worse => foretold.low.zip(measured.value).is_some_and(|(low, was)| low > was),
        Answer::CannotTell => false,
    };
    if is_beyond { by_seeds } else { Answer::CannotTell }
}

/// A service's latencies, seed by seed.
fn by_seed(document: &Document, name: &str) -> Vec<Latency> {
    let own = document.results.iter().filter(|one| one.seed.is_some());
    let service = own.filter_map(|one| one.programs.iter().find(|one| one.name == name));
    service.filter_map(|program| program.latency_ns).collect()
}

type Part = fn(&Latency) -> Estimate;

fn each(of: impl Fn(Part) -> Estimate) -> Latency {
    Latency {
        mean: of(|latency| latency.mean),
        p50: of(|latency| latency.p50),
        p90: of(|latency| latency.p90),
        p99: of(|latency| latency.p99),
        p99_9: of(|latency| latency.p99_9),
        max: None,
    }
}

fn values(all: &[Latency], of: Part) -> Vec<f64> {
    // Lost requests have no figure: no number stands for them.
    all.iter().map(|one| of(one).value.unwrap_or(f64::INFINITY)).collect()
}

/// The mean over the seeds, from the least to the greatest of them.
fn over_seeds(all: &[Latency]) -> Latency {
    each(|of| {
        let values = values(all, of);
        let Some(mean) = stats::geometric_mean(&values) else { return Estimate::default() };
        let least = values.iter().copied().fold(mean, f64::min);
        let most = values.iter().copied().fold(mean, f64::max);
        Estimate::new(mean, least, most)
    })
}

/// Each figure by itself: the model may hold of a median and not of a tail. What each request needs beside
/// the model, in softirqs, at its client and between, may come on top: it does not go with a cause.
fn widened(latency: &Latency, simulated: &Latency, measured: &Latency) -> Latency {
    let medians = measured.p50.value.zip(simulated.p50.value);
    let fixed = medians.map_or(0.0, |(measured, simulated)| (measured - simulated).max(0.0));
    each(|of| {
        let off = believed(&of(simulated), &of(measured));
        let holds = |value: f64| value + fixed <= FURTHEST_OFF * value;
        let off = off.filter(|_| of(latency).value.is_none_or(holds));
        off.map_or(Estimate::default(), |off| hull(&of(latency), off, fixed))
    })
}

/// Measured over simulated, where the model is near enough.
fn believed(simulated: &Estimate, measured: &Estimate) -> Option<f64> {
    let off = measured.value? / simulated.value.filter(|value| *value > 0.0)?;
    (1.0 / FURTHEST_OFF..=FURTHEST_OFF).contains(&off).then_some(off)
}

/// What is simulated, and the same as far off as the model was, by a factor or by what all requests lack: the
/// interval holds all of them, and [`SPARE`] more.
fn hull(estimate: &Estimate, off: f64, fixed: f64) -> Estimate {
    let low = estimate.low.or(estimate.value).map(|low| low.min(low * off) / SPARE);
    let high = estimate.high.map(|high| (high * off).max(high + fixed) * SPARE);
    Estimate { value: estimate.value, low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(p50: f64, p99_9: f64) -> Latency {
        let [p50, p99_9] = [p50, p99_9].map(|value| Estimate::new(value, value, value));
        Latency { p50, p99_9, ..Latency::default() }
    }

    #[test]
    fn what_seeds_tell_stands_only_beyond_what_was_measured() {
        let was = Estimate::exact(10.0);
        let told = |by_seeds, low, high| answer(by_seeds, &Estimate::new(low, low, high), &was);
        assert_eq!(told(Answer::Better, 9.0, 10.5), Answer::CannotTell);
        assert_eq!(told(Answer::Worse, 9.5, 12.0), Answer::CannotTell);
        assert_eq!(told(Answer::Worse, 8.0, 9.0), Answer::CannotTell, "the other way round");
        assert_eq!(told(Answer::Better, 8.0, 9.0), Answer::Better, "the control");
        assert_eq!(told(Answer::Worse, 11.0, 12.0), Answer::Worse, "the control");
    }

    /// A request of 10 us took 80 us: what is missing does not become shorter with a neighbour's absence.
    #[test]
    fn what_each_request_needs_beside_the_model_is_added_and_not_scaled() {
        let (simulated, measured) = (latency(10e3, 2e6), latency(80e3, 2.1e6));
        let p99_9 = |then: f64| widened(&latency(9e3, then), &simulated, &measured).p99_9;
        assert_eq!(p99_9(40e3), Estimate::default(), "most of it would be what is missing");
        let told = p99_9(400e3);
        assert!(told.high.is_some_and(|high| (470e3..600e3).contains(&high)), "{told:?}");
        assert!(told.low.is_some_and(|low| low > 350e3), "{told:?}");
        let control = widened(&latency(9e3, 40e3), &simulated, &latency(10e3, 2.1e6)).p99_9;
        assert!(control.high.is_some_and(|high| high < 50e3), "{control:?}");
    }
}
