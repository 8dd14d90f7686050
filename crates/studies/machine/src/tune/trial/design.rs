//! What is run, and in which order.

use model::seed::derive;

/// The machine as it is, twice: what differs between those two is noise. Then each knob alone, then all
/// together.
pub fn configurations(knobs: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new(), Vec::new()];
    all.extend(knobs.iter().map(|knob| vec![knob.clone()]));
    if knobs.len() > 1 {
        all.push(knobs.to_vec());
    }
    all
}

/// For each block every configuration once, in an order of its own: what drifts over time so falls on all
/// alike.
pub fn order(configurations: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let shuffled = |block: usize| {
        let mut order: Vec<usize> = (0..configurations).collect();
        for at in (1..configurations).rev() {
            let drawn = derive(seed, &[block as u64, at as u64]) % (at as u64 + 1);
            order.swap(at, drawn as usize);
        }
        order
    };
    (0..blocks).map(shuffled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alone_all_together_and_the_machine_as_it_is_twice() {
        let text = |all: Vec<Vec<String>>| all.iter().map(|c| c.join("+")).collect::<Vec<_>>();
        assert_eq!(text(configurations(&["a".into()])), ["", "", "a"]);
        assert_eq!(text(configurations(&["a".into(), "b".into()])), ["", "", "a", "b", "a+b"]);
    }

    #[test]
    fn an_order_depends_on_the_seed_and_every_place_is_possible() {
        assert_eq!(order(5, 4, 1), order(5, 4, 1));
        assert_ne!(order(5, 4, 1), order(5, 4, 2));
        let blocks = order(4, 4_000, 7);
        for place in 0..4 {
            for configuration in 0..4 {
                let n = blocks.iter().filter(|block| block[place] == configuration).count();
                // 1,000 are due; six standard deviations are 164.
                assert!((836..1_164).contains(&n), "{configuration} at {place}: {n}");
            }
        }
    }
}
