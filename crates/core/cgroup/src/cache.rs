//! Names that were asked for, kept for a while.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Name;

/// A container may be renamed, and a file may follow its cgroup: a name is looked up again after so long.
const KEPT: Duration = Duration::from_secs(60);
/// More cgroups than these are forgotten all at once.
const MOST_CGROUPS: usize = 4_096;

/// Names by cgroup, of this machine.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, (Instant, Option<Name>)>);

impl Names {
    /// What [`name`](crate::name) says of a cgroup, now or a minute ago.
    pub fn of(&mut self, cgroup: &str) -> Option<&Name> {
        let is_known = self.0.get(cgroup).is_some_and(|(at, _)| at.elapsed() < KEPT);
        if !is_known {
            self.look_up(cgroup);
        }
        self.0.get(cgroup)?.1.as_ref()
    }

    fn look_up(&mut self, cgroup: &str) {
        if self.0.len() >= MOST_CGROUPS {
            self.0.clear();
        }
        let name = crate::name(cgroup, Path::new("/"));
        self.0.insert(cgroup.to_string(), (Instant::now(), name));
    }
}
