//! Laws as people write them: `poisson`, `lognormal:cv=2`, `mmpp:ratio=10:share=0.1:length=100`.

use std::fmt;
use std::str::FromStr;

use super::Law;
use crate::{Failure, PolicySpec};

const FORMS: &str = "fixed, exponential (or poisson), lognormal:cv=C, weibull:shape=K, pareto:shape=A, \
    hyperexponential:cv=C, mmpp:ratio=R:share=S:length=L";

impl FromStr for Law {
    type Err = Failure;

    /// Reads `NAME[:KEY=NUMBER]...`; anything else is a [`Failure::Input`] that lists the forms.
    fn from_str(text: &str) -> Result<Law, Failure> {
        let malformed = || Failure::Input(format!("law `{text}`: expected one of {FORMS}"));
        // Laws are written as policies are: a name and options.
        let PolicySpec { name, options } = PolicySpec::parse(text).map_err(|_| malformed())?;
        let number = |key: &str| -> Result<f64, Failure> {
            options.get(key).and_then(|value| value.parse().ok()).ok_or_else(malformed)
        };
        let (law, parameters) = match name.as_str() {
            "fixed" | "deterministic" => (Law::Fixed, 0),
            "exponential" | "poisson" => (Law::Exponential, 0),
            "lognormal" => (Law::lognormal(number("cv")?)?, 1),
            "weibull" => (Law::weibull(number("shape")?)?, 1),
            "pareto" => (Law::pareto(number("shape")?)?, 1),
            "hyperexponential" => (Law::hyperexponential(number("cv")?)?, 1),
            "mmpp" => (Law::mmpp(number("ratio")?, number("share")?, number("length")?)?, 3),
            _ => return Err(malformed()),
        };
        if options.len() == parameters { Ok(law) } else { Err(malformed()) }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Law::Fixed => f.write_str("fixed"),
            Law::Exponential => f.write_str("exponential"),
            Law::Lognormal { cv } => write!(f, "lognormal:cv={cv}"),
            Law::Weibull { shape } => write!(f, "weibull:shape={shape}"),
            Law::Pareto { shape } => write!(f, "pareto:shape={shape}"),
            Law::Hyperexponential { cv } => write!(f, "hyperexponential:cv={cv}"),
            Law::Mmpp { ratio, share, length } => {
                write!(f, "mmpp:ratio={ratio}:share={share}:length={length}")
            }
            Law::Measured(samples) => write!(f, "measured ({} samples)", samples.len()),
            Law::Replay(samples) => write!(f, "replay ({} samples)", samples.len()),
        }
    }
}
