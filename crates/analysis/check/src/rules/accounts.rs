//! CPU time adds up: what each thread is said to have received is the time for which it was seen to run, and
//! all of it with what was idle is what the machine has.

use model::trace::Usage;
use model::{Nanos, Scenario, ThreadId, Trace};

use super::Rule;
use crate::fault::Finding;
use crate::scene::{Scene, State};

pub const NAME: &str = "accounts";

pub struct Accounts {
    cpus: u64,
    /// The window's start and end, and what each thread was seen to receive until then.
    seen: [(Nanos, Vec<Nanos>); 2],
}

impl Accounts {
    pub fn new(scenario: &Scenario) -> Accounts {
        let start = scenario.warm_up;
        let seen = [start, start + scenario.duration].map(|at| (at, Vec::new()));
        Accounts { cpus: u64::from(scenario.machine.cpus), seen }
    }
}

/// What a thread has received up to a moment to which nothing happens.
fn received(scene: &Scene, at: Nanos) -> Vec<Nanos> {
    let until = |thread: &crate::scene::Thread| match thread.state {
        State::Runs(_) => thread.received + (at - thread.since),
        _ => thread.received,
    };
    scene.threads.iter().map(until).collect()
}

fn compare(usage: &Usage, seen: &[Nanos]) -> Option<Finding> {
    let pairs = (0..).map(ThreadId).zip(usage.cpu_time.iter().zip(seen));
    pairs
        .filter(|(_, (said, seen))| said != seen)
        .map(|(thread, (said, seen))| {
            let text = format!("is said to have received {} ns and ran for {}", said.0, seen.0);
            Finding::of(thread, text)
        })
        .next()
}

impl Rule for Accounts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn passes(&mut self, scene: &Scene, to: Nanos) -> Option<Finding> {
        for (at, seen) in &mut self.seen {
            if scene.now <= *at && *at <= to {
                *seen = received(scene, *at);
            }
        }
        None
    }

    fn ended(&mut self, scene: &Scene, trace: &Trace) -> Option<Finding> {
        for (at, seen) in &mut self.seen {
            if scene.now <= *at {
                *seen = received(scene, *at);
            }
        }
        let (first, last) = (trace.usage.first()?, trace.usage.last()?);
        let [start, end] = &self.seen;
        let wrong = compare(first, &start.1).or_else(|| compare(last, &end.1));
        wrong.or_else(|| {
            let sum = |seen: &[Nanos]| seen.iter().map(|time| time.0).sum::<u64>();
            let used = sum(&end.1) - sum(&start.1) + trace.counters.idle?.0;
            let whole = self.cpus * trace.window.span().0;
            let text = || format!("used and idle are {used} ns of {whole}");
            (used != whole).then(|| Finding::general(text()))
        })
    }
}
