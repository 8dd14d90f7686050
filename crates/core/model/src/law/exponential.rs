//! Exponential numbers by the ziggurat of Marsaglia and Tsang (2000).
//!
//! One multiplication and one table look-up in 99 of 100 draws, which costs less than half of a vectorised
//! logarithm without special instruction sets. Tables and rare cases come from `libm`: every machine draws
//! the same bytes.

use std::sync::LazyLock;

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Layers of equal area under e^-x.
const LAYERS: usize = 256;
/// Where the lowest layer's rectangle ends and the tail begins, for 256 layers (their section 2.2).
const TAIL: f64 = 7.697_117_470_131_05;
/// The area of each layer.
const AREA: f64 = 0.003_949_659_822_581_572;

/// A layer of the ziggurat: its numbers are `width` times an integer below 2^53.
#[derive(Clone, Copy, Default)]
struct Layer {
    /// Integers below this lie under the curve without a look at it.
    sure: u64,
    width: f64,
}

/// The ziggurat.
pub(super) struct Tables {
    layers: [Layer; LAYERS],
    /// e^-x at the right end of each layer.
    height: [f64; LAYERS],
}

/// The tables, made on first use.
pub(super) fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);
    &TABLES
}

impl Tables {
    fn new() -> Tables {
        const SCALE: f64 = (1u64 << 53) as f64;
        let mut tables = Tables { layers: [Layer::default(); LAYERS], height: [1.0; LAYERS] };
        // The lowest layer is a rectangle and the tail: as wide as a rectangle of its area would be.
        let lowest = AREA / libm::exp(-TAIL);
        tables.layers[0] = Layer { sure: (TAIL / lowest * SCALE) as u64, width: lowest / SCALE };
        let mut end = TAIL;
        for i in (1..LAYERS).rev() {
            let above = if i > 1 { -libm::log(AREA / end + libm::exp(-end)) } else { 0.0 };
            tables.layers[i] = Layer { sure: (above / end * SCALE) as u64, width: end / SCALE };
            tables.height[i] = libm::exp(-end);
            end = above;
        }
        tables
    }

    /// One exponential number of mean 1.
    #[inline(always)]
    pub fn one(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let bits = random.next_u64();
        // The low 8 bits choose the layer, the high 53 the place in it: they are independent.
        let layer = bits as usize % LAYERS;
        let Layer { sure, width } = self.layers[layer];
        let place = bits >> 11;
        let number = place as i64 as f64 * width;
        if place < sure { number } else { self.unsure(layer, number, random) }
    }

    /// The one draw of a hundred that has to look at the curve.
    #[cold]
    #[inline(never)]
    fn unsure(&self, layer: usize, number: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
        if layer == 0 {
            // Beyond the lowest rectangle the law begins anew: it has no memory.
            return TAIL - libm::log(uniform(random));
        }
        let (low, high) = (self.height[layer], self.height[layer - 1]);
        let under = low + uniform(random) * (high - low) < libm::exp(-number);
        if under { number } else { self.one(random) }
    }
}

/// Uniform on (0, 1], a multiple of 2^-53.
#[inline(always)]
pub(super) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    ((random.next_u64() >> 11) + 1) as i64 as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Every layer has the same area, and the topmost ends at 0.
    #[test]
    fn the_layers_fit_together() {
        let tables = tables();
        let end = |i: usize| tables.layers[i].width * (1u64 << 53) as f64;
        for i in 1..LAYERS {
            let area =
                end(i) * (if i == 1 { 1.0 } else { tables.height[i - 1] } - tables.height[i]);
            assert!((area - AREA).abs() < 1e-14, "layer {i}: {area}");
        }
        assert_eq!(tables.layers[1].sure, 0);
    }

    /// Counts in 40 cells of equal probability, the tail among them: chi squared with 39 degrees of freedom.
    fn chi_squared(mut draw: impl FnMut() -> f64) -> f64 {
        let mut cells = [0u32; 40];
        (0..400_000).for_each(|_| cells[((-draw()).exp() * 40.0).min(39.0) as usize] += 1);
        cells.iter().map(|n| (f64::from(*n) - 1e4).powi(2) / 1e4).sum()
    }

    #[test]
    fn the_numbers_are_exponential() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        // 1 in 1,000 by chance.
        assert!(chi_squared(|| tables().one(&mut random)) < 72.1);
        let control = chi_squared(|| 1.03 * tables().one(&mut random));
        assert!(control > 72.1, "control: a mean 3% off shows, {control}");
    }

    #[test]
    fn the_tail_beyond_the_last_layer_is_drawn() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let beyond = (0..4_000_000).filter(|_| tables().one(&mut random) > TAIL).count() as f64;
        let expected = 4e6 * (-TAIL).exp();
        assert!((beyond - expected).abs() < 4.0 * expected.sqrt(), "{beyond} {expected}");
    }
}
