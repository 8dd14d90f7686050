//! One comparison: interleaved runs of several policies over one arm, and the result document made of their
//! traces.
#![forbid(unsafe_code)]

mod batch;
mod chained;
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

pub use crate::chained::saturation_per_s;
use crate::execute::RunOutputs;
use crate::finding::Finding;
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
    let (mut runs, mut outputs) = (Vec::new(), RunOutputs::default());
    let (planned, mut taken, mut done) = (looks.seeds.len(), 0, 0);
    loop {
        let fresh = plan.runs(done..looks.seeds[taken]);
        outputs.extend(execute::execute(plan, &fresh, arm, watch, sink)?);
        runs.extend(fresh);
        (done, taken) = (looks.seeds[taken], taken + 1);
        let (findings, twin) = findings(plan, &runs, &outputs);
        let verdicts = verdicts::verdicts(plan, &findings, twin.as_ref(), looks.miss());
        let is_sure = looks::is_sure(&verdicts);
        if is_sure || taken == planned {
            return Ok(Document {
                seeds: plan.seeds[..done].to_vec(),
                results: findings.iter().flat_map(|one| results(plan, one, arm)).collect(),
                verdicts,
                discarded: outputs.discarded.clone(),
                looks: (planned > 1).then_some(document::Looks {
                    taken: taken as u64,
                    planned: planned as u64,
                    is_sure,
                }),
                ..headed(plan, arm)
            });
        }
    }
}

/// What was compared where.
fn headed(plan: &Plan, arm: &dyn Arm) -> Document {
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
        ..Document::default()
    }
}

/// What the traces say of each policy, and of the first one's second runs. Nothing here knows the arm.
fn findings<'a>(
    plan: &Plan,
    runs: &[Run],
    outputs: &'a RunOutputs,
) -> (Vec<Finding<'a>>, Option<Finding<'a>>) {
    let of = |policy: usize, twin: bool| {
        Finding::new(plan.scenario, &finding::outputs_of(plan, runs, outputs, policy, twin))
    };
    let each = (0..plan.policies.len()).map(|policy| of(policy, false)).collect();
    (each, plan.has_twin().then(|| of(0, true)))
}

/// What one run shows by itself, with the ideal of its own arrivals.
pub fn single(scenario: &Scenario, trace: &Trace) -> PolicyResult {
    result::result(scenario, &Finding::new(scenario, &[(trace, &[])]), None)
}

/// The pooled result of a policy, then one a seed. No other process runs on CPUs that are not real.
fn results(plan: &Plan, finding: &Finding, arm: &dyn Arm) -> Vec<PolicyResult> {
    let pooled = result::result(plan.scenario, finding, None);
    let single =
        finding.traces.iter().enumerate().map(|(run, trace)| {
            result::result(plan.scenario, &finding.of_run(run), Some(trace.seed))
        });
    let known = |one: PolicyResult| PolicyResult {
        others_share: one.others_share.filter(|_| arm.exclusive()),
        others: one.others.filter(|_| arm.exclusive()),
        ..one
    };
    std::iter::once(pooled).chain(single).map(known).collect()
}
