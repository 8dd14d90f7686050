//! The groups that this process sees.

use std::fs;
use std::path::Path;

/// Where cgroups are mounted, of either version.
pub const MOUNT: &str = "/sys/fs/cgroup";

/// Looks at each group at a mount, a parent before its children: its folder, and its path from the mount on.
/// One that cannot be read, or that went meanwhile, has no children.
pub fn each(mount: &Path, look: &mut impl FnMut(&Path, &str)) {
    walk(mount, "", look);
}

fn walk(folder: &Path, group: &str, look: &mut impl FnMut(&Path, &str)) {
    look(folder, group);
    for child in fs::read_dir(folder).into_iter().flatten().flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&child.path(), &format!("{group}/{}", child.file_name().to_string_lossy()), look);
        }
    }
}
