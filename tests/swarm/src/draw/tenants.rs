//! Tenants of a node that compete for as long as it takes to see what each is worth: groups with weights,
//! some with sets of CPUs, which change while programs run.

use model::scenario::{
    Alteration, AlterationKind, Architecture, Group, Kind, Machine, Mechanisms, Program, Scenario,
    Service,
};
use model::{Nanos, PolicySpec};

use super::{Case, machine, policy, programs};
use crate::rng::Rng;

/// Requests of one service in one run.
const MOST_REQUESTS: f64 = 20_000.0;
const MICROSECOND: u64 = 1_000;
/// Most changes of a run.
const MOST_CHANGES: u64 = 8;

/// A third of the cases: tenants instead of all else that was drawn, most often under the default policy.
pub fn instead(seed: u64, drawn: &Scenario) -> Option<Case> {
    let mut rng = Rng::new(seed, 6);
    if !rng.one_in(3) {
        return None;
    }
    let scenario = node(&mut rng, drawn);
    let policy = if rng.one_in(4) {
        policy::draw(&mut rng, &scenario)
    } else {
        PolicySpec::plain("rearguard")
    };
    Some(Case { seed, scenario, policy, changes: Vec::new() })
}

fn node(rng: &mut Rng, drawn: &Scenario) -> Scenario {
    let (llcs, cores) = (rng.of(&[1, 1, 1, 2]), rng.of(&[1, 2, 2, 3, 4]));
    let mut scenario = Scenario {
        machine: Machine { cpus: 2 * llcs * cores, smt: rng.of(&[1, 1, 2]), llcs, nodes: 1 },
        groups: Vec::new(),
        programs: Vec::new(),
        alterations: Vec::new(),
        mechanisms: Mechanisms::default(),
        duration: Nanos::from_millis(rng.within(3_000, 12_000)),
        ..drawn.clone()
    };
    (0..rng.within(2, 4)).for_each(|_| tenant(rng, &mut scenario));
    if rng.one_in(2) {
        changes(rng, &mut scenario);
    }
    scenario
}

/// A group with its programs, in half of the cases on CPUs of its own choice.
fn tenant(rng: &mut Rng, scenario: &mut Scenario) {
    let index = scenario.groups.len();
    let group = Group::new(format!("t{index}"), None, machine::weight(rng));
    scenario.groups.push(group);
    if rng.one_in(2) {
        move_to_set(rng, scenario, index, Nanos::ZERO);
    }
    for _ in 0..rng.within(1, 2) {
        let name = format!("p{}", scenario.programs.len());
        let kind = kind(rng, scenario);
        scenario.programs.push(Program { group: Some(index), ..Program::new(&name, kind) });
    }
}

fn move_to_set(rng: &mut Rng, scenario: &mut Scenario, group: usize, at: Nanos) {
    let cpus = super::changes::cpus(rng, scenario);
    scenario.alterations.push(Alteration { at, kind: AlterationKind::Cpus { group, cpus } });
}

fn kind(rng: &mut Rng, scenario: &Scenario) -> Kind {
    let cpus = scenario.machine.cpus;
    match rng.within(0, 3) {
        0 | 1 => Kind::Service(service(rng, scenario)),
        2 => Kind::Batch { threads: rng.within(1, 2 * u64::from(cpus)) as u32 },
        _ => {
            let span =
                |rng: &mut Rng| Nanos(rng.magnitude(100 * MICROSECOND, 50_000 * MICROSECOND));
            let threads = rng.within(1, u64::from(cpus)) as u32;
            Kind::Daemon { threads, run: span(rng), sleep: span(rng) }
        }
    }
}

/// A service that wants up to a third of the machine.
fn service(rng: &mut Rng, scenario: &Scenario) -> Service {
    let service_time = Nanos(rng.magnitude(100 * MICROSECOND, 5_000 * MICROSECOND));
    let wanted = rng.within(2, 33) as f64 / 100.0 * f64::from(scenario.machine.cpus);
    let most_per_s = MOST_REQUESTS / scenario.duration.as_secs_f64();
    let threads = Architecture::ThreadPerConnection;
    programs::asked(threads, 64, service_time, wanted, most_per_s)
}

/// Cpusets and weights change.
fn changes(rng: &mut Rng, scenario: &mut Scenario) {
    let end = (scenario.warm_up + scenario.duration).0;
    for _ in 0..rng.within(1, MOST_CHANGES) {
        let group = rng.within(0, scenario.groups.len() as u64 - 1) as usize;
        let at = Nanos(rng.within(0, end));
        if rng.one_in(4) {
            let kind = AlterationKind::Weight { group, weight: machine::weight(rng) };
            scenario.alterations.push(Alteration { at, kind });
        } else {
            move_to_set(rng, scenario, group, at);
        }
    }
    scenario.alterations.sort_by_key(|alteration| alteration.at);
}
