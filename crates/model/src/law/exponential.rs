//! Exponential numbers by a logarithm that the compiler can vectorise.
//!
//! A table-free, branch-free logarithm of our own has two ends: a block of them costs less than a ziggurat without
//! special instruction sets, and every machine draws the same bytes, which a system's `ln` does not promise.

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Uniform on (0, 1] with 52 random bits: without a conversion from integers, which would not vectorise.
#[inline(always)]
pub(super) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    2.0 - f64::from_bits(0x3FF0_0000_0000_0000 | (random.next_u64() >> 12))
}

/// -ln u for u in (0, 1], within 1e-15 absolute or 4 units in the last place.
#[inline(always)]
pub(super) fn negative_log(u: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;
    const ONE: u64 = 0x3FF0_0000_0000_0000;
    // u = m 2^e with m in [sqrt(1/2), sqrt(2)), so that ln m is small and the series below short.
    let shifted = u.to_bits().wrapping_add(ONE - SQRT_HALF);
    let m = f64::from_bits((shifted & 0x000F_FFFF_FFFF_FFFF).wrapping_add(SQRT_HALF));
    // An integer below 2^52 becomes a double by writing it into the mantissa of 2^52.
    let e = f64::from_bits((shifted >> 52) | 0x4330_0000_0000_0000)
        - (4_503_599_627_370_496.0 + 1023.0);
    // ln m = 2 atanh s = 2 (s + s^3/3 + s^5/5 ...), s^2 <= 0.0295.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let tail = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0));
    let tail = 1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * tail));
    let tail = z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * tail)));
    -(e * std::f64::consts::LN_2 + 2.0 * (s + s * tail))
}

/// One exponential number of mean 1, at most 36.04.
#[inline]
pub(super) fn one(random: &mut Xoshiro256PlusPlus) -> f64 {
    negative_log(uniform(random))
}

/// The same numbers as calling [`one`] for each place.
pub(super) fn fill(random: &mut Xoshiro256PlusPlus, block: &mut [f64]) {
    for place in block.iter_mut() {
        *place = uniform(random);
    }
    for place in block.iter_mut() {
        *place = negative_log(*place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_the_logarithm() {
        let close = |u: f64| {
            let exact = -u.ln();
            let error = (negative_log(u) - exact).abs();
            assert!(error <= 1e-15 + 1e-15 * exact, "-ln {u}: off by {error}");
        };
        for n in 1..=100_000 {
            close(f64::from(n) / 100_000.0);
        }
        for e in 0..=52 {
            close((0.5f64).powi(e));
            close((0.5f64).powi(e).next_down());
        }
    }
}
