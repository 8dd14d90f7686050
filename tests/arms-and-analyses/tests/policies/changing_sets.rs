//! Services and spinners in sets of CPUs that change while they run: what a container runtime does.

use std::fmt::Write;

use crate::drawn_sets::Lot;
use crate::production_node::{case, excess, keeps_its_tail};
use model::Scenario;

/// Spinners come to a service's CPUs, and a group goes with its own spinners to two CPUs of eight. The
/// control is EEVDF.
#[test]
fn a_service_is_not_late_when_sets_change() {
    keeps_its_tail(2, &case("set-meets-service"), "met", [1.2, 1.8]);
    keeps_its_tail(8, &case("set-shrinks"), "shrunk", [3.0, 20.0]);
}

fn group(lot: &mut Lot, cpus: u32, i: u32) -> String {
    let set = match lot.below(5) {
        0 | 1 => String::new(),
        _ => format!("cpus = {:?}\n", set(lot, cpus)),
    };
    let weight = lot.one_of(&[100, 200, 500, 1_000]);
    let mut text = format!("[[group]]\nname = \"g{i}\"\nweight = {weight}\n{set}");
    let program = |kind: &str| {
        format!("[[program]]\nname = \"{kind}{i}\"\nkind = \"{kind}\"\ngroup = \"g{i}\"\n")
    };
    if i == 0 || lot.below(2) == 0 {
        let service = program("service");
        let us = lot.one_of(&[100, 300]);
        let used = f64::from(lot.one_of(&[1, 2])) / 10.0 / f64::from(cpus);
        write!(
            text,
            "{service}service_time = \"{us}us\"\narrivals = {{ utilisation = {used:.4} }}\n"
        )
        .unwrap();
    }
    if lot.below(3) > 0 {
        let batch = program("batch");
        writeln!(text, "{batch}threads = {}", lot.one_of(&[1, 2, 4, 8, 16, 30])).unwrap();
    }
    text
}

fn set(lot: &mut Lot, cpus: u32) -> Vec<u32> {
    let count = 1 + lot.below(cpus);
    lot.some(count, cpus)
}

/// Two to four groups, of which the first has a service, and up to six changes of their sets.
fn draw(sizes: &[u32], llcs: u32, seed: u64) -> Scenario {
    let mut lot = Lot(seed);
    let cpus = lot.one_of(sizes);
    let mut text = format!(
        "# Sets that change.\nduration = \"8s\"\nwarm_up = \"1s\"\n[machine]\ncpus = {cpus}\nllcs = {llcs}\n"
    );
    let groups = 2 + lot.below(3);
    (0..groups).for_each(|i| text += &group(&mut lot, cpus, i));
    let mut moments: Vec<u32> = (0..1 + lot.below(6)).map(|_| 1_500 + lot.below(6_000)).collect();
    moments.sort_unstable();
    for at_ms in moments {
        let (group, set) = (lot.below(groups), set(&mut lot, cpus));
        writeln!(text, "[[change]]\nat = \"{at_ms}ms\"\ngroup = \"g{group}\"\ncpus = {set:?}")
            .unwrap();
    }
    Scenario { seeds: vec![1], ..Scenario::read(&text, "drawn").unwrap() }
}

/// The geometric mean of the first service's p99.9 over its ideal on the whole machine, over 40 draws. One
/// that is late by more than ten thousand times, or loses requests, counts as that.
fn late(policy: &str, sizes: &[u32], llcs: u32) -> f64 {
    let of = |seed| excess(&draw(sizes, llcs, seed), policy).clamp(1.0, 10_000.0).ln();
    ((0..40).map(of).sum::<f64>() / 40.0).exp()
}

#[test]
fn services_are_seldom_late_on_drawn_sets_that_change() {
    for (sizes, llcs) in [(&[3, 4, 6, 8, 12][..], 1), (&[4, 6, 8, 12], 2)] {
        let [ours, eevdf] = ["rearguard", "eevdf"].map(|policy| late(policy, sizes, llcs));
        assert!(ours < 3.0, "{llcs}: {ours}");
        assert!(eevdf > 8.0, "{llcs}: {eevdf}");
    }
}
