//! Limits of groups: quotas and idle groups, from the start and while programs run.

use model::Nanos;
use model::scenario::{Alteration, AlterationKind, Quota, Scenario};

use crate::rng::Rng;

const MILLISECOND: u64 = 1_000_000;
/// Most changes of a run.
const MOST_CHANGES: u64 = 10;

/// Nothing in two thirds of the cases; else of some groups.
pub fn add(rng: &mut Rng, scenario: &mut Scenario) {
    if scenario.groups.is_empty() || !rng.one_in(3) {
        return;
    }
    let cpus = scenario.machine.cpus;
    for group in &mut scenario.groups {
        group.max = rng.one_in(2).then(|| quota(rng, cpus));
        group.idle = rng.one_in(8);
    }
    if rng.one_in(2) {
        changes(rng, scenario);
    }
}

/// From a hundredth of a CPU to all, in the periods that the kernel knows.
fn quota(rng: &mut Rng, cpus: u32) -> Quota {
    let period = rng.of(&[MILLISECOND, 10 * MILLISECOND, 100 * MILLISECOND, 1_000 * MILLISECOND]);
    let quota = rng.magnitude(period / 100, u64::from(cpus) * period).max(MILLISECOND);
    let burst = if rng.one_in(3) { rng.within(0, quota) } else { 0 };
    Quota { quota: Nanos(quota), period: Nanos(period), burst: Nanos(burst) }
}

fn changes(rng: &mut Rng, scenario: &mut Scenario) {
    let end = (scenario.warm_up + scenario.duration).0;
    for _ in 0..rng.magnitude(1, MOST_CHANGES) {
        let group = rng.within(0, scenario.groups.len() as u64 - 1) as usize;
        let kind = if rng.one_in(4) {
            AlterationKind::Idle { group, idle: rng.one_in(2) }
        } else {
            let max = (!rng.one_in(3)).then(|| quota(rng, scenario.machine.cpus));
            AlterationKind::Max { group, max }
        };
        scenario.alterations.push(Alteration { at: Nanos(rng.within(0, end)), kind });
    }
    scenario.alterations.sort_by_key(|alteration| alteration.at);
}
