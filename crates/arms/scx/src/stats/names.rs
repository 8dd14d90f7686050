//! Names for ids: the paths of cgroups, the commands of processes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use model::printable;

use crate::groups::MOUNT;

/// Names that were asked for once are kept. A cgroup's id is the number of its folder.
#[derive(Default)]
pub struct Names {
    groups: BTreeMap<u64, String>,
}

impl Names {
    /// The path of a cgroup, `/` for id 0; `?` and the id where there is no such folder any more.
    pub fn group(&mut self, id: u64) -> String {
        if id == 0 {
            return "/".into();
        }
        if !self.groups.contains_key(&id) {
            self.groups.clear();
            self.walk(Path::new(MOUNT));
        }
        self.groups.entry(id).or_insert_with(|| format!("?{id}")).clone()
    }

    fn walk(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders: Vec<(u64, PathBuf)> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| (entry.ino(), entry.path()))
            .collect();
        for (id, path) in folders {
            let name = path.strip_prefix(MOUNT).unwrap_or(&path).to_string_lossy().into_owned();
            self.groups.insert(id, format!("/{}", printable(&name)));
            self.walk(&path);
        }
    }

    /// The command of a process; empty once it is gone.
    pub fn process(&self, id: u32) -> String {
        let name = fs::read(format!("/proc/{id}/comm")).unwrap_or_default();
        printable(String::from_utf8_lossy(&name).trim())
    }
}
