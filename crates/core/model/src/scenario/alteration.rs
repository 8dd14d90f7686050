//! `[[change]]`: what happens to the machine and its threads in the course of a run.

use serde::{Deserialize, Serialize};

use super::groups::find;
use super::mechanisms::cpus;
use super::problem::did_you_mean;
use super::quota::quota;
use super::table::Table;
use super::value::{duration, flag, name, path, whole};
use super::{Group, Kind, Program, Quota};
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

const KEYS: [&str; 12] = [
    "at", "program", "cpus", "nice", "threads", "group", "weight", "max", "burst", "idle",
    "offline", "online",
];
/// What may be altered of a group.
const OF_GROUP: [&str; 4] = ["weight", "cpus", "max", "idle"];

/// All changes in the order of their moments; wrong ones are reported and left out.
pub(super) fn alterations(
    top: &Table,
    groups: &[Group],
    programs: &[Program],
    machine_cpus: u32,
) -> Vec<Alteration> {
    // Where a program could not be read its name is not known: one message is enough.
    if top.tables("program").len() != programs.len() {
        return Vec::new();
    }
    let tables = top.tables("change");
    let read = |table: &Table| alteration(table, groups, programs, machine_cpus);
    let mut all: Vec<Alteration> = tables.iter().filter_map(read).collect();
    all.sort_by_key(|alteration| alteration.at);
    all
}

fn alteration(
    table: &Table,
    groups: &[Group],
    programs: &[Program],
    machine_cpus: u32,
) -> Option<Alteration> {
    table.expect_keys(&KEYS);
    let at = table.required("at", duration);
    let has = |key: &str| table.get(key).is_some();
    let kind = if has("program") {
        of_program(table, groups, programs, machine_cpus)
    } else if has("group") {
        of_group(table, groups, machine_cpus)
    } else {
        of_cpu(table, machine_cpus)
    };
    Some(Alteration { at: at?, kind: kind? })
}

fn of_program(
    table: &Table,
    groups: &[Group],
    programs: &[Program],
    machine_cpus: u32,
) -> Option<AlterationKind> {
    let program = named(table, programs)?;
    let what = ["cpus", "nice", "threads", "group"];
    if what.iter().all(|key| table.get(key).is_none()) {
        table.missing(&what);
    }
    if let Some(cpus) = cpus(table, machine_cpus) {
        return Some(AlterationKind::Affinity { program, cpus });
    }
    if let Some(nice) = table.optional("nice", whole(-20, 19)) {
        return Some(AlterationKind::Nice { program, nice });
    }
    if table.get("group").is_some() {
        return moves(table, groups, programs, program);
    }
    let kind = &programs[program].kind;
    let count = table.optional("threads", whole(0, i64::from(kind.threads())))?;
    if matches!(kind, Kind::Service(_) | Kind::ForkJoin { .. }) {
        table.wrong(
            "threads",
            "the threads of a service or a fork-join stay: alter another program",
        );
    }
    Some(AlterationKind::Threads { program, count })
}

/// The program that a change is of.
fn named(table: &Table, programs: &[Program]) -> Option<usize> {
    let wanted = table.optional("program", name)?;
    let found = programs.iter().position(|program| program.name == wanted);
    if found.is_none() {
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        let hint = did_you_mean(&wanted, &names);
        table.wrong(
            "program",
            format!("no program `{wanted}`; expected a [[program]] of that name{hint}"),
        );
    }
    found
}

/// The group that a change names.
fn group(table: &Table, groups: &[Group]) -> Option<usize> {
    let wanted = table.optional("group", path)?;
    find(groups, &wanted).map_err(|text| table.wrong("group", text)).ok()
}

/// A process moves as a whole.
fn moves(
    table: &Table,
    groups: &[Group],
    programs: &[Program],
    program: usize,
) -> Option<AlterationKind> {
    if let Some(host) = programs[program].process {
        let host = &programs[host].name;
        table.wrong("program", format!("it is in the process of `{host}`, which moves as a whole"));
    }
    group(table, groups).map(|group| AlterationKind::Move { program, group })
}

fn of_group(table: &Table, groups: &[Group], machine_cpus: u32) -> Option<AlterationKind> {
    let group = group(table, groups)?;
    if let Some(cpus) = cpus(table, machine_cpus) {
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

/// CPU 0 stays: kernels since 6.5 do not let it go.
fn of_cpu(table: &Table, machine_cpus: u32) -> Option<AlterationKind> {
    if table.get("offline").is_none() && table.get("online").is_none() {
        table.missing(&["program", "group", "offline", "online"]);
        return None;
    }
    let cpu = |key| table.optional(key, whole(1, i64::from(machine_cpus) - 1)).map(CpuId);
    cpu("offline")
        .map(AlterationKind::Offline)
        .or_else(|| cpu("online").map(AlterationKind::Online))
}
