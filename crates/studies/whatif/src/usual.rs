//! The changes that are tried first, and what each costs.

use model::edit::Edit;
use model::{Failure, PolicySpec, Scenario};

use crate::foretell::Change;
use crate::scenario::Found;

/// So many of the programs beside the services are sent away, one at a time.
const NEIGHBOURS: usize = 3;

/// Policies that did not run, a better nice value, a greater weight, an absent neighbour, a further CPU.
pub fn usual(found: &Found, now: &PolicySpec, file: &str) -> Result<Vec<Change>, Failure> {
    let scenario = Scenario::read(&found.text, file)?;
    let at = |costs: &str| Change { costs: Some(costs.to_string()), ..Change::to(now.clone()) };
    let mut all = Vec::new();
    for (name, costs) in [
        ("rearguard", "a scheduler loaded as root (`rearguard load`), a few percent of a switch"),
        ("fifo", "real-time priority for the services: what is left is for all others"),
    ] {
        let policy = PolicySpec::parse(name)?;
        let is_deep = name == "rearguard" && scenario.too_deep().is_some();
        all.extend((policy != *now && !is_deep).then(|| Change { policy, ..at(costs) }));
    }
    for (_, name) in &found.services {
        let nice = Edit::new(&format!("program.\"{name}\".nice"), (-20).into())?;
        all.push(Change { edits: vec![nice], ..at("others in its group get the less") });
        all.extend(heavier(&scenario, name)?.map(|edit| Change {
            edits: vec![edit],
            ..at("other groups get the less (cpu.weight)")
        }));
    }
    all.extend(neighbours(found, &scenario).into_iter().map(|program| Change {
        without: vec![program.clone()],
        ..at("it must run elsewhere (a cell, another machine)")
    }));
    if scenario.machine.smt == 1 && scenario.machine.llcs == 1 {
        let more = i64::from(scenario.machine.cpus) + 1;
        let edit = Edit::new("machine.cpus", more.into())?;
        all.push(Change { edits: vec![edit], ..at("a CPU more") });
    }
    Ok(all)
}

/// The busiest programs of the scenario that are no services.
fn neighbours<'a>(found: &'a Found, scenario: &Scenario) -> Vec<&'a String> {
    let own = |name: &String| found.services.iter().any(|(_, service)| service == name);
    let is_host = |name: &String| {
        scenario.programs.iter().any(|program| program.process.is_none() && program.name == *name)
    };
    let all = found.busiest.iter().filter(|name| !own(name) && is_host(name));
    all.take(NEIGHBOURS).collect()
}

/// Ten times the weight for the group of a service, if it has one.
fn heavier(scenario: &Scenario, service: &str) -> Result<Option<Edit>, Failure> {
    let program = scenario.programs.iter().find(|program| program.name == service);
    let Some(group) = program.and_then(|program| program.group) else { return Ok(None) };
    let group = &scenario.groups[group];
    let weight = (10 * i64::from(group.weight)).min(10_000);
    Edit::new(&format!("group.\"{}\".weight", group.name), weight.into()).map(Some)
}
