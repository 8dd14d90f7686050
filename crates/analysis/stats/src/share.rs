//! The CPU time that is due: weighted max-min fairness over nested groups.

use model::Scenario;
use model::scenario::Placement;
use model::weight::thread_weight;

/// Threads in their groups, each with its weight against its siblings.
///
/// A thread directly in a group competes with the groups beside it; one of nice 0 weighs as much as a group
/// of weight 100, as in the kernel.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Inner nodes: the root, then one for each group of the scenario.
    nodes: Vec<Vec<Member>>,
    /// How many CPUs each may use.
    limits: Vec<f64>,
}

/// A child of the root or of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    weight: f64,
    who: Who,
}

#[derive(Clone, Copy, Debug)]
enum Who {
    Thread(usize),
    Node(usize),
}

impl Shares {
    /// The tree of a scenario with these threads, each given by the index of its program.
    pub fn new(scenario: &Scenario, programs_of_threads: &[usize]) -> Shares {
        Shares::placed(scenario, &Placement::of(scenario), programs_of_threads)
    }

    /// [`Shares::new`] where the CPUs of groups are known.
    pub fn placed(
        scenario: &Scenario,
        placement: &Placement,
        programs_of_threads: &[usize],
    ) -> Shares {
        let mut nodes = vec![Vec::new(); scenario.groups.len() + 1];
        let inside = |group: Option<usize>| group.map_or(0, |group| group + 1);
        for (index, group) in scenario.groups.iter().enumerate() {
            let weight = group.share_weight();
            nodes[inside(group.parent)].push(Member { weight, who: Who::Node(index + 1) });
        }
        for (thread, program) in programs_of_threads.iter().enumerate() {
            let program = &scenario.programs[*program];
            let weight = thread_weight(program.nice);
            nodes[inside(program.group)].push(Member { weight, who: Who::Thread(thread) });
        }
        let limits = (0..).zip(&scenario.groups).map(|(index, group)| {
            let cpus = placement.of_group(Some(index)).cpus.len() as f64;
            group.max.map_or(cpus, |max| cpus.min(max.cpus()))
        });
        Shares { nodes, limits: std::iter::once(f64::MAX).chain(limits).collect() }
    }

    /// What is due to each thread of `cpus` CPUs in a span, when each wants what `demand_s` says and no more,
    /// in CPU seconds.
    ///
    /// At every node a child gets capacity in proportion to its weight, but never more than it wants; what it
    /// leaves goes to its siblings. Demands are at most one CPU, which is what makes an infeasible weight
    /// feasible (GVTS section 2.1). A group wants no more than its quota, and than its cpuset has CPUs.
    pub fn due(&self, cpus: f64, span_s: f64, demand_s: &[f64]) -> Vec<f64> {
        let wanted = self.wanted(span_s, demand_s);
        let mut due = vec![0.0; demand_s.len()];
        let mut given = vec![0.0; self.nodes.len()];
        given[0] = cpus * span_s;
        for (node, members) in self.nodes.iter().enumerate() {
            let claims: Vec<(f64, f64)> =
                members.iter().map(|m| (m.weight, wanted_by(m.who, demand_s, &wanted))).collect();
            for (member, part) in members.iter().zip(fill(given[node], &claims)) {
                match member.who {
                    Who::Thread(thread) => due[thread] = part,
                    Who::Node(inner) => given[inner] = part,
                }
            }
        }
        due
    }

    /// What each node wants in all and may have. Parents stand before their children, so the way up is
    /// backwards.
    fn wanted(&self, span_s: f64, demand_s: &[f64]) -> Vec<f64> {
        let mut wanted = vec![0.0; self.nodes.len()];
        for (node, members) in self.nodes.iter().enumerate().rev() {
            let sum: f64 = members.iter().map(|m| wanted_by(m.who, demand_s, &wanted)).sum();
            wanted[node] = sum.min(self.limits[node] * span_s);
        }
        wanted
    }
}

fn wanted_by(who: Who, demand: &[f64], wanted: &[f64]) -> f64 {
    match who {
        Who::Thread(thread) => demand[thread],
        Who::Node(node) => wanted[node],
    }
}

/// Divides `capacity` among claims of (weight, demand): the claim that wants least for its weight is
/// satisfied first.
fn fill(capacity: f64, claims: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    let level = |i: &usize| claims[*i].1 / claims[*i].0;
    order.sort_by(|a, b| level(a).total_cmp(&level(b)));
    let mut weights: f64 = claims.iter().map(|claim| claim.0).sum();
    let mut left = capacity;
    let mut parts = vec![0.0; claims.len()];
    for i in order {
        let (weight, demand) = claims[i];
        parts[i] = demand.min(left * (weight / weights).min(1.0)).max(0.0);
        left -= parts[i];
        weights -= weight;
    }
    parts
}
