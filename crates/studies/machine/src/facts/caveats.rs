//! What speaks against figures of this machine, a sentence each.

use super::{CPU, governor, is_virtual, smt, word};
use crate::place::online;
use crate::platform::Platform;
use crate::proc::{affinity, group};
use crate::target::GROUPS;

/// All that can be seen before anything runs.
pub fn caveats(on: &dyn Platform) -> Vec<String> {
    [hosted(on), frequency(on), boost(on), siblings(on), few(on), quota(on)]
        .into_iter()
        .flatten()
        .collect()
}

fn hosted(on: &dyn Platform) -> Option<String> {
    let words = "This is a virtual machine: its CPUs wait for those of the host, and what interrupts cost is the \
                 host's affair.";
    is_virtual(on).then(|| words.to_string())
}

fn frequency(on: &dyn Platform) -> Option<String> {
    let Some(governors) = governor(on) else {
        return Some("This machine does not tell what decides its CPUs' frequency.".to_string());
    };
    let changes = governors.split(", ").any(|one| !one.starts_with("performance "));
    changes.then(|| {
        format!(
            "The CPUs' frequency follows the load (governor {governors}): `rearguard tune apply \
             governor=performance` holds it."
        )
    })
}

fn boost(on: &dyn Platform) -> Option<String> {
    let is =
        |path: &str, value: &str| word(on, &format!("{CPU}/{path}")).is_some_and(|x| x == value);
    let is_on = is("cpufreq/boost", "1") || is("intel_pstate/no_turbo", "0");
    is_on.then(|| {
        "Boost is on: the frequency depends on how many CPUs are busy, and on how warm they are."
            .to_string()
    })
}

fn siblings(on: &dyn Platform) -> Option<String> {
    let words = "SMT is on: what runs on a sibling slows a CPU down. Runs take one CPU of each core as far as \
                 there are enough.";
    (smt(on) == Some(true)).then(|| words.to_string())
}

fn few(on: &dyn Platform) -> Option<String> {
    let (online, usable) = (online(on).ok()?, affinity(on, "self")?);
    let kept = online.without(&usable);
    (!kept.is_empty()).then(|| {
        format!("This command may use CPUs {usable} alone; others are at work on {kept}, too.")
    })
}

/// The nearest group above this process that is held to a quota.
fn quota(on: &dyn Platform) -> Option<String> {
    let own = group(on, "self")?;
    let groups = std::iter::successors(Some(own.as_str()), |group| {
        group.rsplit_once('/').map(|(parent, _)| parent)
    });
    let held = groups.filter_map(|group| {
        let quota = word(on, &format!("{GROUPS}{group}/cpu.max"))?;
        Some((group.to_string(), quota)).filter(|(_, quota)| !quota.starts_with("max"))
    });
    let (group, quota) = held.into_iter().next()?;
    Some(format!("The cgroup {group} of this command is held to a quota (cpu.max {quota})."))
}
