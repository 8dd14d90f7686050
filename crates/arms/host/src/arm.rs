//! The host arm as other crates see it.

use std::path::PathBuf;
use std::thread;

use model::trace_session::{KernelTracer, unbuilt};
use model::{Arm, Events, Failure, PolicySpec, Scenario, Trace, Watch};

use crate::assemble::assemble;
use crate::check::{Ready, allow_open_files, check, open_files};
use crate::conduct::conduct;
use crate::exclusive::Exclusive;
use crate::machine::{self, Placement};
use crate::policy::Policy;
use crate::sampler::Pulls;

/// Runs scenarios on this machine's kernel, under the policies that it has by itself, `default`, `nice`,
/// `fifo`, `rr`, and under sched_ext schedulers, loaded for one run each.
#[derive(Clone, Default)]
pub struct HostArm {
    /// What records scheduling events; `None`: nothing can.
    pub tracer: Option<&'static dyn KernelTracer>,
    /// Programs that are schedulers, to look for before PATH.
    pub programs: Vec<PathBuf>,
}

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
        check(scenario, policy, &self.programs).map(|_| ())
    }

    fn has_events(&self) -> Result<(), Failure> {
        self.tracer.ok_or_else(unbuilt)?.check()
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure> {
        let ready = check(scenario, policy, &self.programs)?;
        let _alone = Exclusive::acquire(watch)?;
        let mut scheduler = ready.scheduler.enter()?;
        let policy = policy.to_string();
        let records = events == Events::Recorded && self.has_events().is_ok();
        let tracer = self.tracer.filter(|_| records);
        let Ready { policy: services, placement, .. } = ready;
        let stage = Stage { scenario, policy, services, placement, seed, tracer, pulls: &|| None };
        let trace = run_on(&stage, watch)?;
        scheduler.check()?;
        Ok(trace)
    }
}

/// A run that is sure to have the machine for itself.
pub struct Stage<'a> {
    /// What runs.
    pub scenario: &'a Scenario,
    /// The policy, as the trace names it.
    pub policy: String,
    /// How services are scheduled.
    pub services: Policy,
    /// On which CPUs.
    pub placement: Placement,
    /// The seed of arrivals and service times.
    pub seed: u64,
    /// The tracer of scheduling events, if they are wanted.
    pub tracer: Option<&'a dyn KernelTracer>,
    /// The counter of moves between balancing domains.
    pub pulls: Pulls<'a>,
}

/// Runs a scenario once on this machine, unconditionally.
pub fn run_on(stage: &Stage, watch: &dyn Watch) -> Result<Trace, Failure> {
    allow_open_files(open_files(stage.scenario))?;
    // A thread of its own: it is bound to a CPU, and children live no longer than the thread that started
    // them.
    let seen = thread::scope(|scope| {
        scope
            .spawn(|| conduct(stage, watch))
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    assemble(stage, seen)
}
