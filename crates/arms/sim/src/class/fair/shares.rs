//! What a group's weight is worth on each CPU: its share of the group's load (`calc_group_shares()`).

use model::Nanos;
use model::scenario::{Group, Machine};

use super::average::LOAD;
use super::timeline::Timeline;
use super::tree::{EntityId, Tree};
use super::weight;

/// The load of every group, over all CPUs and on each.
#[derive(Clone, Debug)]
pub struct GroupLoads {
    groups: Vec<Group>,
    /// How many of them are idle.
    idle: usize,
    weights: Vec<u64>,
    total: Vec<u64>,
    on_cpu: Vec<u64>,
}

impl GroupLoads {
    /// Groups without load.
    pub fn new(machine: &Machine, groups: &[Group]) -> GroupLoads {
        GroupLoads {
            groups: groups.to_vec(),
            idle: groups.iter().filter(|group| group.idle).count(),
            weights: groups.iter().map(weight::of_group).collect(),
            total: vec![0; groups.len()],
            on_cpu: vec![0; groups.len() * machine.cpus as usize],
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// A group's weight is another, as `cpu.weight`.
    pub fn set_weight(&mut self, group: usize, cpu_weight: u32) {
        self.groups[group].weight = cpu_weight;
        self.weights[group] = weight::of_group(&self.groups[group]);
    }

    /// A group has but the least weight, or its own (`cpu.idle`).
    pub fn set_idle(&mut self, group: usize, idle: bool) {
        self.groups[group].idle = idle;
        self.idle = self.groups.iter().filter(|group| group.idle).count();
        self.weights[group] = weight::of_group(&self.groups[group]);
    }

    /// Whether any group is idle.
    pub fn has_idle(&self) -> bool {
        self.idle > 0
    }

    /// Whether a group's entity on a CPU is idle; entities are numbered as slots.
    pub fn is_idle(&self, slot: usize) -> bool {
        self.groups[slot % self.len()].idle
    }

    /// Notes what a group's queue on one CPU adds to the group's load, when that changed by more than a 64th
    /// (`update_tg_load_avg()`). A value shared by all CPUs is not written for less.
    fn note(&mut self, slot: usize, load: u64) {
        let group = slot % self.len();
        let noted = self.on_cpu[slot];
        if load.abs_diff(noted) > noted / 64 {
            self.total[group] = self.total[group] + load - noted;
            self.on_cpu[slot] = load;
        }
    }

    /// The part of a group's weight that belongs to a CPU which holds `load` of it.
    fn share(&self, slot: usize, load: u64) -> u64 {
        let group = slot % self.len();
        let weight = self.weights[group];
        let elsewhere = self.total[group] - self.on_cpu[slot];
        let total = elsewhere + load;
        if total == 0 {
            return weight;
        }
        let share = u128::from(weight) * u128::from(load) / u128::from(total);
        (share as u64).clamp(weight::LEAST, weight)
    }
}

impl<T: Timeline> Tree<T> {
    /// Gives a group's entity the weight that its load on this CPU earns (`update_cfs_group()`). Group
    /// entities are numbered CPU by CPU, so the entity's number is its slot.
    pub fn update_share(&mut self, now: Nanos, id: EntityId) {
        let Some(inside) = self.entity(id).owns else { return };
        let queue = &mut self.queues[inside.0 as usize];
        queue.average.advance(now, queue.levels());
        let average = queue.average.mean(LOAD, 1);
        let slot = id.0 as usize;
        self.groups.note(slot, average);
        if queue.weight == 0 {
            return;
        }
        let load = weight::coarse(queue.weight).max(average);
        let weight = self.groups.share(slot, load);
        self.reweigh(id, weight);
    }

    /// Gives an entity another weight.
    pub fn reweigh(&mut self, id: EntityId, weight: u64) {
        let queue_id = self.entity(id).queue;
        let others = self.peer(queue_id, Some(id));
        let entity = &mut self.entities[id.0 as usize];
        if entity.weight == weight {
            return;
        }
        let queue = &mut self.queues[queue_id.0 as usize];
        if entity.on_queue {
            queue.weight = queue.weight - entity.weight + weight;
        }
        let waits = queue.current != Some(id);
        queue.timeline.reweigh(others, id, entity, waits, weight, &self.tunables);
    }
}
