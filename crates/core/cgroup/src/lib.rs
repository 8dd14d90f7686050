//! What a cgroup is to its operator: a systemd unit, a container, a pod.
//!
//! The path of a cgroup has the unit or the id of a container in it. The runtime that made the container
//! keeps its name in a file, and the kubelet keeps the names of pods as folders. No runtime is asked, so
//! there is neither a socket nor a network. What cannot be read stays a short id, and is never guessed.
//!
//! Root reads these files, and some of what is in them was chosen by other users. An id is checked before a
//! path is made of it, files have a limit, a link in the place of a file is not followed, and what a terminal
//! would obey is replaced.
#![forbid(unsafe_code)]

mod cache;
mod name;
mod place;
mod pods;
mod runtimes;

use std::path::Path;

pub use cache::Names;
pub use name::{Name, Pod};

use place::{Inside, Place};

/// What a cgroup is, by its path below the mount and the files below `root`, which is `/` but in tests.
/// `None`: the path says nothing of a unit or a container.
pub fn name(cgroup: &str, root: &Path) -> Option<Name> {
    let Place { inside, pod_uid, unit, user } = Place::of(cgroup);
    // A user may call cgroups as root's containers are called: root's files say nothing of them.
    let user = user.filter(|user| *user != "0");
    let mut name = match (inside, user) {
        (Some(Inside::Container(id)), Some(user)) => by_id(id, &format!(" (user {user})")),
        (Some(Inside::Container(id)), None) => of_container(id, pod_uid.as_deref(), root),
        (Some(Inside::Machine(name)), _) => Name { machine: Some(name), ..Name::default() },
        (Some(Inside::Lxc(name)), _) => Name { container: Some(name), ..Name::default() },
        (None, _) => Name::default(),
    };
    if name.pod.is_none() {
        let known = |uid: &str| user.is_none().then(|| pods::by_uid(uid, root)).flatten();
        name.pod = pod_uid.map(|uid| known(&uid).unwrap_or(Pod::Uid(uid)));
    }
    name.unit = unit;
    (name != Name::default()).then(|| name.printable())
}

fn of_container(id: &str, pod_uid: Option<&str>, root: &Path) -> Name {
    runtimes::look_up(id, pod_uid, root).unwrap_or_else(|| by_id(id, ""))
}

fn by_id(id: &str, behind: &str) -> Name {
    Name { container: Some(format!("{}{behind}", &id[..SHORT_ID])), ..Name::default() }
}

/// As many digits of an id as `docker ps`, `podman ps` and `crictl ps` show.
const SHORT_ID: usize = 12;
