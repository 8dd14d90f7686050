//! What events say of slow requests: the source that was put there has the largest part, and its culprit's name.

use explain::{Culprit, Explained, Setting, Source, explain};
use libtest_mimic::Failed;
use model::{Arm, Scenario};

use crate::runs::{batch, expect, recorded, scenario, service};

/// The part of a service's requests that are slow: enough of them in a second.
const SLOW: f64 = 0.01;

/// Siblings under CFS pass each other, and that makes requests slow; first come, first served they do not.
pub fn on_inversions(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = scenario(1, &service("500us", 0.8))?;
    let passed = Slow::of(arm, &scenario, "cfs")?.part(Source::Inversion);
    expect(passed > 0.5, "the part of inversions in the excess under cfs", &[passed])?;
    let control = Slow::of(arm, &scenario, "fifo")?.of_latency(Source::Inversion);
    expect(control < 0.01, "the control: inversions in the latency under fifo", &[control])
}

/// A spinning thread beside a service makes its requests slow under EEVDF, and it is named; without it nobody is. The service has one
/// thread: of several some slow requests would be slow by inversions, and rightly blame them.
pub fn on_batch(arm: &dyn Arm) -> Result<(), Failed> {
    let alone = service("500us", 0.3) + "architecture = \"shared-queue\"\nworkers = 1\n";
    let beside = alone.clone() + &batch("batch", 1, "");
    let slow = Slow::of(arm, &scenario(1, &beside)?, "eevdf")?;
    let part = slow.part(Source::Background);
    expect(part > 0.5, "the part of the background in the excess", &[part])?;
    let named = slow.named((Source::Background, Culprit::Program(1)));
    expect(named >= 0.95, "slow requests that blame the batch", &[named])?;
    let control = Slow::of(arm, &scenario(1, &alone)?, "eevdf")?.of_latency(Source::Background);
    expect(control < 0.01, "the control: background in the latency of a service alone", &[control])
}

/// The slow requests of a run's first program.
struct Slow(Vec<Explained>);

impl Slow {
    fn of(arm: &dyn Arm, scenario: &Scenario, policy: &str) -> Result<Slow, Failed> {
        let trace = recorded(arm, scenario, policy)?;
        let setting = Setting::of(scenario).with(&trace.tables);
        let mut explained = explain(&trace, &setting)?;
        let service = explained.services.pop().ok_or("no request is explained")?;
        expect(
            service.unknown == 0,
            "requests whose thread nobody knows",
            &[service.unknown as f64],
        )?;
        let mut requests = service.requests;
        requests.sort_by_key(|request| std::cmp::Reverse(request.latency));
        requests.truncate((SLOW * requests.len() as f64).ceil() as usize);
        Ok(Slow(requests))
    }

    fn sum(&self, of: impl Fn(&Explained) -> u64) -> f64 {
        self.0.iter().map(of).sum::<u64>() as f64
    }

    /// A source's part of what all sources took.
    fn part(&self, source: Source) -> f64 {
        self.sum(|request| request.of(source)) / self.sum(Explained::excess)
    }

    /// A source's part of the latency.
    fn of_latency(&self, source: Source) -> f64 {
        self.sum(|request| request.of(source)) / self.sum(|request| request.latency.0)
    }

    /// The part of the requests that blame this most.
    fn named(&self, culprit: (Source, Culprit)) -> f64 {
        let blame = self.0.iter().filter(|request| request.worst() == Some(culprit));
        blame.count() as f64 / self.0.len() as f64
    }
}
