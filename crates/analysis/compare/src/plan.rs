//! Which runs a comparison makes, in which order.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;

use model::scenario::Program;
use model::{Events, Failure, PolicySpec, Scenario};

/// What to compare.
pub struct Plan<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The policies, at least one; the first is the baseline of every verdict.
    pub policies: Vec<PolicySpec>,
    /// One run of each policy a seed; at least one seed.
    pub seeds: Vec<u64>,
    /// Runs at a time where they do not disturb each other; `None`: one a core.
    pub jobs: Option<usize>,
    /// Whether runs record scheduling events, where the arm has them. Both runs of the A/A pair do, so that
    /// they have the same overhead.
    pub events: Events,
}

/// One run to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index into [`Plan::policies`].
    pub policy: usize,
    /// Whether this is the baseline's second run with the same seed: the A/A pair, which shows what the
    /// machine's own noise does to a verdict.
    pub twin: bool,
    /// The seed.
    pub seed: u64,
}

/// Threads of all runs together: of each its CPU time is kept at a hundred moments.
const MOST_THREADS: u64 = 1 << 23;

impl Plan<'_> {
    /// [`Failure::Input`] where a policy or a seed stands twice: a run pooled with itself would narrow every
    /// interval. Also where runs are more than there is memory for.
    pub fn check(&self) -> Result<(), Failure> {
        once("policy", &self.policies)?;
        once("seed", &self.seeds)?;
        let threads = |program: &Program| u64::from(program.kind.threads());
        let a_run: u64 = self.scenario.programs.iter().map(threads).sum();
        let a_seed = (self.policies.len() + usize::from(self.has_twin())) as u64;
        let (seeds, most) = (self.seeds.len() as u64, MOST_THREADS / (a_run * a_seed).max(1));
        if seeds > most {
            return Err(Failure::Input(format!(
                "{seeds} seeds of {a_seed} runs with {a_run} threads each; expected at most {most}: --seeds {most}, or fewer policies"
            )));
        }
        Ok(())
    }

    /// The runs of these of the seeds, in their order: seed by seed, so that a drift of the machine meets
    /// every policy alike, and in each round from another policy on, so that none always follows the same
    /// one.
    pub(crate) fn runs(&self, of: Range<usize>) -> Vec<Run> {
        let rounds = self.seeds.iter().enumerate().skip(of.start).take(of.len());
        rounds.flat_map(|(round, seed)| self.round(round, *seed)).collect()
    }

    /// Whether the first policy runs twice: where no other one is held against it there is no verdict to
    /// check.
    pub(crate) fn has_twin(&self) -> bool {
        self.policies.len() > 1
    }

    fn round(&self, round: usize, seed: u64) -> Vec<Run> {
        let mut runs: Vec<Run> =
            (0..self.policies.len()).map(|policy| Run { policy, twin: false, seed }).collect();
        if self.has_twin() {
            runs.push(Run { policy: 0, twin: true, seed });
        }
        let first = round % runs.len();
        runs.rotate_left(first);
        runs
    }
}

/// So many seeds of a scenario: its own, then the numbers that follow the greatest of them.
pub fn first_seeds(scenario: &Scenario, count: usize) -> Vec<u64> {
    let after = scenario.seeds.iter().max().map_or(1, |last| last + 1);
    scenario.seeds.iter().copied().chain(after..).take(count).collect()
}

fn once<T: Ord + Display>(what: &str, given: &[T]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match given.iter().find(|one| !seen.insert(*one)) {
        Some(again) => Err(Failure::Input(format!("{what} {again} is given twice"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = "# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"b\"\nkind = \"batch\"\nthreads = 1\n";
        Scenario::read(text, "test.toml").unwrap()
    }

    #[test]
    fn every_contender_takes_every_place_and_meets_every_seed() {
        let scenario = scenario();
        let policies = ["a", "b"].map(PolicySpec::plain).to_vec();
        let plan = Plan {
            scenario: &scenario,
            policies,
            seeds: vec![7, 8, 9],
            jobs: None,
            events: Events::Omitted,
        };
        let runs = plan.runs(0..3);
        let contender = |run: &Run| (run.policy, run.twin);
        for place in 0..3 {
            let there: BTreeSet<_> = runs.iter().skip(place).step_by(3).map(contender).collect();
            assert_eq!(there, BTreeSet::from([(0, false), (0, true), (1, false)]));
        }
        assert_eq!(
            runs.iter().map(|run| run.seed).collect::<Vec<_>>(),
            [7, 7, 7, 8, 8, 8, 9, 9, 9]
        );
        assert_eq!([plan.runs(0..1), plan.runs(1..3)].concat(), runs, "a part after the other");
    }

    #[test]
    fn a_policy_alone_is_compared_with_nothing_and_runs_once() {
        let scenario = scenario();
        let policies = vec![PolicySpec::plain("a")];
        let plan = Plan {
            scenario: &scenario,
            policies,
            seeds: vec![7, 8],
            jobs: None,
            events: Events::Omitted,
        };
        let alone = |seed| Run { policy: 0, twin: false, seed };
        assert_eq!(plan.runs(0..2), [alone(7), alone(8)]);
    }

    #[test]
    fn nothing_is_compared_with_itself_but_by_the_twin() {
        assert_eq!(once("seed", &[1, 2, 3]), Ok(()));
        assert_eq!(once("seed", &[1, 2, 1]), Err(Failure::Input("seed 1 is given twice".into())));
    }
}
