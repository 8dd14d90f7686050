//! Groups on drawn sets of CPUs that overlap, beside one that may run everywhere.

use std::fmt::Write;

use crate::fairness::summary;
use model::Scenario;

struct Group {
    weight: u32,
    cpus: Vec<u32>,
    threads: u32,
}

/// Draws by a linear congruential generator (Knuth's MMIX).
pub struct Lot(pub u64);

impl Lot {
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }

    pub fn one_of(&mut self, values: &[u32]) -> u32 {
        values[self.below(values.len() as u32) as usize]
    }

    /// So many of the CPUs, in order.
    pub fn some(&mut self, count: u32, cpus: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..cpus).collect();
        while all.len() > count as usize {
            all.remove(self.below(all.len() as u32) as usize);
        }
        all
    }

    fn group(&mut self, machine: u32) -> Group {
        let count = 2 + self.below((machine / 2).saturating_sub(1));
        let cpus = self.some(count, machine);
        Group {
            weight: self.one_of(&[20, 50, 100, 300, 1_000, 5_000]),
            threads: 1 + self.below(2 * count),
            cpus,
        }
    }

    fn groups(&mut self, machine: u32) -> Vec<Group> {
        let bound = 2 + self.below(3);
        let mut groups: Vec<Group> = (0..bound).map(|_| self.group(machine)).collect();
        groups.push(Group {
            weight: self.one_of(&[50, 100, 300]),
            cpus: (0..machine).collect(),
            threads: machine / 2 + self.below(3 * machine / 2),
        });
        groups
    }
}

fn scenario(machine: u32, llcs: u32, groups: &[Group]) -> Scenario {
    let mut text = format!(
        "# Sets of CPUs that overlap.\nduration = \"8s\"\nwarm_up = \"1s\"\n[machine]\ncpus = {machine}\nllcs = {llcs}\n"
    );
    for (i, group) in groups.iter().enumerate() {
        let Group { weight, cpus, threads } = group;
        let name = format!("name = \"g{i}\"");
        writeln!(text, "[[group]]\n{name}\nweight = {weight}").unwrap();
        if cpus.len() < machine as usize {
            writeln!(text, "cpus = {cpus:?}").unwrap();
        }
        writeln!(
            text,
            "[[program]]\n{name}\nkind = \"batch\"\ngroup = \"g{i}\"\nthreads = {threads}"
        )
        .unwrap();
    }
    Scenario { seeds: vec![1], ..Scenario::read(&text, "drawn").unwrap() }
}

/// How many CPUs some of the groups can use at most together, of which one alone has no more than threads.
fn room(groups: &[Group], chosen: usize) -> f64 {
    let of = |i: &usize| chosen >> i & 1 == 1;
    let members: Vec<usize> = (0..groups.len()).filter(of).collect();
    let mut cpus: Vec<u32> = members.iter().flat_map(|i| groups[*i].cpus.clone()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    match members[..] {
        [one] => (groups[one].threads as f64).min(cpus.len() as f64),
        _ => cpus.len() as f64,
    }
}

/// The exact max-min shares by weight, of the machine's time: all rise together until some of the groups have
/// all that these can use. Every subset is looked at.
fn due(machine: u32, groups: &[Group]) -> Vec<f64> {
    let subsets: Vec<(usize, f64)> =
        (1..1usize << groups.len()).map(|chosen| (chosen, room(groups, chosen))).collect();
    let mut cpus = vec![0.0; groups.len()];
    let mut rising = (1usize << groups.len()) - 1;
    let sum = |chosen: usize, of: &dyn Fn(usize) -> f64| -> f64 {
        (0..groups.len()).filter(|i| chosen >> i & 1 == 1).map(of).sum()
    };
    while rising != 0 {
        let left = |(chosen, room): &(usize, f64), cpus: &[f64]| room - sum(*chosen, &|i| cpus[i]);
        let weight = |chosen: usize| sum(chosen & rising, &|i| f64::from(groups[i].weight));
        let step = subsets
            .iter()
            .filter(|(chosen, _)| chosen & rising != 0)
            .map(|subset| left(subset, &cpus) / weight(subset.0))
            .fold(f64::INFINITY, f64::min);
        for i in (0..groups.len()).filter(|i| rising >> i & 1 == 1) {
            cpus[i] += step * f64::from(groups[i].weight);
        }
        let full = subsets.iter().filter(|subset| left(subset, &cpus) < 1e-9);
        rising &= !full.fold(0, |all, (chosen, _)| all | chosen);
    }
    cpus.iter().map(|of| of / f64::from(machine)).collect()
}

/// How far the share of a group is from its due at most, in parts of the machine; and the least part of its
/// due that any group has.
fn error_of(policy: &str, sizes: &[u32], llcs: u32, seed: u64) -> (f64, f64) {
    let mut lot = Lot(seed);
    let machine = lot.one_of(sizes);
    let groups = lot.groups(machine);
    let had = summary(&scenario(machine, llcs, &groups), policy).groups;
    let pairs = had.iter().map(|group| group.share).zip(due(machine, &groups));
    pairs.fold((0.0f64, 1.0f64), |(far, part), (share, due)| {
        (far.max((share - due).abs()), part.min(share / due))
    })
}

/// The mean of the one and the least of the other over so many draws.
fn error(policy: &str, sizes: &[u32], llcs: u32, draws: u64) -> (f64, f64) {
    let errors = (0..draws).map(|seed| error_of(policy, sizes, llcs, seed));
    let (sum, least) =
        errors.fold((0.0, 1.0f64), |(sum, least), (far, part)| (sum + far, least.min(part)));
    (sum / draws as f64, least)
}

const SMALL: [u32; 3] = [4, 6, 8];

#[test]
fn groups_on_drawn_sets_of_cpus_have_their_max_min_shares() {
    let (far, least) = error("rearguard", &SMALL, 1, 24);
    assert!(far < 0.006 && least > 0.7, "{far} {least}");
    let (far, least) = error("rearguard:infeasible=off", &SMALL, 1, 24);
    assert!(far > 0.012 && least < 0.6, "{far} {least}");
}

/// Sets may have CPUs in both of two caches: what waits in one of them competes for CPUs of the other, too.
#[test]
fn groups_on_drawn_sets_of_two_caches_have_their_max_min_shares() {
    let (far, least) = error("rearguard", &SMALL, 2, 24);
    assert!(far < 0.004 && least > 0.8, "{far} {least}");
    let (far, least) = error("rearguard:infeasible=off", &SMALL, 2, 24);
    assert!(far > 0.015 && least < 0.7, "{far} {least}");
}

/// The threads of a set wait in several caches, of which one may be far behind another: the set is where the
/// foremost of them is.
#[test]
fn groups_on_drawn_sets_of_four_caches_have_their_max_min_shares() {
    let (far, least) = error("rearguard", &[16, 24], 4, 12);
    assert!(far < 0.007 && least > 0.75, "{far} {least}");
    let (far, least) = error("rearguard:infeasible=off", &[16, 24], 4, 12);
    assert!(far > 0.009, "{far} {least}");
}

/// A heavy thread has one of its set's two CPUs for all of the time, and a light group of that set waits in
/// the other cache (188, 224). What gives way goes before none that waits where it goes (170, 225). In the
/// control caches do not compare.
#[test]
fn what_waits_in_another_cache_has_its_max_min_share() {
    for seed in [170, 188, 224, 225] {
        let (far, least) = error_of("rearguard", &SMALL, 2, seed);
        assert!(far < 0.005 && least > 0.95, "{seed}: {far} {least}");
        let (far, least) = error_of("rearguard:min_vruntime=queue", &SMALL, 2, seed);
        assert!(far > 0.02 && least < 0.85, "{seed}: {far} {least}");
    }
}

/// By hand: one thread has one CPU, two groups that share the two others have them by weight.
#[test]
fn the_due_of_groups_on_sets_is_max_min() {
    let group = |weight, cpus: &[u32], threads| Group { weight, cpus: cpus.to_vec(), threads };
    let groups = [group(5_000, &[0, 1], 1), group(300, &[1, 2], 4), group(100, &[1, 2], 4)];
    let shares = due(4, &groups);
    let expected = [0.25, 1.5 / 4.0, 0.5 / 4.0];
    assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{shares:?}");
}
