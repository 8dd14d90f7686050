//! What limits of CPU time groups have. The default class keeps them, and no policy does.

use std::fs;
use std::path::Path;

/// Where cgroups are mounted, of either version.
pub const MOUNT: &str = "/sys/fs/cgroup";

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

/// The limits of all groups that this process sees, by group.
pub fn limits() -> Vec<Limit> {
    let mut found = Vec::new();
    walk(Path::new(MOUNT), "", &mut found);
    found.sort();
    found
}

/// A group that cannot be read, or that went meanwhile, has no threads to limit.
fn walk(folder: &Path, group: &str, found: &mut Vec<Limit>) {
    for (file, unlimited) in SETTINGS {
        let value = fs::read_to_string(folder.join(file)).unwrap_or_default();
        if value.split_whitespace().next().is_some_and(|first| first != unlimited) {
            let group = if group.is_empty() { "/" } else { group }.to_string();
            found.push(Limit { group, setting: format!("{file} {}", value.trim()) });
        }
    }
    for child in fs::read_dir(folder).into_iter().flatten().flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            let group = format!("{group}/{}", child.file_name().to_string_lossy());
            walk(&child.path(), &group, found);
        }
    }
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
        let mut found = Vec::new();
        walk(root.path(), "", &mut found);
        found.sort();
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
