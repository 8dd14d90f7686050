//! The one interface of the three arms.

use crate::{Failure, PolicySpec, Scenario, Trace};

/// Something that runs a scenario under a policy: the simulator, this machine, a virtual machine.
pub trait Arm: Sync {
    /// `sim`, `host` or `vm`.
    fn name(&self) -> &'static str;

    /// One line on the machine or kernel that runs, for the result document.
    fn machine(&self) -> String;

    /// What runs a policy, as far as its results depend on it.
    fn kernel(&self, _policy: &PolicySpec) -> Result<String, Failure> {
        Ok(self.machine())
    }

    /// Whether two runs at once would disturb each other: true where real CPUs are measured.
    fn exclusive(&self) -> bool;

    /// Says whether [`Arm::run`] could work, and changes nothing.
    ///
    /// [`Failure::Input`] for an unknown policy or option, [`Failure::Machine`] where this machine cannot.
    fn check(&self, scenario: &Scenario, policy: &PolicySpec) -> Result<(), Failure>;

    /// Says whether traces of this arm can hold scheduling events here; if not, what is missing.
    fn has_events(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs the scenario once. The seed draws arrivals and service times, the same on every arm.
    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure>;

    /// Whether what goes before a run takes so long that [`Arm::run_seeds`] is worth its while.
    fn shares_preparation(&self) -> bool {
        false
    }

    /// Runs the scenario once for each seed, one run after the other; a trace each, in the order of the
    /// seeds. An arm whose runs take long to prepare prepares once for all of them.
    fn run_seeds(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seeds: &[u64],
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Vec<Trace>, Failure> {
        seeds.iter().map(|seed| self.run(scenario, policy, *seed, events, watch)).collect()
    }
}

/// Whether a trace holds scheduling events, where the arm has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// It does.
    Recorded,
    /// It does not: they are many.
    Omitted,
}

impl Events {
    /// Recorded if they are wanted.
    pub fn when(wanted: bool) -> Events {
        if wanted { Events::Recorded } else { Events::Omitted }
    }
}

/// What an arm tells its caller while it runs, and asks of it.
pub trait Watch: Sync {
    /// The share of the run that is done, 0 to 1. Called a few times a second at most.
    fn progress(&self, done: f64);
    /// What it waits for before it begins, where that takes more than a moment.
    fn waits(&self, _what: &str) {}
    /// Whether the user wants to stop. An arm that sees it cleans up and returns [`Failure::Interrupted`].
    fn cancelled(&self) -> bool;
}

/// A [`Watch`] that shows nothing and never stops.
pub struct Silent;

impl Watch for Silent {
    fn progress(&self, _done: f64) {}
    fn cancelled(&self) -> bool {
        false
    }
}
