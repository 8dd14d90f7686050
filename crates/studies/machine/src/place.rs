//! A cgroup of our own with CPUs and memory: where a service is put.

use std::fmt;

use model::Failure;

use crate::cpus::Cpus;
use crate::platform::Platform;
use crate::target::{GROUPS, PRESENT, Target};
use crate::transaction::Transaction;

/// How the CPUs of a place are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Not at all: others may use them, too.
    Member,
    /// For the place alone; the kernel balances threads over them.
    Root,
    /// For the place alone, and without the kernel's load balancing: a thread stays on the CPU where it is.
    Isolated,
}

impl Partition {
    /// For so many CPUs: without balancing the threads of one service would all stay on one of several.
    pub fn of(cpus: &Cpus) -> Partition {
        if cpus.len() == 1 { Partition::Isolated } else { Partition::Root }
    }

    /// As a user says it.
    pub fn from_user(text: &str) -> Result<Partition, String> {
        match text {
            "root" => Ok(Partition::Root),
            "isolated" => Ok(Partition::Isolated),
            _ => Err(format!("`{text}` is no partition; expected root or isolated")),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Partition::Member => "member",
            Partition::Root => "root",
            Partition::Isolated => "isolated",
        })
    }
}

/// A place.
#[derive(Clone, Debug)]
pub struct Place {
    /// The cgroup's path.
    pub group: String,
    /// Its CPUs.
    pub cpus: Cpus,
    /// The node that its memory comes from; `None`: any.
    pub node: Option<usize>,
    /// How its CPUs are set apart.
    pub partition: Partition,
    /// Where its processes go at its end; `None`: they end with it.
    pub fallback: Option<String>,
}

/// CPUs that are switched on.
pub fn online(on: &dyn Platform) -> Result<Cpus, Failure> {
    let path = "/sys/devices/system/cpu/online";
    let text = on.read(path).map_err(|error| Failure::Machine(format!("{path}: {error}")))?;
    Cpus::read_list(&text).ok_or_else(|| Failure::Machine(format!("{path}: no list of CPUs")))
}

/// NUMA nodes with memory.
pub fn nodes(on: &dyn Platform) -> Vec<usize> {
    let text = on.read("/sys/devices/system/node/has_memory").unwrap_or_default();
    Cpus::read_list(&text).map_or(Vec::new(), |nodes| nodes.iter().collect())
}

/// The CPUs of a node.
pub fn cpus_of_node(on: &dyn Platform, node: usize) -> Cpus {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    Cpus::read_list(&on.read(&path).unwrap_or_default()).unwrap_or_default()
}

/// Whether this machine has what places are made of, and we may use it; else the remedy.
pub fn supported(on: &dyn Platform) -> Result<(), String> {
    let controllers = on.read(&format!("{GROUPS}/cgroup.controllers")).map_err(|_| {
        format!("no cgroup2 in {GROUPS}: boot with systemd.unified_cgroup_hierarchy=1")
    })?;
    if !controllers.split_whitespace().any(|name| name == "cpuset") {
        return Err("cgroup2 has no cpuset controller here: boot without cgroup_no_v1=, unmount the cpuset of version 1".into());
    }
    privileged(on)
}

/// Whether we may change the machine: root may.
pub fn privileged(on: &dyn Platform) -> Result<(), String> {
    let status = on.read("/proc/self/status").unwrap_or_default();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let all = capabilities.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    // CAP_SYS_ADMIN is bit 21, CAP_SYS_NICE bit 23.
    match all.is_some_and(|bits| bits >> 21 & 1 == 1 && bits >> 23 & 1 == 1) {
        true => Ok(()),
        false => Err("takes privileges: run it with sudo".into()),
    }
}

impl Place {
    /// No CPUs of its own, and not made yet: knobs fill it in.
    pub fn anywhere() -> Place {
        Place {
            group: String::new(),
            cpus: Cpus::default(),
            node: None,
            partition: Partition::Member,
            fallback: None,
        }
    }

    /// Says whether it can be made, and changes nothing. `taken` are CPUs that belong to other places alone.
    pub fn check(&self, on: &dyn Platform, taken: &Cpus) -> Result<(), Failure> {
        supported(on).map_err(Failure::Machine)?;
        check_cpus(on, &self.cpus, taken, self.partition)?;
        let known = nodes(on);
        let Some(node) = self.node else { return Ok(()) };
        if !known.contains(&node) {
            return Err(Failure::Input(format!(
                "node {node}: this machine's nodes with memory are {}",
                known.into_iter().collect::<Cpus>()
            )));
        }
        let near = cpus_of_node(on, node);
        // Some nodes are memory alone.
        let far = if near.is_empty() { Cpus::default() } else { self.cpus.without(&near) };
        if far.is_empty() {
            return Ok(());
        }
        Err(Failure::Input(format!("CPUs {far} are not on node {node}, whose CPUs are {near}")))
    }

    /// Makes it.
    pub fn make(&self, changes: &mut Transaction) -> Result<(), Failure> {
        let file = |name: &str| format!("{}/{name}", self.group);
        changes.set(&Target::Controller { group: GROUPS.into(), name: "cpuset".into() }, "on")?;
        let group = Target::Group { path: self.group.clone(), fallback: self.fallback.clone() };
        changes.set(&group, PRESENT)?;
        changes.set(&Target::list(file("cpuset.cpus")), &self.cpus.to_string())?;
        if let Some(node) = self.node {
            changes.set(&Target::list(file("cpuset.mems")), &node.to_string())?;
        }
        if self.partition != Partition::Member {
            changes.make_way(&self.cpus)?;
            let target = Target::text(file("cpuset.cpus.partition"));
            changes.set(&target, &self.partition.to_string())?;
        }
        Ok(())
    }
}

/// Whether a place may have these CPUs.
pub fn check_cpus(
    on: &dyn Platform,
    cpus: &Cpus,
    taken: &Cpus,
    partition: Partition,
) -> Result<(), Failure> {
    let online = online(on)?;
    let absent = cpus.without(&online);
    if !absent.is_empty() {
        let message = format!("CPUs {absent} are not there: this machine's are {online}");
        return Err(Failure::Input(message));
    }
    if partition == Partition::Member {
        return Ok(());
    }
    let shared = cpus.and(taken);
    if !shared.is_empty() {
        return Err(Failure::Input(format!(
            "CPUs {shared} belong to another cell: `rearguard cell list` shows which; resize or destroy it first"
        )));
    }
    if online.without(taken).without(cpus).is_empty() {
        return Err(Failure::Input(format!(
            "CPUs {cpus}: the rest of the machine needs one CPU at least, for everything else"
        )));
    }
    Ok(())
}
