//! Which groups lie deeper than policies see.

use std::fs;
use std::path::Path;

use model::scenario::POLICY_LEVELS;

use crate::groups::{self, MOUNT};

/// Groups with threads that lie deeper below the root than policies see, and whose shares are therefore not
/// those of their weights, by path. A group that has no `cpu.weight` counts as the one above it.
pub fn deep_groups() -> Vec<String> {
    found(Path::new(MOUNT))
}

fn found(mount: &Path) -> Vec<String> {
    let mut found = Vec::new();
    groups::each(mount, &mut |folder, group| {
        if group.matches('/').count() > POLICY_LEVELS && counts(folder) {
            found.push(group.to_string());
        }
    });
    found.sort();
    found
}

/// Whether a group has a weight of its own, and threads. One that cannot be read has none.
fn counts(folder: &Path) -> bool {
    let threads = || fs::read_to_string(folder.join("cgroup.threads")).unwrap_or_default();
    folder.join("cpu.weight").is_file() && !threads().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_threads_below_the_eighth_level_are_found() {
        let root = tempfile::tempdir().expect("a folder");
        let mut folder = root.path().to_path_buf();
        let make = |folder: &Path, threads: &str, has_weight: bool| {
            fs::create_dir(folder).expect("a group");
            fs::write(folder.join("cgroup.threads"), threads).expect("threads");
            if has_weight {
                fs::write(folder.join("cpu.weight"), "100\n").expect("a weight");
            }
        };
        for level in 1..=9 {
            folder.push("g");
            make(&folder, if level < 9 { "7\n" } else { "" }, true);
        }
        let found = || found(root.path());
        assert_eq!(found(), [""; 0], "the control: eight levels, and a ninth without threads");
        make(&folder.join("plain"), "7\n", false);
        assert_eq!(found(), [""; 0], "the controller ends above");
        make(&folder.join("deep"), "7\n", true);
        assert_eq!(found(), [format!("{}/deep", "/g".repeat(9))]);
    }
}
