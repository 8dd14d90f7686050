//! Drawing from a law.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Law;
use super::exponential::{Tables, tables, uniform};

/// Draws from a [`Law`] with a generator of its own.
#[derive(Clone, Debug)]
pub struct Sampler {
    shape: Shape,
    random: Xoshiro256PlusPlus,
}

/// A law with what depends on its parameters alone worked out.
#[derive(Clone, Debug)]
enum Shape {
    Fixed,
    Exponential,
    /// exp(mu + sigma N)
    Lognormal {
        mu: f64,
        sigma: f64,
    },
    /// scale E^power
    Weibull {
        scale: f64,
        power: f64,
    },
    /// least exp(E power)
    Pareto {
        least: f64,
        power: f64,
    },
    /// E times `short` with probability `often`, else E times `long`
    Hyperexponential {
        often: f64,
        short: f64,
        long: f64,
    },
    Mmpp(Bursts),
    Measured(Arc<[f64]>),
    Replay {
        samples: Arc<[f64]>,
        next: usize,
    },
}

impl Sampler {
    /// A sampler whose numbers depend on the law and the seed alone.
    pub fn new(law: &Law, seed: u64) -> Sampler {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut shape = Shape::new(law);
        if let Shape::Mmpp(bursts) = &mut shape {
            bursts.start(uniform(&mut random));
        }
        Sampler { shape, random }
    }

    /// The next number, mean 1.
    #[expect(
        clippy::should_implement_trait,
        reason = "a law has no end, so an Option would be noise"
    )]
    #[inline]
    pub fn next(&mut self) -> f64 {
        self.draw(tables())
    }

    #[inline(always)]
    fn draw(&mut self, exponential: &Tables) -> f64 {
        let random = &mut self.random;
        match &mut self.shape {
            Shape::Fixed => 1.0,
            Shape::Exponential => exponential.one(random),
            Shape::Lognormal { mu, sigma } => {
                libm::exp(*mu + *sigma * random.sample::<f64, _>(StandardNormal))
            }
            Shape::Weibull { scale, power } => *scale * libm::pow(exponential.one(random), *power),
            Shape::Pareto { least, power } => *least * libm::exp(exponential.one(random) * *power),
            Shape::Hyperexponential { often, short, long } => {
                let mean = if uniform(random) <= *often { *short } else { *long };
                mean * exponential.one(random)
            }
            Shape::Mmpp(bursts) => bursts.gap(exponential, random),
            Shape::Measured(samples) => samples[random.random_range(0..samples.len())],
            Shape::Replay { samples, next } => {
                let sample = samples[*next];
                *next = if *next + 1 < samples.len() { *next + 1 } else { 0 };
                sample
            }
        }
    }

    /// Fills a block with the numbers that as many calls of [`Sampler::next`] would give, faster.
    pub fn fill(&mut self, block: &mut [f64]) {
        let exponential = tables();
        match self.shape {
            Shape::Fixed => block.fill(1.0),
            // The generator's state stays in registers.
            Shape::Exponential => {
                let mut random = self.random.clone();
                block.iter_mut().for_each(|place| *place = exponential.one(&mut random));
                self.random = random;
            }
            _ => block.iter_mut().for_each(|place| *place = self.draw(exponential)),
        }
    }
}

impl Shape {
    fn new(law: &Law) -> Shape {
        match *law {
            Law::Fixed => Shape::Fixed,
            Law::Exponential => Shape::Exponential,
            Law::Lognormal { cv } => {
                let variance = libm::log1p(cv * cv);
                Shape::Lognormal { mu: -variance / 2.0, sigma: variance.sqrt() }
            }
            Law::Weibull { shape } => {
                let power = 1.0 / shape;
                Shape::Weibull { scale: 1.0 / libm::tgamma(1.0 + power), power }
            }
            Law::Pareto { shape } => {
                Shape::Pareto { least: (shape - 1.0) / shape, power: 1.0 / shape }
            }
            Law::Hyperexponential { cv } => {
                let often = (1.0 + ((cv * cv - 1.0) / (cv * cv + 1.0)).sqrt()) / 2.0;
                Shape::Hyperexponential { often, short: 0.5 / often, long: 0.5 / (1.0 - often) }
            }
            Law::Mmpp { ratio, share, length } => Shape::Mmpp(Bursts::new(ratio, share, length)),
            Law::Measured(ref samples) => Shape::Measured(samples.clone()),
            Law::Replay(ref samples) => Shape::Replay { samples: samples.clone(), next: 0 },
        }
    }
}

/// A Markov-modulated Poisson process of two states, seen as the gaps between its arrivals.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// Arrivals a mean gap, in calm and in a burst.
    rate: [f64; 2],
    /// Ends of calm a mean gap, ends of bursts a mean gap.
    leave: [f64; 2],
    /// 0 in calm, 1 in a burst.
    state: usize,
}

impl Bursts {
    pub(super) fn new(ratio: f64, share: f64, length: f64) -> Bursts {
        let calm = 1.0 / (1.0 - share + share * ratio);
        let leave_burst = 1.0 / length;
        Bursts {
            rate: [calm, calm * ratio],
            leave: [leave_burst * share / (1.0 - share), leave_burst],
            state: 0,
        }
    }

    /// The share of arrivals that come in bursts.
    fn arrivals_in_bursts(&self) -> f64 {
        self.rate[1] * self.leave[0] / (self.leave[0] + self.leave[1])
    }

    /// Begins in the state that an arrival finds, so that the first gap has mean 1 like all others.
    fn start(&mut self, uniform: f64) {
        self.state = usize::from(uniform <= self.arrivals_in_bursts());
    }

    fn gap(&mut self, exponential: &Tables, random: &mut Xoshiro256PlusPlus) -> f64 {
        let mut gap = 0.0;
        loop {
            let (rate, leave) = (self.rate[self.state], self.leave[self.state]);
            gap += exponential.one(random) / (rate + leave);
            if uniform(random) * (rate + leave) <= rate {
                return gap;
            }
            self.state = 1 - self.state;
        }
    }

    /// Variance of a gap: first and second moments from each state by first-step analysis.
    pub(super) fn squared_cv(&self) -> f64 {
        let [r0, r1] = self.rate;
        let [l0, l1] = self.leave;
        let ends = [r0 + l0, r1 + l1];
        let stays = 1.0 - l0 * l1 / (ends[0] * ends[1]);
        // m_i = step_i + jump_i m_j, solved for two states.
        let solve = |step: [f64; 2]| {
            let m0 = (step[0] + l0 / ends[0] * step[1]) / stays;
            [m0, step[1] + l1 / ends[1] * m0]
        };
        let first = solve([1.0 / ends[0], 1.0 / ends[1]]);
        let second = solve([2.0 * first[0] / ends[0], 2.0 * first[1] / ends[1]]);
        let bursts = self.arrivals_in_bursts();
        (1.0 - bursts) * second[0] + bursts * second[1] - 1.0
    }
}
