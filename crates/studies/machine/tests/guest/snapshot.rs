//! What a machine is like: all that `tune` and `cell` can change, and the processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Texts by what they are of.
pub type Snapshot = BTreeMap<String, String>;

const FILES: [&str; 6] = [
    "/proc/irq/default_smp_affinity",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/cpuset.cpus.effective",
    "/sys/fs/cgroup/cpuset.cpus.isolated",
    "/sys/class/net/lo/queues/rx-0/rps_cpus",
];

/// Takes one.
pub fn take() -> Snapshot {
    let mut found = Snapshot::new();
    let mut put = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
        found.insert(path.to_string(), text);
    };
    FILES.into_iter().for_each(&mut put);
    for irq in names("/proc/irq") {
        put(&format!("/proc/irq/{irq}/smp_affinity_list"));
    }
    let groups = names("/sys/fs/cgroup");
    let groups = groups.into_iter().filter(|name| Path::new("/sys/fs/cgroup").join(name).is_dir());
    found.insert("cgroups".into(), groups.collect::<Vec<_>>().join(" "));
    found.extend(tasks());
    found
}

/// Every thread: its name, CPUs, class and cgroup. Workers of the kernel come and go by themselves, and so do
/// threads of the lab's init, which carries the output.
fn tasks() -> Snapshot {
    let mut found = Snapshot::new();
    for process in names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok()) {
        for thread in names(&format!("/proc/{process}/task")) {
            let folder = format!("/proc/{process}/task/{thread}");
            let read =
                |file: &str| fs::read_to_string(format!("{folder}/{file}")).unwrap_or_default();
            let (name, stat, status) = (read("comm"), read("stat"), read("status"));
            let of_init = process == "1" && thread != "1";
            if of_init || name.starts_with("kworker") || name.is_empty() {
                continue;
            }
            let fields: Vec<&str> = stat
                .rsplit_once(") ")
                .map(|(_, rest)| rest.split(' ').collect())
                .unwrap_or_default();
            // Nice, priority, policy: fields 19, 40 and 41 of proc(5).
            let class: Vec<&str> =
                [16, 37, 38].iter().filter_map(|at| fields.get(*at).copied()).collect();
            let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed_list"));
            let text = format!(
                "{} {class:?} {} {}",
                name.trim(),
                cpus.unwrap_or(""),
                read("cgroup").trim()
            );
            found.insert(folder, text);
        }
    }
    found
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What differs, for people.
pub fn difference(before: &Snapshot, now: &Snapshot) -> Vec<String> {
    let mut all: Vec<&String> = before.keys().chain(now.keys()).collect();
    all.sort();
    all.dedup();
    all.into_iter()
        .filter(|key| before.get(*key) != now.get(*key))
        .map(|key| format!("{key}: {:?} is now {:?}", before.get(key), now.get(key)))
        .collect()
}
