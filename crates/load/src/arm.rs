//! The host arm as everybody else sees it.

use std::thread;

use model::{Arm, Failure, PolicySpec, Scenario, Trace, Watch};

use crate::assemble::assemble;
use crate::check::{allow_open_files, check};
use crate::conduct::conduct;
use crate::exclusive::Exclusive;
use crate::machine;

/// Runs scenarios on this machine's kernel, under the policies that it has by itself: `default`, `nice`, `fifo`, `rr`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostArm;

impl Arm for HostArm {
    fn name(&self) -> &'static str {
        "host"
    }

    fn machine(&self) -> String {
        let or_unknown = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_string());
        let (release, model) = (or_unknown(machine::release()), or_unknown(machine::cpu_model()));
        let cpus: Vec<String> = machine::cpus().iter().map(|cpu| cpu.id.to_string()).collect();
        let generator = cpus.first().map_or("none", String::as_str);
        format!(
            "Linux {release}, {model}, CPUs {}; the generator has CPU {generator}",
            cpus.join(",")
        )
    }

    fn exclusive(&self) -> bool {
        true
    }

    fn check(&self, scenario: &Scenario, policy: &PolicySpec) -> Result<(), Failure> {
        check(scenario, policy).map(|_| ())
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure> {
        let ready = check(scenario, policy)?;
        let _alone = Exclusive::acquire(watch)?;
        allow_open_files(scenario)?;
        // A thread of its own: it is bound to a CPU, and children live no longer than the thread that started them.
        let seen = thread::scope(|scope| {
            scope
                .spawn(|| conduct(scenario, &ready, seed, watch))
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        assemble(scenario, policy.to_string(), seed, ready.placement.generator, seen)
    }
}
