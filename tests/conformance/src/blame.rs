//! What events say of the slowest requests, a thousandth: the source that was put there has the largest part,
//! its culprit's name is right, and without it the tail is what was foretold.

use explain::{Culprit, Service, Setting, Source, explain};
use libtest_mimic::Failed;
use model::{Arm, Scenario};

use crate::runs::{batch, expect, p99_9, recorded, service, timed_scenario};

/// Of a few thousand requests a thousandth is some requests.
const TIMES: [&str; 2] = ["200ms", "4s"];

/// Siblings under CFS pass each other, and that makes requests slow; first come, first served they do not.
pub fn on_inversions(arm: &dyn Arm) -> Result<(), Failed> {
    let scenario = timed_scenario(TIMES, 1, &service("500us", 0.8))?;
    let cfs = Told::of(arm, &scenario, "cfs")?;
    cfs.blames(Source::Inversion, Culprit::Program(0))?;
    let fifo = Told::of(arm, &scenario, "fifo")?;
    fifo.is_free_of(Source::Inversion)?;
    cfs.foretold(Source::Inversion, &fifo)
}

/// A spinning thread beside a service makes its requests slow under EEVDF, and it is named; without it no
/// program is. The service has one thread: of several some slow requests would be slow by inversions, and
/// rightly blame them.
pub fn on_batch(arm: &dyn Arm) -> Result<(), Failed> {
    let alone = service("500us", 0.3) + "architecture = \"shared-queue\"\nworkers = 1\n";
    let beside = alone.clone() + &batch("batch", 1, "");
    let beside = Told::of(arm, &timed_scenario(TIMES, 1, &beside)?, "eevdf")?;
    beside.blames(Source::Background, Culprit::Program(1))?;
    let alone = Told::of(arm, &timed_scenario(TIMES, 1, &alone)?, "eevdf")?;
    alone.is_free_of(Source::Background)?;
    beside.foretold(Source::Background, &alone)
}

/// Connections that are partitioned over workers wait for theirs while another's CPU is free; workers that
/// take from one queue leave none waiting.
pub fn on_partition(arm: &dyn Arm) -> Result<(), Failed> {
    let of = |architecture: &str| {
        let workers = format!("architecture = \"{architecture}\"\nworkers = 4\n");
        Told::of(arm, &timed_scenario(TIMES, 4, &(service("2ms", 0.7) + &workers))?, "fifo")
    };
    let partitioned = of("partitioned")?;
    partitioned.blames(Source::IdleElsewhere, Culprit::Worker)?;
    let shared = of("shared-queue")?;
    shared.is_free_of(Source::IdleElsewhere)?;
    partitioned.foretold(Source::IdleElsewhere, &shared)
}

/// A run's first program, explained.
struct Told(Service);

impl Told {
    fn of(arm: &dyn Arm, scenario: &Scenario, policy: &str) -> Result<Told, Failed> {
        let trace = recorded(arm, scenario, policy)?;
        let setting = Setting::of(scenario).with(&trace.tables);
        let mut explained = explain(&trace, &setting)?;
        let service = explained.services.pop().ok_or("no request is explained")?;
        let unknown = service.unknown as f64;
        expect(unknown == 0.0, "requests of unknown threads", &[unknown])?;
        Ok(Told(service))
    }

    /// The source has most of the excess, and the slowest requests blame the culprit for it.
    fn blames(&self, source: Source, culprit: Culprit) -> Result<(), Failed> {
        let findings = self.0.findings();
        let part = findings.iter().find(|found| found.source == source).map_or(0.0, |f| f.share);
        expect(part > 0.5, &format!("the part of {} in the excess", source.key()), &[part])?;
        let right = self.0.slowest().filter(|one| one.worst() == Some((source, culprit))).count();
        let named = right as f64 / self.0.slow.len() as f64;
        expect(named >= 0.95, &format!("slow requests that blame {culprit:?}"), &[named])
    }

    /// The control: of the slowest requests' latency it is next to nothing.
    fn is_free_of(&self, source: Source) -> Result<(), Failed> {
        let part = |of: &dyn Fn(&explain::Explained) -> u64| self.0.slowest().map(of).sum::<u64>();
        let share = part(&|one| one.of(source)) as f64 / part(&|one| one.latency.0) as f64;
        expect(share < 0.02, &format!("the control: {} in the latency", source.key()), &[share])
    }

    /// The p99.9 that this run has without a source is within 30% of what it is where the source is gone.
    fn foretold(&self, source: Source, without: &Told) -> Result<(), Failed> {
        let measured = p99_9(without.0.requests.iter().map(|one| one.latency).collect());
        let ratio = self.0.p99_9_without(source).0 as f64 / measured;
        let what = format!("foretold without {}, of what was measured", source.key());
        expect((0.7..=1.3).contains(&ratio), &what, &[ratio])
    }
}
