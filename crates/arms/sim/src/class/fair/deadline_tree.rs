//! Waiting entities ordered by deadline, each subtree known by the least virtual time in it.
//!
//! A B+-tree. With a hundred thousand threads hardly a node of their queues is cached, so the number of nodes
//! visited one after the other counts: two or three here, a dozen in a binary tree. A node goes when it is
//! empty and is not merged before (Johnson and Shasha, "B-trees with inserts and deletes: why free-at-empty
//! is better than merge-at-half", 1993).

use super::tree::EntityId;

/// Where an entity stands: its deadline, then the order of arrival among equals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The virtual deadline.
    pub deadline: i64,
    /// Later arrivals have greater ones, from 1 on.
    pub order: u64,
}

/// Entries of a node: as many as make it eight cache lines.
const FANOUT: usize = 15;

/// An entity in a leaf, or a child in a node above, for which `key` is no later than any in it.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: Key,
    least_vruntime: i64,
    /// The entity's number or the child's.
    at: u32,
}

#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Node {
    count: u32,
    entries: [Entry; FANOUT],
}

impl Node {
    fn entries(&self) -> &[Entry] {
        &self.entries[..self.count as usize]
    }

    /// The child that a key belongs to, or the entry that has it. A leaving entry was among the first.
    fn position(&self, key: Key) -> usize {
        let behind = self.entries().iter().position(|entry| entry.key > key);
        behind.unwrap_or(self.count as usize).saturating_sub(1)
    }

    /// How many entries come before a key. An arriving entry comes among the last.
    fn before(&self, key: Key) -> usize {
        self.entries().iter().rposition(|entry| entry.key < key).map_or(0, |last| last + 1)
    }

    fn insert(&mut self, position: usize, entry: Entry) {
        let count = self.count as usize;
        self.entries.copy_within(position..count, position + 1);
        self.entries[position] = entry;
        self.count += 1;
    }

    fn remove(&mut self, position: usize) {
        self.entries.copy_within(position + 1..self.count as usize, position);
        self.count -= 1;
    }

    /// Takes out all entries from a position on.
    fn split_off(&mut self, position: usize) -> Node {
        let mut behind = Node::default();
        let moved = &self.entries[position..self.count as usize];
        behind.entries[..moved.len()].copy_from_slice(moved);
        behind.count = moved.len() as u32;
        self.count = position as u32;
        behind
    }

    fn least_vruntime(&self) -> i64 {
        self.entries().iter().map(|entry| entry.least_vruntime).fold(i64::MAX, i64::min)
    }
}

/// The ordered set. Every operation is logarithmic in the most that were ever in it.
#[derive(Clone, Debug, Default)]
pub struct DeadlineTree {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: u32,
    /// Levels above the leaves.
    height: u32,
    inserted: u64,
}

impl DeadlineTree {
    /// Puts an entity in; the key takes it out again.
    pub fn insert(&mut self, entity: EntityId, deadline: i64, vruntime: i64) -> Key {
        self.inserted += 1;
        let key = Key { deadline, order: self.inserted };
        if self.nodes.is_empty() {
            // Most queues never need another.
            self.nodes.reserve_exact(1);
            self.nodes.push(Node::default());
        }
        let entry = Entry { key, least_vruntime: vruntime, at: entity.0 };
        if let Some(behind) = self.insert_below(self.root, self.height, entry) {
            let before = self.entry_of(self.root);
            let mut root = Node::default();
            root.insert(0, before);
            root.insert(1, behind);
            self.root = self.add(root);
            self.height += 1;
        }
        key
    }

    /// Takes out what was put in under a key.
    pub fn remove(&mut self, key: Key) {
        self.remove_below(self.root, self.height, key);
        while self.height > 0 && self.node(self.root).count <= 1 {
            let Some(&Entry { at: child, .. }) = self.node(self.root).entries().first() else {
                self.height = 0;
                return;
            };
            self.free.push(std::mem::replace(&mut self.root, child));
            self.height -= 1;
        }
    }

    /// The first entity in the order.
    pub fn first(&self) -> Option<(Key, EntityId)> {
        self.earliest(|_| true)
    }

    /// The entity of the earliest deadline whose virtual time is eligible, where a smaller virtual time is
    /// never less eligible (the search of `pick_eevdf()`).
    pub fn earliest(&self, eligible: impl Fn(i64) -> bool) -> Option<(Key, EntityId)> {
        let mut node = self.nodes.get(self.root as usize)?;
        let mut height = self.height;
        loop {
            let found = node.entries().iter().find(|entry| eligible(entry.least_vruntime))?;
            if height == 0 {
                return Some((found.key, EntityId(found.at)));
            }
            node = self.node(found.at);
            height -= 1;
        }
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    fn add(&mut self, node: Node) -> u32 {
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// How a node stands in the one above.
    fn entry_of(&self, at: u32) -> Entry {
        let node = self.node(at);
        Entry { key: node.entries[0].key, least_vruntime: node.least_vruntime(), at }
    }

    /// Puts an entry into a subtree; the answer is that of a new one behind it, if it became two.
    fn insert_below(&mut self, at: u32, height: u32, entry: Entry) -> Option<Entry> {
        if height == 0 {
            return self.put(at, self.node(at).before(entry.key), entry);
        }
        let position = self.node(at).before(entry.key).saturating_sub(1);
        let child = self.node(at).entries[position].at;
        let behind = self.insert_below(child, height - 1, entry);
        let own = &mut self.nodes[at as usize].entries[position];
        own.key = own.key.min(entry.key);
        let Some(behind) = behind else {
            own.least_vruntime = own.least_vruntime.min(entry.least_vruntime);
            return None;
        };
        self.nodes[at as usize].entries[position].least_vruntime =
            self.node(child).least_vruntime();
        self.put(at, position + 1, behind)
    }

    /// Puts an entry into a node; the answer is that of a new node behind it, if there was no room.
    fn put(&mut self, at: u32, position: usize, entry: Entry) -> Option<Entry> {
        let node = &mut self.nodes[at as usize];
        if (node.count as usize) < FANOUT {
            node.insert(position, entry);
            return None;
        }
        // Deadlines mostly grow: where one comes last, none is likely to come between those before.
        let kept = if position == FANOUT { FANOUT } else { FANOUT / 2 };
        let mut behind = node.split_off(kept);
        if position < kept {
            node.insert(position, entry);
        } else {
            behind.insert(position - kept, entry);
        }
        let added = self.add(behind);
        Some(self.entry_of(added))
    }

    fn remove_below(&mut self, at: u32, height: u32, key: Key) {
        let position = self.node(at).position(key);
        if height == 0 {
            debug_assert!(self.node(at).entries[position].key == key, "{key:?} is not there");
            return self.nodes[at as usize].remove(position);
        }
        let child = self.node(at).entries[position].at;
        self.remove_below(child, height - 1, key);
        if self.node(child).count == 0 {
            self.free.push(child);
            self.nodes[at as usize].remove(position);
        } else {
            let least = self.node(child).least_vruntime();
            self.nodes[at as usize].entries[position].least_vruntime = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the tree must answer, by looking at all.
    fn oracle(all: &[(Key, EntityId, i64)], limit: i64) -> Option<EntityId> {
        let eligible = all.iter().filter(|(_, _, vruntime)| *vruntime <= limit);
        eligible.min_by_key(|(key, _, _)| *key).map(|(_, entity, _)| *entity)
    }

    proptest! {
        #[test]
        fn answers_as_a_scan_does(steps in prop::collection::vec((0..3u8, -50..50i64, -50..50i64), 1..600)) {
            let mut tree = DeadlineTree::default();
            let mut all: Vec<(Key, EntityId, i64)> = Vec::new();
            for (number, (what, deadline, vruntime)) in steps.into_iter().enumerate() {
                if what == 0 && !all.is_empty() {
                    let (key, _, _) = all.swap_remove(deadline.unsigned_abs() as usize % all.len());
                    tree.remove(key);
                } else {
                    let entity = EntityId(number as u32);
                    all.push((tree.insert(entity, deadline, vruntime), entity, vruntime));
                }
                let found = tree.earliest(|v| v <= vruntime).map(|(_, entity)| entity);
                prop_assert_eq!(found, oracle(&all, vruntime));
                prop_assert_eq!(tree.first().map(|(_, entity)| entity), oracle(&all, i64::MAX));
            }
        }
    }

    #[test]
    fn stays_shallow_when_filled_in_order_and_forgets_what_left() {
        let mut tree = DeadlineTree::default();
        let keys: Vec<Key> =
            (0..10_000).map(|n| tree.insert(EntityId(n), i64::from(n), 0)).collect();
        assert_eq!(tree.height, 3);
        let nodes = tree.nodes.len();
        assert!(nodes < 10_000 / FANOUT * 11 / 10, "{nodes}");
        keys.into_iter().for_each(|key| tree.remove(key));
        assert_eq!((tree.height, tree.first()), (0, None));
        (0..10_000).for_each(|n| {
            tree.insert(EntityId(n), -i64::from(n), 0);
        });
        assert_eq!(tree.first().map(|(_, entity)| entity), Some(EntityId(9_999)));
        assert!(tree.nodes.len() < 3 * nodes, "{}", tree.nodes.len());
    }
}
