//! The sim arm: from a policy's name to a run.

use model::{Arm, Failure, PolicySpec, Scenario, Trace, Watch};

use crate::class::rt;
use crate::class::rt::Rt;
use crate::costs::Costs;
use crate::kernel::{Setup, simulate};

/// The simulator as an arm: any machine, no privileges, the same trace for the same seed.
pub struct SimArm;

/// A policy that is understood: a class, and how services relate to it.
struct Choice {
    class: Rt,
    realtime: Option<rt::Kind>,
    kernel: &'static str,
}

/// Classes of the kernel itself.
const CLASSES: [&str; 2] = ["fifo", "rr"];

/// Policies that take the names of [`CLASSES`] have no options.
fn choose(scenario: &Scenario, policy: &PolicySpec) -> Result<Choice, Failure> {
    let (realtime, kernel) = match policy.name.as_str() {
        "fifo" => (rt::Kind::Fifo, "7.2 SCHED_FIFO above EEVDF (modelled)"),
        "rr" => (rt::Kind::RoundRobin, "7.2 SCHED_RR above EEVDF (modelled)"),
        _ => return Err(unknown(policy)),
    };
    if let Some(option) = policy.options.keys().next() {
        let name = &policy.name;
        return Err(Failure::Input(format!(
            "policy `{policy}`: {name} has no options, and so no `{option}`"
        )));
    }
    let class = Rt::new(rt::Kind::RoundRobin, &scenario.machine);
    Ok(Choice { class, realtime: Some(realtime), kernel })
}

fn unknown(policy: &PolicySpec) -> Failure {
    let known = CLASSES;
    let hint = model::closest(&policy.name, &known)
        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    Failure::Input(format!(
        "policy `{}` is unknown to the simulator{hint}: it knows {}",
        policy.name,
        known.join(", ")
    ))
}

impl Arm for SimArm {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn machine(&self) -> String {
        "the scenario's machine, simulated".to_string()
    }

    fn exclusive(&self) -> bool {
        false
    }

    fn check(&self, scenario: &Scenario, policy: &PolicySpec) -> Result<(), Failure> {
        choose(scenario, policy).map(|_| ())
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure> {
        let choice = choose(scenario, policy)?;
        let setup = Setup {
            scenario,
            policy: &policy.to_string(),
            kernel: choice.kernel,
            seed,
            realtime: choice.realtime,
            costs: Costs::DEFAULT,
            watch,
        };
        simulate(&setup, choice.class)
    }
}
