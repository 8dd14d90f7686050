//! Waiting entities ordered by deadline, each node knowing the least virtual time below it.
//!
//! A treap: its ranks come from a fixed mixing of a counter, so it is balanced in expectation and the same in
//! every run.

use model::seed::derive;

use super::tree::EntityId;

/// Where an entity stands: its deadline, then the order of arrival among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The virtual deadline.
    pub deadline: i64,
    order: u64,
}

#[derive(Clone, Debug)]
struct Node {
    key: Key,
    entity: EntityId,
    vruntime: i64,
    least_vruntime: i64,
    rank: u64,
    left: Link,
    right: Link,
}

type Link = Option<u32>;

/// The ordered set. Every operation is logarithmic in expectation.
#[derive(Clone, Debug, Default)]
pub struct DeadlineTree {
    nodes: Vec<Node>,
    free: Vec<u32>,
    root: Link,
    inserted: u64,
}

impl DeadlineTree {
    /// Puts an entity in; the key takes it out again.
    pub fn insert(&mut self, entity: EntityId, deadline: i64, vruntime: i64) -> Key {
        self.inserted += 1;
        let key = Key { deadline, order: self.inserted };
        let rank = derive(self.inserted, &[]);
        let node =
            Node { key, entity, vruntime, least_vruntime: vruntime, rank, left: None, right: None };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        let (before, after) = self.split(self.root, key);
        let head = self.merge(before, Some(at));
        self.root = self.merge(head, after);
        key
    }

    /// Takes out what was put in under a key.
    pub fn remove(&mut self, key: Key) {
        self.root = self.without(self.root, key);
    }

    /// The first entity in the order.
    pub fn first(&self) -> Option<(Key, EntityId)> {
        let mut at = self.node(self.root)?;
        while let Some(left) = self.node(at.left) {
            at = left;
        }
        Some((at.key, at.entity))
    }

    /// The entity of the earliest deadline whose virtual time is eligible, where a smaller virtual time is
    /// never less eligible (the search of `pick_eevdf()`).
    pub fn earliest(&self, eligible: impl Fn(i64) -> bool) -> Option<(Key, EntityId)> {
        let mut at = self.node(self.root)?;
        loop {
            if let Some(left) = self.node(at.left)
                && eligible(left.least_vruntime)
            {
                at = left;
                continue;
            }
            if eligible(at.vruntime) {
                return Some((at.key, at.entity));
            }
            at = self.node(at.right)?;
        }
    }

    fn node(&self, link: Link) -> Option<&Node> {
        link.map(|at| &self.nodes[at as usize])
    }

    /// Splits a subtree into what stands before `key` and the rest.
    fn split(&mut self, link: Link, key: Key) -> (Link, Link) {
        let Some(at) = link else { return (None, None) };
        if self.nodes[at as usize].key < key {
            let (before, after) = self.split(self.nodes[at as usize].right, key);
            self.nodes[at as usize].right = before;
            (self.refreshed(at), after)
        } else {
            let (before, after) = self.split(self.nodes[at as usize].left, key);
            self.nodes[at as usize].left = after;
            (before, self.refreshed(at))
        }
    }

    /// Joins two subtrees, all of `before` standing before `after`.
    fn merge(&mut self, before: Link, after: Link) -> Link {
        let (Some(first), Some(second)) = (before, after) else { return before.or(after) };
        if self.nodes[first as usize].rank > self.nodes[second as usize].rank {
            self.nodes[first as usize].right = self.merge(self.nodes[first as usize].right, after);
            self.refreshed(first)
        } else {
            self.nodes[second as usize].left = self.merge(before, self.nodes[second as usize].left);
            self.refreshed(second)
        }
    }

    fn without(&mut self, link: Link, key: Key) -> Link {
        let at = link?;
        let node = &self.nodes[at as usize];
        let (left, right) = (node.left, node.right);
        match key.cmp(&node.key) {
            std::cmp::Ordering::Equal => {
                self.free.push(at);
                return self.merge(left, right);
            }
            std::cmp::Ordering::Less => self.nodes[at as usize].left = self.without(left, key),
            std::cmp::Ordering::Greater => self.nodes[at as usize].right = self.without(right, key),
        }
        self.refreshed(at)
    }

    /// Recomputes a node's least virtual time after its children changed.
    fn refreshed(&mut self, at: u32) -> Link {
        let node = &self.nodes[at as usize];
        let below = [node.left, node.right].map(|link| self.node(link).map(|n| n.least_vruntime));
        let least = below.into_iter().flatten().fold(node.vruntime, i64::min);
        self.nodes[at as usize].least_vruntime = least;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl DeadlineTree {
        fn depth(&self, link: Link) -> usize {
            self.node(link).map_or(0, |n| 1 + self.depth(n.left).max(self.depth(n.right)))
        }
    }

    /// What the tree must answer, by looking at all.
    fn oracle(all: &[(Key, EntityId, i64)], limit: i64) -> Option<EntityId> {
        let eligible = all.iter().filter(|(_, _, vruntime)| *vruntime <= limit);
        eligible.min_by_key(|(key, _, _)| *key).map(|(_, entity, _)| *entity)
    }

    proptest! {
        #[test]
        fn answers_as_a_scan_does(steps in prop::collection::vec((0..3u8, -50..50i64, -50..50i64), 1..200)) {
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
    fn stays_shallow_when_filled_in_order() {
        let mut tree = DeadlineTree::default();
        (0..10_000).for_each(|n| {
            tree.insert(EntityId(n), i64::from(n), 0);
        });
        assert!(tree.depth(tree.root) < 60, "{}", tree.depth(tree.root));
    }
}
