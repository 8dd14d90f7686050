//! Groups.

use std::ops::Range;

use super::mechanisms::cpus;
use super::problem::did_you_mean;
use super::promise::{conflict, promise};
use super::quota::quota;
use super::table::Table;
use super::value::{flag, path, whole, word};
use super::{Cpuset, Group, Partition};

/// All groups, a parent before its children. Wrong ones are reported, and stay so that references to them
/// hold.
pub(super) fn groups(top: &Table, cpus: u32) -> Vec<Group> {
    let mut read: Vec<(Group, Range<usize>)> =
        top.tables("group").iter().filter_map(|table| group(table, cpus)).collect();
    // Stable: siblings keep the file's order.
    read.sort_by_key(|(group, _)| group.name.matches('/').count());
    let mut groups: Vec<Group> = Vec::with_capacity(read.len());
    for (mut group, place) in read {
        if groups.iter().any(|earlier| earlier.name == group.name) {
            let text = format!("name: `{}` stands twice; expected different names", group.name);
            top.problems.add(place.clone(), text);
        }
        if let Some((parent, _)) = group.name.rsplit_once('/') {
            match find(&groups, parent) {
                Ok(index) => group.parent = Some(index),
                Err(text) => top.problems.add(place, format!("name: {text}")),
            }
        }
        groups.push(group);
    }
    if let Some(text) = conflict(&groups) {
        let promised =
            top.tables("group").into_iter().rfind(|table| table.get("promise").is_some());
        promised.inspect(|table| table.wrong("promise", text));
    }
    groups
}

/// A group without its parent, and where its name stands.
fn group(table: &Table, cpus: u32) -> Option<(Group, Range<usize>)> {
    table.expect_keys(&[
        "name",
        "weight",
        "cpus",
        "partition",
        "max",
        "burst",
        "promise",
        "at_most",
        "idle",
    ]);
    let name = table.required("name", path);
    let weight = table.optional("weight", whole(1, 10_000)).unwrap_or(100);
    let (cpuset, max) = (cpuset(table, cpus), quota(table).flatten());
    let promise = promise(table);
    let idle = table.optional("idle", flag).unwrap_or(false);
    if idle && table.get("weight").is_some() {
        table.wrong("weight", "an idle group has the least of all weights: leave one of them out");
    }
    Some((
        Group { cpuset, max, promise, idle, ..Group::new(name?, None, weight) },
        table.place_of("name"),
    ))
}

fn cpuset(table: &Table, machine_cpus: u32) -> Option<Cpuset> {
    let words = ["member", "root", "isolated"];
    let all = [Partition::Member, Partition::Root, Partition::Isolated];
    let partition = table.optional("partition", word(&words)).map_or(all[0], |word| all[word]);
    if table.get("cpus").is_none() && partition != Partition::Member {
        table.missing(&["cpus"]);
    }
    cpus(table, machine_cpus).map(|cpus| Cpuset { cpus, partition })
}

/// The place of a group in the list, or what is wrong with its name.
pub(super) fn find(groups: &[Group], name: &str) -> Result<usize, String> {
    groups.iter().position(|group| group.name == name).ok_or_else(|| {
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        let hint = did_you_mean(name, &names);
        format!("no group `{}`; expected a [[group]] of that name{hint}", name.escape_debug())
    })
}
