//! What this machine supports, and the remedy for each thing that it does not.

use serde::Serialize;

use crate::place::{nodes, privileged, supported};
use crate::platform::Platform;
use crate::target::GROUPS;
use crate::tune;

/// What [`Examination::schema`] says.
const SCHEMA: &str = "rearguard.doctor/1";

/// All that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Examination {
    /// The format.
    pub schema: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// In the order in which a newcomer meets them.
    pub items: Vec<Item>,
}

/// One thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// Its name.
    pub name: &'static str,
    /// What it is needed for.
    pub needed_for: &'static str,
    /// Whether it is there.
    pub supported: bool,
    /// What was found.
    pub found: String,
    /// What to do, where it is not.
    pub remedy: Option<String>,
}

/// Found, or else the remedy.
pub type Found = Result<String, String>;

/// Looks at the machine; programs are looked for in the folders of a PATH. `kvm`: what the lab knows of it.
pub fn examine(on: &dyn Platform, path: &str, kvm: Found) -> Examination {
    let release = on.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut items = vec![
        item("privileges", "load, tune, cell, stage stamps", yes("root", privileged(on))),
        item("sched_ext", "load, top", sched_ext(on)),
        item(
            "BTF",
            "load, stages, explain on this machine",
            file(on, "/sys/kernel/btf", "vmlinux", "boot a kernel with CONFIG_DEBUG_INFO_BTF"),
        ),
        item("cgroup2 cpuset", "cell, dedicated-cpus, numa", yes("in use or free", supported(on))),
        item("cgroup2 cpu", "groups with weights on this machine", controller(on, "cpu")),
    ];
    let knob = |name: &str| {
        let mut knobs = tune::list(on).knobs.into_iter();
        let standing = knobs.find(|standing| standing.knob == Some(name));
        let standing = standing.expect("a knob of that name");
        standing.remedy.map_or(Ok(standing.present.unwrap_or_default()), Err)
    };
    items.extend([
        item("PM QoS", "idle-latency", knob("idle-latency")),
        item("cpufreq", "governor", knob("governor")),
        item("NUMA", "numa", numa(on)),
        item("KVM", "faster guests of the lab", kvm),
    ]);
    items.extend(programs(on, path));
    Examination { schema: SCHEMA, kernel: release.trim().to_string(), items }
}

fn item(name: &'static str, needed_for: &'static str, found: Found) -> Item {
    let supported = found.is_ok();
    let (found, remedy) = found.map_or_else(|remedy| ("no".into(), Some(remedy)), |f| (f, None));
    Item { name, needed_for, supported, found, remedy }
}

fn yes(found: &str, can: Result<(), String>) -> Found {
    can.map(|()| found.to_string())
}

fn file(on: &dyn Platform, folder: &str, name: &str, remedy: &str) -> Found {
    let there = on.list(folder).is_ok_and(|names| names.iter().any(|known| known == name));
    if there { Ok(format!("{folder}/{name}")) } else { Err(remedy.to_string()) }
}

fn sched_ext(on: &dyn Platform) -> Found {
    let state = on.read("/sys/kernel/sched_ext/state");
    state.map(|state| state.trim().to_string()).map_err(|_| {
        "boot a kernel with CONFIG_SCHED_CLASS_EXT (6.12 or newer), or use the lab: --on vm".into()
    })
}

fn controller(on: &dyn Platform, name: &str) -> Found {
    let all = on.read(&format!("{GROUPS}/cgroup.controllers")).unwrap_or_default();
    match all.split_whitespace().any(|known| known == name) {
        true => Ok(all.trim().to_string()),
        false => Err("boot with systemd.unified_cgroup_hierarchy=1, or use --on vm".into()),
    }
}

fn numa(on: &dyn Platform) -> Found {
    match nodes(on).len() {
        0 | 1 => Err("one node: nothing is remote, and nothing to do".into()),
        n => Ok(format!("{n} nodes")),
    }
}

/// Programs, each by any of its names, with what they are for and how they come.
const PROGRAMS: [(&str, &[&str], &str, &str); 6] = [
    ("QEMU", &["qemu-system-x86_64"], "lab, --on vm", "apt-get install qemu-system-x86"),
    (
        "clang",
        &["clang", "clang-19", "clang-18", "clang-17"],
        "building load",
        "apt-get install clang-19",
    ),
    ("memcached", &["memcached"], "measure --start memcached", "apt-get install memcached"),
    ("nginx", &["nginx"], "measure --start nginx", "apt-get install nginx-light"),
    ("apache", &["apache2", "httpd"], "measure --start apache2", "apt-get install apache2"),
    ("redis", &["redis-server"], "measure --start redis", "apt-get install redis-server"),
];

fn programs(on: &dyn Platform, path: &str) -> Vec<Item> {
    // Servers are often where only root's PATH leads.
    let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
    let folders: Vec<&str> = folders.filter(|folder| folder.starts_with('/')).collect();
    let find = |names: &[&str]| {
        folders.iter().find_map(|folder| {
            let there = on.list(folder).ok()?;
            let name = names.iter().find(|name| there.iter().any(|known| known == *name))?;
            Some(format!("{folder}/{name}"))
        })
    };
    let examine = |(name, names, needed_for, remedy): (_, &[&str], _, &str)| {
        item(name, needed_for, find(names).ok_or_else(|| remedy.to_string()))
    };
    PROGRAMS.into_iter().map(examine).collect()
}
