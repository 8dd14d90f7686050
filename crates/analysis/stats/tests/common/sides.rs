//! Pairs of runs of two sides that do not differ: the same arrivals, services of their own.

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::many::UNIT;

/// What a run of a side is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Exponential services.
    Exponential,
    /// Lognormal services, coefficient of variation 5.
    Heavy,
    /// Exponential services. In one run of ten, on either side, one request in fifty takes 1,000 times as
    /// long.
    Disasters,
    /// Exponential services on a machine whose speed is another one in each run.
    Speeds,
}

/// A queue of both sides.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub law: Law,
    pub workers: usize,
    pub load: f64,
    pub requests: usize,
}

/// How many runs have a disaster, what part of their requests, and by what factor.
const DISASTERS: f64 = 0.1;
const STRUCK: usize = 50;
const DISASTER: f64 = 1e3;
/// The standard deviation of the logarithm of a run's speed.
const SPEEDS: f64 = 0.5;

/// The first seed.
const FRESH: usize = 1_000_000;

pub type Pair = (Vec<Nanos>, Vec<Nanos>);

impl Law {
    pub const ALL: [Law; 4] = [Law::Exponential, Law::Heavy, Law::Disasters, Law::Speeds];

    pub fn name(self) -> &'static str {
        match self {
            Law::Exponential => "exponential",
            Law::Heavy => "lognormal of cv 5",
            Law::Disasters => "disasters",
            Law::Speeds => "speeds differ",
        }
    }
}

impl Case {
    /// So many pairs, each of a seed that no other trial has, and on which no limit was chosen.
    pub fn pairs(&self, trial: usize, pairs: usize) -> Vec<Pair> {
        let seeds = (FRESH + trial * pairs..).take(pairs).map(|seed| seed as u64);
        let pair = |seed| (self.run(seed, 2 * seed), self.run(seed, 2 * seed + 1));
        seeds.map(pair).collect()
    }

    /// First come, first served: arrivals drawn from one seed, all else from another.
    fn run(&self, arrivals: u64, services: u64) -> Vec<Nanos> {
        let mut arrivals = Xoshiro256PlusPlus::seed_from_u64(arrivals);
        let mut services = Xoshiro256PlusPlus::seed_from_u64(services ^ (1 << 40));
        let factors = self.factors(&mut services);
        let warm_up = (2.0 / (1.0 - self.load.sqrt()).powi(2)) as usize + 10 * self.workers;
        let mut free = vec![0.0f64; self.workers];
        let mut now = 0.0;
        let mut step = |_| {
            now += exponential(&mut arrivals) / (self.load * self.workers as f64);
            let ends = free[0].max(now) + self.service(&mut services);
            let at = free[1..].partition_point(|other| *other < ends);
            free.copy_within(1..=at, 0);
            free[at] = ends;
            (ends - now) * UNIT
        };
        (0..warm_up).for_each(|at| {
            step(at);
        });
        (0..self.requests).map(|at| Nanos((step(at) * factors(at)) as u64)).collect()
    }

    fn service(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let variance = 26f64.ln();
        match self.law {
            Law::Heavy => (variance.sqrt() * normal(random) - variance / 2.0).exp(),
            _ => exponential(random),
        }
    }

    /// What each request of a run takes longer by.
    fn factors(&self, random: &mut Xoshiro256PlusPlus) -> impl Fn(usize) -> f64 + use<> {
        let speed = if self.law == Law::Speeds { (SPEEDS * normal(random)).exp() } else { 1.0 };
        let struck = self.law == Law::Disasters && random.random::<f64>() < DISASTERS;
        let length = self.requests / STRUCK;
        let first = random.random_range(0..self.requests - length);
        move |at| if struck && (first..first + length).contains(&at) { DISASTER } else { speed }
    }
}

fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let angle = random.random::<f64>() * std::f64::consts::TAU;
    (2.0 * exponential(random)).sqrt() * angle.cos()
}

/// The first side of each pair slowed down.
pub fn slowed(pairs: &[Pair], times: f64) -> Vec<Pair> {
    let slow = |run: &[Nanos]| run.iter().map(|x| Nanos((x.0 as f64 * times) as u64)).collect();
    pairs.iter().map(|(a, b)| (slow(a), b.clone())).collect()
}
