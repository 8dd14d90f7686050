//! Laws of gaps and service times, all with mean 1 until scaled.

mod exponential;
mod sampler;
mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Failure;
pub use sampler::Sampler;

/// A law of positive random numbers with mean 1.
///
/// Build those with parameters through [`Law::lognormal`] and its neighbours, or check them with
/// [`Law::validate`]: a sampler of a law outside its range draws nonsense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Law {
    /// Always 1.
    Fixed,
    /// Exponential: as gaps, Poisson arrivals.
    Exponential,
    /// Lognormal.
    Lognormal {
        /// Standard deviation / mean, above 0, at most 100.
        cv: f64,
    },
    /// Weibull.
    Weibull {
        /// 0.1 to 100. Below 1 burstier than [`Law::Exponential`], which is shape 1.
        shape: f64,
    },
    /// Pareto (type I): a power law from its least value on.
    Pareto {
        /// The tail's exponent, 1.01 to 100. Up to 2 the variance is infinite. Nearer to 1 the mean rests on
        /// draws that no run makes, and all other gaps are next to nothing: requests without end.
        shape: f64,
    },
    /// Two exponentials with balanced means: each of them contributes half of the time.
    Hyperexponential {
        /// Standard deviation / mean, 1 to 100.
        cv: f64,
    },
    /// Gaps of a Markov-modulated Poisson process of two states: bursts and calm in turn, each of exponential
    /// length.
    Mmpp {
        /// The rate in a burst over the rate in calm, at least 1, at most 10,000.
        ratio: f64,
        /// The share of time that is burst, between 0 and 1, both excluded.
        share: f64,
        /// The mean length of a burst in mean gaps, above 0, at most 1,000,000.
        length: f64,
    },
    /// Samples, drawn independently with replacement. [`Law::measured`] scales them to mean 1.
    Measured(Arc<[f64]>),
    /// Samples one after the other, and from the first again. [`Law::replay`] scales them to mean 1.
    Replay(Arc<[f64]>),
}

impl Law {
    /// A lognormal law; see [`Law::Lognormal`] for the range.
    pub fn lognormal(cv: f64) -> Result<Law, Failure> {
        Law::Lognormal { cv }.checked()
    }

    /// A Weibull law; see [`Law::Weibull`] for the range.
    pub fn weibull(shape: f64) -> Result<Law, Failure> {
        Law::Weibull { shape }.checked()
    }

    /// A Pareto law; see [`Law::Pareto`] for the range.
    pub fn pareto(shape: f64) -> Result<Law, Failure> {
        Law::Pareto { shape }.checked()
    }

    /// A hyperexponential law; see [`Law::Hyperexponential`] for the range.
    pub fn hyperexponential(cv: f64) -> Result<Law, Failure> {
        Law::Hyperexponential { cv }.checked()
    }

    /// Gaps of bursts and calm; see [`Law::Mmpp`] for the ranges.
    pub fn mmpp(ratio: f64, share: f64, length: f64) -> Result<Law, Failure> {
        Law::Mmpp { ratio, share, length }.checked()
    }

    /// The law of measured samples in any unit: finite, none negative, not all 0. They are scaled to mean 1.
    pub fn measured(samples: &[f64]) -> Result<Law, Failure> {
        scaled(samples).map(Law::Measured)
    }

    /// The law of samples in their order, as [`Law::measured`] takes them.
    pub fn replay(samples: &[f64]) -> Result<Law, Failure> {
        scaled(samples).map(Law::Replay)
    }
    /// [`Failure::Input`] with the allowed range where a parameter is outside.
    pub fn validate(&self) -> Result<(), Failure> {
        match *self {
            Law::Fixed | Law::Exponential => Ok(()),
            Law::Lognormal { cv } => within("lognormal", "cv", cv, Above(0.0), 100.0),
            Law::Weibull { shape } => within("weibull", "shape", shape, From(0.1), 100.0),
            Law::Pareto { shape } => within("pareto", "shape", shape, From(1.01), 100.0),
            Law::Hyperexponential { cv } => within("hyperexponential", "cv", cv, From(1.0), 100.0),
            Law::Mmpp { ratio, share, length } => {
                within("mmpp", "ratio", ratio, From(1.0), 1e4)?;
                within("mmpp", "share", share, Above(0.0), 1.0f64.next_down())?;
                within("mmpp", "length", length, Above(0.0), 1e6)
            }
            Law::Measured(ref samples) | Law::Replay(ref samples) => scaled(samples).map(drop),
        }
    }

    /// The squared coefficient of variation (variance, as the mean is 1); `None` where it is infinite.
    ///
    /// For [`Law::Mmpp`] and [`Law::Replay`] that of a single gap: successive gaps are not independent.
    pub fn squared_cv(&self) -> Option<f64> {
        match *self {
            Law::Fixed => Some(0.0),
            Law::Exponential => Some(1.0),
            Law::Lognormal { cv } | Law::Hyperexponential { cv } => Some(cv * cv),
            Law::Weibull { shape } => {
                let mean = libm::tgamma(1.0 + 1.0 / shape);
                Some(libm::tgamma(1.0 + 2.0 / shape) / (mean * mean) - 1.0)
            }
            Law::Pareto { shape } => (shape > 2.0).then(|| 1.0 / (shape * (shape - 2.0))),
            Law::Mmpp { ratio, share, length } => {
                Some(sampler::Bursts::new(ratio, share, length).squared_cv())
            }
            Law::Measured(ref samples) | Law::Replay(ref samples) => {
                let squares: f64 = samples.iter().map(|x| x * x).sum();
                Some(squares / samples.len() as f64 - 1.0)
            }
        }
    }

    fn checked(self) -> Result<Law, Failure> {
        self.validate()?;
        Ok(self)
    }
}

/// Samples with mean 1.
fn scaled(samples: &[f64]) -> Result<Arc<[f64]>, Failure> {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let usable = samples.iter().all(|x| x.is_finite() && *x >= 0.0) && mean > 0.0;
    if !usable || !mean.is_finite() {
        return Err(Failure::Input(format!(
            "measured law: needs at least one sample, all finite, none negative, not all 0; got {} samples",
            samples.len()
        )));
    }
    Ok(samples.iter().map(|x| x / mean).collect())
}

/// The lower end of a parameter's range.
enum Least {
    From(f64),
    Above(f64),
}
use Least::{Above, From};

fn within(law: &str, key: &str, value: f64, least: Least, most: f64) -> Result<(), Failure> {
    let (fits, words) = match least {
        From(low) => (value >= low, format!("at least {low}")),
        Above(low) => (value > low, format!("above {low}")),
    };
    if fits && value <= most {
        return Ok(());
    }
    let most = if most < 1.0 { "below 1".to_string() } else { format!("at most {most}") };
    Err(Failure::Input(format!("{law} law: `{key}` is {value}, but must be {words} and {most}")))
}

#[cfg(test)]
mod tests;
