//! Two sides with the same arrivals whose figures do not differ.

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::UNIT;

/// In which way two sides that do not differ are unlike each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Four workers at 80%, services of their own.
    Services,
    /// The same, and each run as a whole up to 10% slower or faster.
    Runs,
    /// One worker at 80%, lognormal services of cv 2, of their own.
    Varied,
}

const REQUESTS: usize = 30_000;
const WARM_UP: usize = 10_000;

impl Shape {
    pub const ALL: [Shape; 3] = [Shape::Services, Shape::Runs, Shape::Varied];

    pub fn name(self) -> &'static str {
        match self {
            Shape::Services => "M/M/4 80%, services of their own",
            Shape::Runs => "the same, each run up to 10% slower or faster",
            Shape::Varied => "M/G/1 80%, lognormal of cv 2",
        }
    }

    fn workers(self) -> usize {
        if self == Shape::Varied { 1 } else { 4 }
    }
}

/// Both sides of one pair of runs.
pub fn pair(shape: Shape, seed: u64) -> (Vec<Nanos>, Vec<Nanos>) {
    (side(shape, seed, 2 * seed), side(shape, seed, 2 * seed + 1))
}

/// First come, first served: arrivals drawn from one seed, services from another.
fn side(shape: Shape, arrivals: u64, services: u64) -> Vec<Nanos> {
    let mut arrivals = Xoshiro256PlusPlus::seed_from_u64(arrivals);
    let mut services = Xoshiro256PlusPlus::seed_from_u64(services ^ (1 << 40));
    let factor = match shape {
        Shape::Runs => services.random_range(0.9..1.1),
        _ => 1.0,
    };
    let mut free = vec![0.0f64; shape.workers()];
    let mut now = 0.0;
    let step = |_| {
        now += exponential(&mut arrivals) / (0.8 * shape.workers() as f64);
        let service = match shape {
            Shape::Varied => lognormal(&mut services),
            _ => exponential(&mut services),
        };
        let ends = free[0].max(now) + service;
        let at = free[1..].partition_point(|other| *other < ends);
        free.copy_within(1..=at, 0);
        free[at] = ends;
        Nanos(((ends - now) * UNIT * factor) as u64)
    };
    (0..WARM_UP + REQUESTS).map(step).skip(WARM_UP).collect()
}

fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// Mean 1, coefficient of variation 2.
fn lognormal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let variance = 5f64.ln();
    let angle = random.random::<f64>() * std::f64::consts::TAU;
    let normal = (2.0 * exponential(random)).sqrt() * angle.cos();
    (variance.sqrt() * normal - variance / 2.0).exp()
}
