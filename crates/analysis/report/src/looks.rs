//! Looks at ever longer runs of a server, until its tail is precise.

use serde::{Deserialize, Serialize};

use crate::document::Estimate;
use crate::human;

/// What the last of them found. Its interval is wider than that of a single look, so that all looks together
/// have 95% confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasureLooks {
    /// Those that were taken.
    pub taken: u64,
    /// Those that might have been.
    pub planned: u64,
    /// Whether the interval of p99.9 reaches no further than wanted.
    pub is_sure: bool,
    /// How far it may reach on either side, as a share of p99.9.
    pub precision: f64,
    /// How far it reaches on its longer side; `None`: it lacks an end.
    pub reach: Option<f64>,
    /// p99.9 with that interval.
    pub p99_9_ns: Estimate,
    /// The measured time of all looks.
    pub measured_ns: u64,
}

impl MeasureLooks {
    /// How far it is.
    pub fn words(&self) -> String {
        let MeasureLooks { taken, planned, .. } = self;
        let wanted = human::share(Some(self.precision));
        let reach = match self.reach {
            None => "p99.9 has no bound yet".to_string(),
            Some(reach) => format!("p99.9 within {} of {wanted}", human::share(Some(reach))),
        };
        format!("look {taken} of {planned}: {reach}")
    }

    /// Whether it was sure, and when.
    pub(crate) fn note(&self) -> String {
        let MeasureLooks { taken, planned, .. } = self;
        let wanted = human::share(Some(self.precision));
        let time = human::round_span(self.measured_ns);
        let said = format!(
            "p99.9 within {wanted} on either side, with 95% confidence over {planned} looks"
        );
        match (self.is_sure, self.reach) {
            (true, _) => format!("{said}; sure at look {taken}, after {time}"),
            (false, Some(reach)) => {
                format!(
                    "{said}; not sure yet after {time}: within {}; --plan says how long it takes",
                    human::share(Some(reach))
                )
            }
            (false, None) => format!("{said}; not sure yet after {time}: it has no bound"),
        }
    }
}
