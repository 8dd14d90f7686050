//! What limits of CPU time groups have, and which of them a policy would not keep.

use std::fs;
use std::path::Path;

use model::PolicySpec;
use scx_utils::compat;

use crate::groups::{self, MOUNT};

/// A setting, and its first word where it limits nothing.
const SETTINGS: [(&str, &str); 3] =
    [("cpu.max", "max"), ("cpu.cfs_quota_us", "-1"), ("cpu.idle", "0")];

/// A group's limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit {
    /// Below the mount: `/system.slice/backup.service`.
    pub group: String,
    /// `cpu.max` with quota and period, or `cpu.idle 1`.
    pub setting: String,
}

impl Limit {
    /// Whether the group may use so much and no more, rather than only what others leave.
    pub fn is_quota(&self) -> bool {
        !self.setting.starts_with("cpu.idle")
    }
}

/// Whether a policy would hold groups to their quotas (`cpu.max`) here: one of the project's, under a kernel
/// that tells of them (6.17), and has timers for programs (not built for real time).
pub fn keeps_quotas(policy: &PolicySpec) -> bool {
    let told = compat::struct_has_field("sched_ext_ops", "cgroup_set_bandwidth");
    let is_realtime = fs::read_to_string("/sys/kernel/realtime").is_ok_and(|on| on.trim() == "1");
    policy.file().is_none() && told.unwrap_or(false) && !is_realtime
}

/// The limits of all groups that this process sees and that the policy would not keep here, by group.
pub fn broken_limits(policy: &PolicySpec) -> Vec<Limit> {
    let mut found = limits(Path::new(MOUNT));
    let (keeps_quotas, keeps_idle) = (keeps_quotas(policy), policy.file().is_none());
    found.retain(|limit| match limit.setting.split(' ').next() {
        Some("cpu.max") => !keeps_quotas,
        Some("cpu.idle") => !keeps_idle,
        _ => true,
    });
    found
}

fn limits(mount: &Path) -> Vec<Limit> {
    let mut found = Vec::new();
    groups::each(mount, &mut |folder, group| found.extend(limits_of(folder, group)));
    found.sort();
    found
}

/// Those of one group. One that went meanwhile has no threads to limit.
fn limits_of(folder: &Path, group: &str) -> impl Iterator<Item = Limit> {
    SETTINGS.into_iter().filter_map(move |(file, unlimited)| {
        let value = fs::read_to_string(folder.join(file)).unwrap_or_default();
        let is_limited = value.split_whitespace().next().is_some_and(|first| first != unlimited);
        let group = if group.is_empty() { "/" } else { group }.to_string();
        is_limited.then(|| Limit { group, setting: format!("{file} {}", value.trim()) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_limits_are_found_at_any_depth_and_others_are_not() {
        let root = tempfile::tempdir().expect("a folder");
        let settings = [
            ("free", "cpu.max", "max 100000\n"),
            ("free/held", "cpu.max", "50000 100000\n"),
            ("free/held/last", "cpu.idle", "1\n"),
            ("old", "cpu.cfs_quota_us", "-1\n"),
            ("old/held", "cpu.cfs_quota_us", "20000\n"),
        ];
        for (group, file, value) in settings {
            fs::create_dir_all(root.path().join(group)).expect("a group");
            fs::write(root.path().join(group).join(file), value).expect("a setting");
        }
        let found = limits(root.path());
        let said: Vec<_> = found.iter().map(|one| (&*one.group, &*one.setting)).collect();
        assert_eq!(
            said,
            [
                ("/free/held", "cpu.max 50000 100000"),
                ("/free/held/last", "cpu.idle 1"),
                ("/old/held", "cpu.cfs_quota_us 20000"),
            ]
        );
        assert_eq!(found.iter().map(Limit::is_quota).collect::<Vec<_>>(), [true, false, true]);
    }
}
