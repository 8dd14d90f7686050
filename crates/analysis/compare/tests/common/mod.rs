//! An arm whose runs a test makes up, and comparisons of two policies on it.

use compare::{Plan, first_seeds, run_until_sure, run_with_sink};
use model::trace::Window;
use model::{Arm, Events, Failure, Nanos, PolicySpec, Scenario, Silent, Trace, Watch};
use report::Document;

/// Makes up what a scenario's programs do under policy `a` or `b` with a seed.
pub struct MadeUp<F> {
    pub run: F,
    /// A run at a time, in the order of the plan: the twin of a run draws by itself.
    pub exclusive: bool,
}

impl<F: Fn(&Scenario, &str, u64) -> Trace + Sync> Arm for MadeUp<F> {
    fn name(&self) -> &'static str {
        "test"
    }
    fn machine(&self) -> String {
        String::new()
    }
    fn exclusive(&self) -> bool {
        self.exclusive
    }
    fn check(&self, _: &Scenario, _: &PolicySpec) -> Result<(), Failure> {
        Ok(())
    }
    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        _: Events,
        _: &dyn Watch,
    ) -> Result<Trace, Failure> {
        let policy = policy.to_string();
        let window = Window { start: Nanos::ZERO, end: scenario.duration };
        let made = (self.run)(scenario, &policy, seed);
        Ok(Trace { policy, seed, window, ..made })
    }
}

/// How a plan is run.
pub type Run = fn(&Plan, &dyn Arm) -> Result<Document, Failure>;

/// All seeds at once.
pub fn whole(plan: &Plan, arm: &dyn Arm) -> Result<Document, Failure> {
    run_with_sink(plan, arm, &Silent, &())
}

/// Three seeds, and more until it is sure.
pub fn until_sure(plan: &Plan, arm: &dyn Arm) -> Result<Document, Failure> {
    run_until_sure(plan, 3, arm, &Silent, &())
}

/// Policies `a` and `b` in a scenario, with so many seeds at most.
pub fn compared(text: &str, seeds: usize, arm: &dyn Arm, run: Run) -> Document {
    let scenario = Scenario::read(text, "test.toml").expect("a scenario");
    let plan = Plan {
        scenario: &scenario,
        policies: ["a", "b"].map(PolicySpec::plain).to_vec(),
        seeds: first_seeds(&scenario, seeds),
        jobs: None,
        events: Events::Omitted,
    };
    run(&plan, arm).expect("runs")
}
