//! What a load would do, and what speaks against it.

use std::fmt::Write;

use model::scenario::POLICY_LEVELS;
use model::{Failure, PolicySpec};
use scx::{DryRun, Limit};

/// Groups named in a refusal.
const NAMED: usize = 3;
/// What a verifier walks at most.
const VERIFIER_LIMIT: u32 = 1_000_000;

/// Refuses where a group would no longer be held to its quota, by the limits that would not be kept.
pub fn check(broken: &[Limit], ignore_cpu_max: bool) -> Result<(), Failure> {
    let quotas: Vec<&Limit> = broken.iter().filter(|limit| limit.is_quota()).collect();
    if quotas.is_empty() || ignore_cpu_max {
        return Ok(());
    }
    let named = named(quotas.iter().map(|limit| format!("{} ({})", limit.group, limit.setting)));
    Err(Failure::Machine(format!(
        "limits of CPU time that would not be kept: {named}: policies of the project keep cpu.max on Linux 6.17 and \
         newer; lift them, or let these groups exceed them with --ignore-cpu-max"
    )))
}

/// The first of some, and how many more there are.
fn named(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let first = all[..all.len().min(NAMED)].join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// What is to be said of groups that lie too deep for a policy of the project's, if there are any.
pub fn deep(policy: &PolicySpec, groups: &[String]) -> Option<String> {
    let is_told = policy.file().is_none() && !groups.is_empty();
    is_told.then(|| {
        format!(
            "deeper than {POLICY_LEVELS} levels of groups, so their shares are not those of their weights: {}; move them \
             up, or write -cpu into cgroup.subtree_control of a group above",
            named(groups.iter().cloned())
        )
    })
}

/// The plan as lines.
pub fn text(
    policy: &PolicySpec,
    whom: &str,
    plan: &DryRun,
    broken: &[Limit],
    groups: &[String],
) -> String {
    let mut text = format!("{} would schedule {whom} ({policy})\n", plan.name);
    for (number, cpus) in plan.queues.iter().enumerate() {
        let _ = writeln!(text, "queue {number}: CPUs {}", ranges(cpus));
    }
    if let Some(worst) = plan.costs.iter().max_by_key(|cost| cost.verified) {
        let _ = writeln!(
            text,
            "verifier: {} of its programs taken, {} instructions walked at most, of {VERIFIER_LIMIT} ({})",
            plan.costs.len(),
            worst.verified,
            worst.program
        );
    }
    for limit in broken {
        let _ = writeln!(text, "limit that would not be kept: {} {}", limit.group, limit.setting);
    }
    text.extend(deep(policy, groups).map(|line| line + "\n"));
    text + "nothing was put into force\n"
}

/// `0-3,8`, as the kernel writes lists of CPUs.
fn ranges(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match (run[0], run[run.len() - 1]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(group: &str, setting: &str) -> Limit {
        Limit { group: group.into(), setting: setting.into() }
    }

    #[test]
    fn quotas_are_refused_by_name_unless_the_user_goes_on() {
        let many: Vec<Limit> =
            (0..5).map(|number| limit(&format!("/g{number}"), "cpu.max 1 10")).collect();
        let refused = check(&many, false).expect_err("five quotas");
        assert_eq!(refused.exit_code(), 3);
        let said = refused.to_string();
        assert!(said.contains("/g2 (cpu.max 1 10) and 2 more: "), "{said}");
        assert_eq!(check(&many, true), Ok(()));
        assert_eq!(check(&[limit("/idle", "cpu.idle 1")], false), Ok(()));
    }

    #[test]
    fn groups_that_lie_too_deep_are_told_of_the_projects_policies() {
        let policy = |text| PolicySpec::parse(text).expect("a policy");
        let many: Vec<String> = (0..5).map(|number| format!("/g{number}")).collect();
        let said = deep(&policy("cts"), &many).expect("five groups");
        assert!(said.contains("8 levels") && said.contains("/g2 and 2 more; move"), "{said}");
        assert_eq!(deep(&policy("cts"), &[]), None, "the control");
        assert_eq!(deep(&policy("./mine.c"), &many), None, "a file has rules of its own");
    }

    #[test]
    fn lists_of_cpus_are_the_kernels() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(ranges(&[5]), "5");
    }
}
