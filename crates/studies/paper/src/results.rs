//! What a figure's runs and queues came to, by name.

use report::document::PolicyResult;
use report::{Curve, Document};

use crate::definition::Run;
use crate::reading::{self, Reading};

/// All that a figure reads off.
#[derive(Default)]
pub struct Results {
    /// Each run with its document.
    pub runs: Vec<(Run, Document)>,
    /// Ideal queues.
    pub queues: Vec<Curve>,
}

impl Results {
    /// The value of a reading.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        let reading = Reading::parse(text).ok_or_else(|| format!("'{text}' is no reading"))?;
        let found = match self.queues.iter().find(|curve| curve.name == reading.policy) {
            Some(curve) => reading::latency(&curve.latency_ns, &curve.ccdf, &reading.metric),
            None => self
                .result(&reading)
                .and_then(|r| reading::metric(r, &reading.metric, reading.of.as_deref())),
        };
        found.ok_or_else(|| format!("'{text}' was not measured"))
    }

    fn result(&self, reading: &Reading) -> Option<&PolicyResult> {
        let mut runs = self.runs.iter();
        let (_, document) = match &reading.at {
            Some(name) => runs.find(|(run, _)| run.name == *name)?,
            None => runs.next()?,
        };
        document.shown().into_iter().find(|result| result.policy == reading.policy)
    }
}
