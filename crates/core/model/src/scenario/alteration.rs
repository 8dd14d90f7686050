//! `[[change]]`: what happens to the machine and its threads in the course of a run.

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use super::mechanisms::cpus;
use super::names::Names;
use super::program::Programs;
use super::quota::quota;
use super::table::Table;
use super::value::{duration, flag, name, path, whole};
use super::{Group, Kind, Quota};
use crate::{CpuId, Nanos};

/// Something that happens at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alteration {
    /// When, from the start of the run, warm-up included.
    pub at: Nanos,
    /// What.
    pub kind: AlterationKind,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AlterationKind {
    /// The threads of a program may run on these CPUs only, at least one.
    Affinity {
        /// Index of the program.
        program: usize,
        /// Where they may run.
        cpus: Vec<CpuId>,
    },
    /// The threads of a program get another nice value.
    Nice {
        /// Index of the program.
        program: usize,
        /// The new one.
        nice: i8,
    },
    /// So many threads of a program are there: the last of them exit, or are created.
    Threads {
        /// Index of the program, which is no service and no fork-join.
        program: usize,
        /// How many, at most all.
        count: u32,
    },
    /// The threads of a program move to another group.
    Move {
        /// Index of the program.
        program: usize,
        /// Index of the group.
        group: usize,
    },
    /// A group gets another weight.
    Weight {
        /// Index of the group.
        group: usize,
        /// The new one.
        weight: u32,
    },
    /// A group gets another limit of its CPU time, or none.
    Max {
        /// Index of the group.
        group: usize,
        /// The new one.
        max: Option<Quota>,
    },
    /// A group becomes idle, or gets its weight back.
    Idle {
        /// Index of the group.
        group: usize,
        /// Whether it is idle now.
        idle: bool,
    },
    /// A group gets other CPUs.
    Cpus {
        /// Index of the group.
        group: usize,
        /// The new ones, at least one.
        cpus: Vec<CpuId>,
    },
    /// A CPU goes.
    Offline(CpuId),
    /// It comes back.
    Online(CpuId),
}

pub(super) const KEYS: [&str; 12] = [
    "at", "program", "cpus", "nice", "threads", "group", "weight", "max", "burst", "idle",
    "offline", "online",
];
/// What may be altered of a group.
const OF_GROUP: [&str; 4] = ["weight", "cpus", "max", "idle"];

/// Changes, times the threads and groups that there are: what is due to each is reckoned anew from each
/// change on.
const MOST_TOGETHER: usize = 1 << 22;
/// Changes of groups' CPUs, times the groups and CPUs that there are: each may move any thread.
const MOST_OF_CPUS: usize = 1 << 28;

/// What a change may refer to.
pub(super) struct Known<'a> {
    pub(super) groups: &'a [Group],
    pub(super) group_names: &'a Names,
    pub(super) programs: &'a Programs,
    pub(super) cpus: u32,
}

/// All changes in the order of their moments; wrong ones are reported and left out.
pub(super) fn alterations(top: &Table, known: &Known) -> Vec<Alteration> {
    // Where a program could not be read its name is not known: one message is enough.
    if !known.programs.are_whole {
        return Vec::new();
    }
    let tables = top.tables("change");
    let some = tables.iter().take_while(|_| !top.problems.are_enough());
    let mut all: Vec<Alteration> = some.filter_map(|table| alteration(table, known)).collect();
    if let (Some(last), Some(text)) = (tables.last(), excess(&all, known)) {
        last.wrong("at", text);
    }
    all.sort_by_key(|alteration| alteration.at);
    all
}

/// Why changes are too many to be followed, if they are.
fn excess(all: &[Alteration], known: &Known) -> Option<String> {
    let threads: u32 = known.programs.list.iter().map(|program| program.kind.threads()).sum();
    let (changes, groups) = (all.len(), known.groups.len());
    let most = MOST_TOGETHER / (threads as usize + groups).max(1);
    if changes > most {
        return Some(format!(
            "{changes} changes; expected at most {most} with {threads} threads and {groups} groups"
        ));
    }
    let of_cpus = all.iter().filter(|own| matches!(own.kind, AlterationKind::Cpus { .. })).count();
    let most = MOST_OF_CPUS / (groups * known.cpus as usize).max(1);
    (of_cpus > most).then(|| {
        let cpus = known.cpus;
        format!(
            "{of_cpus} changes of `cpus` of groups; expected at most {most} with {groups} groups and {cpus} CPUs"
        )
    })
}

fn alteration(table: &Table, known: &Known) -> Option<Alteration> {
    table.expect_keys(&KEYS);
    let at = table.required("at", duration);
    let has = |key: &str| table.get(key).is_some();
    let kind = if has("program") {
        of_program(table, known)
    } else if has("group") {
        of_group(table, known)
    } else {
        of_cpu(table, known.cpus)
    };
    Some(Alteration { at: at?, kind: kind? })
}

fn of_program(table: &Table, known: &Known) -> Option<AlterationKind> {
    let wanted = table.optional("program", name)?;
    let program = found(table, "program", known.programs.names.find(&wanted))?;
    let what = ["cpus", "nice", "threads", "group"];
    if what.iter().all(|key| table.get(key).is_none()) {
        table.missing(&what);
    }
    if let Some(cpus) = cpus(table, known.cpus) {
        return Some(AlterationKind::Affinity { program, cpus });
    }
    if let Some(nice) = table.optional("nice", whole(-20, 19)) {
        return Some(AlterationKind::Nice { program, nice });
    }
    if table.get("group").is_some() {
        return moves(table, known, program);
    }
    let kind = &known.programs.list[program].kind;
    let count = table.optional("threads", whole(0, i64::from(kind.threads())))?;
    if matches!(kind, Kind::Service(_) | Kind::ForkJoin { .. } | Kind::Command { .. }) {
        table.wrong(
            "threads",
            "the threads of a service, a fork-join or a command stay: alter another program",
        );
    }
    Some(AlterationKind::Threads { program, count })
}

/// The place of what a change names; a name that is not there is reported.
fn found(table: &Table, key: &str, place: Result<usize, String>) -> Option<usize> {
    place.map_err(|text| table.wrong(key, text)).ok()
}

/// The group that a change names.
fn group(table: &Table, known: &Known) -> Option<usize> {
    let wanted = table.optional("group", path)?;
    found(table, "group", known.group_names.find(&wanted))
}

/// A process moves as a whole.
fn moves(table: &Table, known: &Known, program: usize) -> Option<AlterationKind> {
    let programs = &known.programs.list;
    if let Some(host) = programs[program].process {
        let host = &programs[host].name;
        table.wrong("program", format!("it is in the process of `{host}`, which moves as a whole"));
    }
    group(table, known).map(|group| AlterationKind::Move { program, group })
}

fn of_group(table: &Table, known: &Known) -> Option<AlterationKind> {
    let group = group(table, known)?;
    if let Some(cpus) = cpus(table, known.cpus) {
        return Some(AlterationKind::Cpus { group, cpus });
    }
    if let Some(max) = quota(table) {
        return Some(AlterationKind::Max { group, max });
    }
    if let Some(idle) = table.optional("idle", flag) {
        return Some(AlterationKind::Idle { group, idle });
    }
    if OF_GROUP.iter().all(|key| table.get(key).is_none()) {
        table.missing(&OF_GROUP);
    }
    let weight = table.optional("weight", whole(1, 10_000))?;
    Some(AlterationKind::Weight { group, weight })
}

/// CPU 0 stays: kernels since 6.5 do not let it go. On one CPU none can go.
fn of_cpu(table: &Table, machine_cpus: u32) -> Option<AlterationKind> {
    if table.get("offline").is_none() && table.get("online").is_none() {
        table.missing(&["program", "group", "offline", "online"]);
        return None;
    }
    let other = |value: &DeValue| match machine_cpus {
        1 => Err("CPU 0 stays; expected a machine of two CPUs or more".to_string()),
        _ => whole(1, i64::from(machine_cpus) - 1)(value),
    };
    let cpu = |key| table.optional(key, other).map(CpuId);
    cpu("offline")
        .map(AlterationKind::Offline)
        .or_else(|| cpu("online").map(AlterationKind::Online))
}
