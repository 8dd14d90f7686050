//! Seeds of generators, from the seed of a run, and random draws by them.

use rand::Rng;

/// The seed of one generator: the run's seed and what tells this generator from the run's others go one by
/// one through SplitMix64's mixer. Seeds that follow each other so share nothing: neither 1 and 2, nor two
/// purposes of one.
pub fn derive(seed: u64, purpose: &[u64]) -> u64 {
    purpose.iter().fold(mix(seed), |state, part| mix(state ^ part))
}

/// A number below `end`, at least 1; the bias of multiplying instead of rejecting is below `end` / 2^64.
#[inline(always)]
pub fn below(end: usize, random: &mut impl Rng) -> usize {
    ((u128::from(random.next_u64()) * end as u128) >> 64) as usize
}

/// A step of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose output bits all depend on all input
/// bits.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
