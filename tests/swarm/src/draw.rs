//! A case: everything that a seed decides.

mod changes;
mod limits;
mod machine;
mod mechanisms;
mod node;
mod policy;
mod programs;
mod promised;
mod tenants;

use std::fmt;

use model::change::Change;
use model::scenario::{Group, Mechanisms};
use model::{Nanos, PolicySpec, Scenario};

use crate::rng::Rng;

/// What one seed stands for.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed, also that of the run.
    pub seed: u64,
    /// Machine, groups and programs.
    pub scenario: Scenario,
    /// The scheduler.
    pub policy: PolicySpec,
    /// What happens meanwhile.
    pub changes: Vec<Change>,
}

impl Case {
    /// The case of a seed.
    pub fn draw(seed: u64) -> Case {
        let mut rng = Rng::new(seed, 0);
        let machine = machine::draw(&mut rng);
        let groups = machine::groups(&mut rng);
        let duration = duration(&mut rng, machine.cpus);
        let programs = programs::draw(&mut rng, machine.cpus, groups.len(), duration);
        let slice = rng.one_in(4).then(|| Nanos(rng.magnitude(100_000, 100_000_000)));
        let mut scenario = Scenario {
            name: format!("swarm-{seed}"),
            shows: String::new(),
            machine,
            groups,
            programs,
            duration,
            warm_up: Nanos::from_millis(rng.of(&[0, 10, 200])),
            seeds: vec![seed],
            outlier_threshold: Nanos::from_millis(10),
            slice,
            mechanisms: Mechanisms::default(),
            alterations: Vec::new(),
        };
        // An RNG stream of their own: what else a seed decides does not depend on them.
        mechanisms::add(&mut Rng::new(seed, 1), &mut scenario);
        programs::join(&mut Rng::new(seed, 2), &mut scenario.programs);
        node::add(&mut Rng::new(seed, 3), &mut scenario);
        limits::add(&mut Rng::new(seed, 4), &mut scenario);
        promised::add(&mut Rng::new(seed, 5), &mut scenario);
        programs::chain(&mut Rng::new(seed, 6), machine.cpus, &mut scenario.programs);
        if let Some(case) = tenants::instead(seed, &scenario) {
            return case;
        }
        let policy = policy::draw(&mut rng, &scenario);
        let policy = policy::by_request(&mut Rng::new(seed, 7), &scenario, policy);
        let changes = changes::draw(&mut rng, &scenario);
        Case { seed, scenario, policy, changes }
    }
}

/// Short on a large machine, so that one costs about what another does; long enough for the longest waits on
/// a small one.
fn duration(rng: &mut Rng, cpus: u32) -> Nanos {
    let longest_ms = (80_000 / u64::from(cpus)).clamp(1_000, 40_000);
    Nanos::from_millis(rng.magnitude(200, longest_ms))
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Case { seed, scenario, policy, changes } = self;
        let model::scenario::Machine { cpus, smt, llcs, nodes } = scenario.machine;
        writeln!(f, "seed {seed}: policy {policy}")?;
        writeln!(f, "  machine: {cpus} CPUs, {smt} a core, {llcs} caches, {nodes} nodes")?;
        writeln!(
            f,
            "  {} after {}, slice {:?}",
            scenario.duration, scenario.warm_up, scenario.slice
        )?;
        if scenario.mechanisms != Mechanisms::default() {
            writeln!(f, "  {:?}", scenario.mechanisms)?;
        }
        for group in &scenario.groups {
            let Group { name, weight, max, promise, idle, cpuset, .. } = group;
            let promise = promise.map_or(String::new(), |promise| format!(", {promise}"));
            let max = max.map_or(String::new(), |max| format!(", {max}"));
            let idle = if *idle { ", idle" } else { "" };
            writeln!(f, "  group {name} weight {weight}{max}{promise}{idle} {cpuset:?}")?;
        }
        let mut first = 0;
        for program in &scenario.programs {
            let threads = program.kind.threads();
            let group = program.group.map_or("/", |index| scenario.groups[index].name.as_str());
            let last = first + threads - 1;
            let host = program.process.map(|host| scenario.programs[host].name.as_str());
            let process = host.map_or(String::new(), |host| format!(", process of {host}"));
            let before = program.behind.map(|before| scenario.programs[before].name.as_str());
            let behind = before.map_or(String::new(), |before| format!(", behind {before}"));
            writeln!(
                f,
                "  program {} (threads {first} to {last}) in {group}, nice {}{process}{behind}: {:?} {:?}",
                program.name, program.nice, program.kind, program.memory
            )?;
            first += threads;
        }
        let altered = scenario.alterations.iter();
        altered.into_iter().try_for_each(|a| writeln!(f, "  at {}: {:?}", a.at, a.kind))?;
        changes.iter().try_for_each(|change| writeln!(f, "  at {}: {:?}", change.at, change.kind))
    }
}
