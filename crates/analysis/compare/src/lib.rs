//! One comparison: interleaved runs of several policies over one arm, and the result document made of their
//! traces.
#![forbid(unsafe_code)]

mod batch;
pub mod command;
pub mod difference;
mod execute;
mod finding;
pub mod ideals;
mod looks;
mod plan;
mod result;
mod trace_sink;
mod verdicts;

use model::{Arm, Failure, Scenario, Trace, Watch};
use report::Document;
use report::document::{self, COMPARE_SCHEMA, Machine, PolicyResult};

use crate::execute::RunOutputs;
use crate::finding::Finding;
pub use crate::finding::workers;
use crate::looks::Looks;
use crate::plan::Run;
pub use crate::plan::{Plan, first_seeds};
pub use crate::trace_sink::TraceSink;

/// Runs a comparison and says what it found; the caller adds the command line, version and scenario text.
///
/// Everything is checked before the first run starts. Fails as [`Arm::check`] and [`Arm::run`] do.
pub fn run(plan: &Plan, arm: &dyn Arm, watch: &dyn Watch) -> Result<Document, Failure> {
    run_with_sink(plan, arm, watch, &())
}

/// [`run`], with a sink for the trace of every run.
pub fn run_with_sink(
    plan: &Plan,
    arm: &dyn Arm,
    watch: &dyn Watch,
    sink: &dyn TraceSink,
) -> Result<Document, Failure> {
    looked(plan, &Looks::once(plan.seeds.len()), arm, watch, sink)
}

/// [`run_with_sink`] with the first so many of the plan's seeds, and with twice as many again and again,
/// until every service's p99.9 is told from the first policy's or no seed is left. A verdict on equals is a
/// false alarm as rarely as in [`run`], whenever the runs ended.
pub fn run_until_sure(
    plan: &Plan,
    first: usize,
    arm: &dyn Arm,
    watch: &dyn Watch,
    sink: &dyn TraceSink,
) -> Result<Document, Failure> {
    looked(plan, &Looks::doubling(first, plan.seeds.len()), arm, watch, sink)
}

fn looked(
    plan: &Plan,
    looks: &Looks,
    arm: &dyn Arm,
    watch: &dyn Watch,
    sink: &dyn TraceSink,
) -> Result<Document, Failure> {
    plan.check()?;
    plan.policies.iter().try_for_each(|policy| arm.check(plan.scenario, policy))?;
    let planned = looks.seeds.len() as u64;
    let (mut runs, mut outputs) = (Vec::new(), RunOutputs::default());
    let (mut found, mut done) = (Document::default(), 0);
    for (taken, &seeds) in (1..).zip(&looks.seeds) {
        let fresh = plan.runs(done..seeds);
        outputs.extend(execute::execute(plan, &fresh, arm, watch, sink)?);
        runs.extend(fresh);
        done = seeds;
        found = analysed(plan, &runs, &outputs, looks.miss());
        let is_sure = looks::is_sure(&found);
        found.looks = (planned > 1).then_some(document::Looks { taken, planned, is_sure });
        if is_sure {
            break;
        }
    }
    let discarded = outputs.discarded;
    Ok(Document { seeds: plan.seeds[..done].to_vec(), discarded, ..headed(plan, arm, found) })
}

/// What was found, under what was compared where.
fn headed(plan: &Plan, arm: &dyn Arm, found: Document) -> Document {
    let machine = plan.scenario.machine;
    Document {
        schema: COMPARE_SCHEMA.to_string(),
        scenario: plan.scenario.name.clone(),
        shows: plan.scenario.shows.clone(),
        arm: arm.name().to_string(),
        machine: Machine {
            description: arm.machine(),
            cpus: machine.cpus,
            smt: machine.smt,
            llcs: machine.llcs,
            nodes: machine.nodes,
        },
        ..found
    }
}

/// What the traces say: results, and verdicts whose intervals miss as rarely as given. Nothing here knows the
/// arm.
fn analysed(plan: &Plan, runs: &[Run], outputs: &RunOutputs, miss: f64) -> Document {
    let of = |policy: usize, twin: bool| {
        Finding::new(plan.scenario, &finding::outputs_of(plan, runs, outputs, policy, twin))
    };
    let findings: Vec<Finding> = (0..plan.policies.len()).map(|policy| of(policy, false)).collect();
    let twin = plan.has_twin().then(|| of(0, true));
    Document {
        results: findings.iter().flat_map(|finding| results(plan, finding)).collect(),
        verdicts: verdicts::verdicts(plan, &findings, twin.as_ref(), miss),
        ..Document::default()
    }
}

/// What one run shows by itself, with the ideal of its own arrivals.
pub fn single(scenario: &Scenario, trace: &Trace) -> PolicyResult {
    result::result(scenario, &Finding::new(scenario, &[(trace, &[])]), None)
}

/// The pooled result of a policy, then one a seed.
fn results(plan: &Plan, finding: &Finding) -> Vec<PolicyResult> {
    let pooled = result::result(plan.scenario, finding, None);
    let single =
        finding.traces.iter().enumerate().map(|(run, trace)| {
            result::result(plan.scenario, &finding.of_run(run), Some(trace.seed))
        });
    std::iter::once(pooled).chain(single).collect()
}
