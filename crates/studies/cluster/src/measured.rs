//! One server's latency as it was measured: a curve of a result document, or the histograms of an
//! HdrHistogram log.

mod curve;
mod document;
mod hdr;
mod percentiles;

use model::{Failure, Nanos, printable};
use stats::Estimate;

use curve::Curve;
use hdr::Histograms;

/// A measured latency distribution.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What tells it from its neighbours in the same file: `cts web`, `FIFO`; empty where nothing does.
    pub name: String,
    /// How many requests, where that is known.
    pub requests: Option<u64>,
    /// Requests a second, where that is known.
    pub rate_per_s: Option<f64>,
    /// The threshold of outliers that the measurement was made with.
    pub threshold: Option<Nanos>,
    /// The proportion of requests slower than that threshold, as the measurement counted them.
    counted: Option<Estimate>,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Curve(Curve),
    Histograms(Histograms),
}

impl Measured {
    /// All distributions of a file's content: a result document of Rearguard (JSON), an interval log of
    /// HdrHistogram (`.hlog`) or its percentile table (`.hgrm`, as wrk2 prints it). `unit` is that of the
    /// histograms' values; documents and logs of `measure --hdr` say their own.
    ///
    /// [`Failure::Input`], with `file` in front, for anything else, and where nothing says the unit: of
    /// wrk2's milliseconds as nanoseconds none is an outlier.
    pub fn read(content: &str, file: &str, unit: Option<Nanos>) -> Result<Vec<Measured>, Failure> {
        let text = content.trim_start();
        let is_known = unit.is_some() || says_unit(text);
        let unit = unit.unwrap_or(Nanos(1));
        let found = if text.starts_with('{') {
            document::read(text)
        } else if percentiles::is_table(text) {
            percentiles::read(text, unit).map(|one| vec![one])
        } else {
            hdr::read(text, unit).map(|one| vec![one])
        };
        let unknown = "it does not say the unit of its values: expected --unit ns, us, ms or s";
        let found = found.and_then(|all| if is_known { Ok(all) } else { Err(unknown.into()) });
        let mut found = found.map_err(|what| Failure::Input(format!("{file}: {what}")))?;
        // Names reach terminals and pages.
        found.iter_mut().for_each(|one| one.name = printable(&one.name));
        Ok(found)
    }

    /// The proportion of requests slower than a threshold. Its ends are NaN where nothing is known of them:
    /// one histogram has forgotten in which order its samples came, and with it how much they depend on each
    /// other.
    pub fn proportion(&self, threshold: Nanos) -> Estimate {
        if let Some(counted) = self.counted.filter(|_| self.threshold == Some(threshold)) {
            return counted;
        }
        match &self.shape {
            Shape::Curve(curve) => curve.proportion(threshold),
            Shape::Histograms(histograms) => histograms.proportion(threshold),
        }
    }

    /// The latency that a proportion `beyond`, 0 to 1, exceeds, in nanoseconds: what a draw of that much
    /// would be.
    pub fn latency_ns(&self, beyond: f64) -> f64 {
        match &self.shape {
            Shape::Curve(curve) => curve.latency_ns(beyond),
            Shape::Histograms(histograms) => histograms.latency_ns(beyond),
        }
    }
}

/// Whether a file's content says the unit of its values: as a result document does, and the comments of what
/// `measure --hdr` writes.
fn says_unit(text: &str) -> bool {
    let of_log = |line: &str| line.starts_with('#') && line.contains("latencies in ns ");
    text.starts_with('{') || text.lines().any(of_log)
}
