//! Groups.

use std::iter::successors;
use std::ops::Range;

use super::mechanisms::cpus;
use super::names::Names;
use super::promise::{conflict, promise};
use super::quota::quota;
use super::table::Table;
use super::value::{flag, path, whole, word};
use super::{Cpuset, Group, Partition, Scenario};
use crate::{Failure, PolicySpec};

/// What policies have room for, `RG_GROUPS` of the seam less the root.
const MOST_GROUPS: usize = 4_095;
/// Groups times CPUs: a simulated kernel has queues for each group on each CPU.
const MOST_QUEUES: usize = 1 << 21;
/// Groups one in another.
const MOST_LEVELS: usize = 32;

pub(super) const KEYS: [&str; 9] =
    ["name", "weight", "cpus", "partition", "max", "burst", "promise", "at_most", "idle"];

/// Groups one in another that policies behind the seam see, `RG_DEPTH` of `policy/weight.h`.
pub const POLICY_LEVELS: usize = 8;

impl Scenario {
    /// The first group that lies deeper than policies behind the seam see.
    pub fn too_deep(&self) -> Option<&Group> {
        let above = |group: &Group| successors(group.parent, |at| self.groups[*at].parent).count();
        self.groups.iter().find(|group| above(group) >= POLICY_LEVELS)
    }

    /// [`Failure::Input`] where a group lies deeper than policies behind the seam see, of which this is one:
    /// its shares would be wrong.
    pub fn check_levels(&self, policy: &PolicySpec) -> Result<(), Failure> {
        let Some(group) = self.too_deep() else { return Ok(()) };
        let name = &group.name;
        Err(Failure::Input(format!(
            "policy `{policy}`: group `{name}` lies deeper than the {POLICY_LEVELS} levels that it sees, so shares would be wrong: leave a level out, or take cfs or eevdf"
        )))
    }
}

/// All groups, a parent before its children, and their names. Wrong ones are reported, and stay so that
/// references to them hold.
pub(super) fn groups(top: &Table, cpus: u32) -> (Vec<Group>, Names) {
    let tables = top.tables("group");
    let most = MOST_GROUPS.min(MOST_QUEUES / cpus as usize);
    if let Some(beyond) = tables.get(most) {
        let found = tables.len();
        beyond.wrong("name", format!("{found} groups; expected at most {most} on {cpus} CPUs"));
    }
    let read = tables.iter().take(most).filter_map(|table| group(table, cpus));
    let mut read: Vec<(Group, Range<usize>)> = read.collect();
    // Stable: siblings keep the file's order.
    read.sort_by_cached_key(|(group, _)| level(group));
    let (mut groups, mut names) = (Vec::with_capacity(read.len()), Names::new("group"));
    for (mut group, place) in read {
        let wrong = |text: String| top.problems.add(place.clone(), format!("name: {text}"));
        if !names.add(&group.name, groups.len()) {
            wrong(format!("`{}` stands twice; expected different names", group.name));
        }
        if let Some((parent, _)) = group.name.rsplit_once('/') {
            group.parent = names.find(parent).map_err(wrong).ok();
        }
        groups.push(group);
    }
    if let Some((key, text)) = conflict(&groups) {
        let of = |key| tables.iter().rfind(|table| table.get(key).is_some()).map(|own| (own, key));
        of(key).or(of("promise")).inspect(|(table, key)| table.wrong(key, text));
    }
    (groups, names)
}

/// How many groups a group is in.
fn level(group: &Group) -> usize {
    group.name.matches('/').count()
}

/// A group without its parent, and where its name stands.
fn group(table: &Table, cpus: u32) -> Option<(Group, Range<usize>)> {
    table.expect_keys(&KEYS);
    let name = table.required("name", path);
    if name.as_ref().is_some_and(|name| name.matches('/').count() >= MOST_LEVELS) {
        table.wrong("name", format!("expected at most {MOST_LEVELS} groups one in another"));
    }
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
