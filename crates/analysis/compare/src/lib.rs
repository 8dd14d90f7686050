//! One comparison: interleaved runs of several policies over one arm, and the result document made of their
//! traces.
#![forbid(unsafe_code)]

mod batch;
pub mod command;
pub mod difference;
mod execute;
mod finding;
pub mod ideals;
mod plan;
mod result;
mod trace_sink;
mod verdicts;

use model::{Arm, Failure, Scenario, Trace, Watch};
use report::Document;
use report::document::{COMPARE_SCHEMA, Machine, PolicyResult};

use crate::execute::RunOutputs;
use crate::finding::Finding;
pub use crate::finding::workers;
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
    plan.check()?;
    plan.policies.iter().try_for_each(|policy| arm.check(plan.scenario, policy))?;
    let runs = plan.runs();
    let outputs = execute::execute(plan, &runs, arm, watch, sink)?;
    let machine = plan.scenario.machine;
    Ok(Document {
        schema: COMPARE_SCHEMA.to_string(),
        scenario: plan.scenario.name.clone(),
        shows: plan.scenario.shows.clone(),
        arm: arm.name().to_string(),
        seeds: plan.seeds.clone(),
        machine: Machine {
            description: arm.machine(),
            cpus: machine.cpus,
            smt: machine.smt,
            llcs: machine.llcs,
            nodes: machine.nodes,
        },
        discarded: outputs.discarded.clone(),
        ..analysed(plan, &runs, &outputs)
    })
}

/// What the traces say: results and verdicts. Nothing here knows the arm.
fn analysed(plan: &Plan, runs: &[Run], outputs: &RunOutputs) -> Document {
    let of = |policy: usize, twin: bool| {
        Finding::new(plan.scenario, &finding::outputs_of(plan, runs, outputs, policy, twin))
    };
    let findings: Vec<Finding> = (0..plan.policies.len()).map(|policy| of(policy, false)).collect();
    let twin = plan.has_twin().then(|| of(0, true));
    Document {
        results: findings.iter().flat_map(|finding| results(plan, finding)).collect(),
        verdicts: verdicts::verdicts(plan, &findings, twin.as_ref()),
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
