//! Which schedules are run: all within a number of preemptions, or drawn ones.

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::engine::{Chooser, Decision, Engine, Outcome};

/// Makes given decisions and no others.
pub struct Replay<'a> {
    decisions: &'a [Decision],
    next: usize,
}

impl Replay<'_> {
    /// In the order of steps.
    pub fn new(decisions: &[Decision]) -> Replay<'_> {
        Replay { decisions, next: 0 }
    }
}

impl Chooser for Replay<'_> {
    fn stops(&self, _step: u64) -> (u64, u64) {
        (self.decisions.get(self.next).map_or(u64::MAX, |decision| decision.0), u64::MAX)
    }

    fn choose(&mut self, step: u64, current: Option<usize>, runnable: &[usize]) -> usize {
        let usual = current.unwrap_or(runnable[0]);
        let Some(&(at, agent)) = self.decisions.get(self.next).filter(|d| d.0 <= step) else {
            return usual;
        };
        self.next += 1;
        if at == step && runnable.contains(&agent) { agent } else { usual }
    }
}

/// Makes given decisions, and notes after the last which others there would have been.
struct Branch<'a> {
    replay: Replay<'a>,
    branches: bool,
    others: Vec<Decision>,
}

impl Chooser for Branch<'_> {
    fn stops(&self, step: u64) -> (u64, u64) {
        let (any, _) = self.replay.stops(step);
        let racing = if any == u64::MAX && self.branches { step + 1 } else { u64::MAX };
        (any, racing)
    }

    fn choose(&mut self, step: u64, current: Option<usize>, runnable: &[usize]) -> usize {
        let open = self.replay.next >= self.replay.decisions.len();
        let choice = self.replay.choose(step, current, runnable);
        if open && self.branches {
            let others = runnable.iter().filter(|&&other| other != choice);
            self.others.extend(others.map(|&other| (step, other)));
        }
        choice
    }
}

/// What an exploration came to.
#[derive(Debug, Default)]
pub struct Found {
    /// Schedules run.
    pub schedules: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// Whether all schedules within the bound were run.
    pub complete: bool,
    /// The first that failed, shrunk, and why.
    pub failure: Option<(Vec<Decision>, String)>,
}

impl Found {
    fn count(&mut self, outcome: &Outcome) {
        self.schedules += 1;
        self.steps += outcome.steps;
    }
}

/// Runs every schedule with so many decisions at most, fewer first, as long as `go_on` says so. A decision
/// lets another coroutine go on than would by itself: where one blocks or ends, or in its midst, before an
/// access to a word that two share.
pub fn enumerate(engine: &mut Engine, bound: usize, mut go_on: impl FnMut(u64) -> bool) -> Found {
    let mut found = Found::default();
    // Which words race is learned by running: the second round knows what the first has met.
    for bound in [bound.min(1), bound] {
        let mut open: VecDeque<Vec<Decision>> = VecDeque::from([Vec::new()]);
        while let Some(decisions) = open.pop_front() {
            if !go_on(found.schedules) {
                return found;
            }
            let branches = decisions.len() < bound;
            let replay = Replay::new(&decisions);
            let mut branch = Branch { replay, branches, others: Vec::new() };
            let outcome = engine.run(&mut branch, false);
            found.count(&outcome);
            if let Some(why) = outcome.failure {
                found.failure = Some(shrink(engine, outcome.decisions, why));
                return found;
            }
            open.extend(
                branch
                    .others
                    .into_iter()
                    .map(|decision| decisions.iter().copied().chain([decision]).collect()),
            );
        }
    }
    found.complete = true;
    found
}

/// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): the runnable coroutine of the highest
/// priority goes on. Priorities are drawn; at a few drawn steps that of the present one becomes the lowest.
struct Pct {
    priorities: Vec<u32>,
    changes: Vec<u64>,
    next: usize,
}

impl Pct {
    fn new(rng: &mut Xoshiro256PlusPlus, agents: usize, depth: usize, steps: u64) -> Pct {
        let mut priorities: Vec<u32> = (0..agents as u32).map(|at| at + 100).collect();
        for at in (1..agents).rev() {
            priorities.swap(at, rng.random_range(0..=at));
        }
        let mut changes: Vec<u64> =
            (0..depth).map(|_| rng.random_range(1..=steps.max(1))).collect();
        changes.sort_unstable();
        Pct { priorities, changes, next: 0 }
    }
}

impl Chooser for Pct {
    fn stops(&self, _step: u64) -> (u64, u64) {
        (self.changes.get(self.next).copied().unwrap_or(u64::MAX), u64::MAX)
    }

    fn is_eager(&self) -> bool {
        true
    }

    fn choose(&mut self, step: u64, current: Option<usize>, runnable: &[usize]) -> usize {
        while self.changes.get(self.next).is_some_and(|&at| at <= step) {
            self.next += 1;
            if let Some(current) = current {
                self.priorities[current] = 100 - self.next as u32;
            }
        }
        *runnable.iter().max_by_key(|&&agent| self.priorities[agent]).expect("one can go on")
    }
}

/// Preemptions that a drawn schedule has at most.
const DEPTH: usize = 4;

/// Runs so many schedules drawn from a seed.
pub fn draw(engine: &mut Engine, seed: u64, schedules: u64) -> Found {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Found::default();
    let agents = engine.world.scenario.agents();
    let mut steps = 1000;
    for _ in 0..schedules {
        let depth = rng.random_range(1..=DEPTH);
        let mut pct = Pct::new(&mut rng, agents, depth, steps);
        let outcome = engine.run(&mut pct, false);
        found.count(&outcome);
        steps = outcome.steps.max(2);
        if let Some(why) = outcome.failure {
            found.failure = Some(shrink(engine, outcome.decisions, why));
            return found;
        }
    }
    found.complete = true;
    found
}

/// Leaves decisions out for as long as the run still fails.
fn shrink(engine: &mut Engine, decisions: Vec<Decision>, why: String) -> (Vec<Decision>, String) {
    let (mut decisions, mut why) = (decisions, why);
    let mut at = decisions.len();
    while at > 0 {
        at -= 1;
        let mut fewer = decisions.clone();
        fewer.remove(at);
        let outcome = engine.run(&mut Replay::new(&fewer), false);
        if let Some(still) = outcome.failure {
            (decisions, why) = (outcome.decisions, still);
            at = at.min(decisions.len());
        }
    }
    (decisions, why)
}
