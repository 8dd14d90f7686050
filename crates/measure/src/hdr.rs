//! Latencies as an HdrHistogram log, an interval a second, for the tools that read such.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use model::Nanos;

use crate::measurement::Measurement;

/// The span of an interval.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// Significant digits.
const DIGITS: u8 = 3;

/// Writes the latencies of the requests that were answered, in nanoseconds, by the second in which each was due. Lost requests, which no histogram
/// holds, are counted in a comment.
pub fn write_log(measurement: &Measurement, out: &mut impl Write) -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Debug| io::Error::other(format!("{error:?}"));
    let start = measurement.trace.window.start;
    let moment = |at: Nanos| measurement.started + Duration::from_nanos((start + at).0);
    let epoch = measurement.started + Duration::from_nanos(start.0);
    let lost = measurement.losses.values().sum::<u64>();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("rearguard measure {}", measurement.scenario.name))
        .add_comment(&format!("latencies in ns from the intended moment; requests lost: {lost}"))
        .with_start_time(epoch)
        .with_base_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(1e6);
    let mut log = builder.begin_log_with(out, &mut serializer).map_err(|e| failed(&e))?;
    for (number, histogram) in histograms(measurement)?.iter().enumerate() {
        let begin = moment(Nanos(INTERVAL.0 * number as u64));
        let since_epoch = begin.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let span = Duration::from_nanos(INTERVAL.0);
        log.write_histogram(histogram, since_epoch, span, None).map_err(|e| failed(&e))?;
    }
    Ok(())
}

fn histograms(measurement: &Measurement) -> io::Result<Vec<Histogram<u64>>> {
    let window = measurement.trace.window;
    let count = window.span().0.div_ceil(INTERVAL.0) as usize;
    let empty = || Histogram::new(DIGITS).map_err(io::Error::other);
    let mut histograms = (0..count).map(|_| empty()).collect::<io::Result<Vec<_>>>()?;
    let answered = measurement.records.iter().filter(|r| r.received != Nanos::NEVER);
    for record in answered {
        let interval = (record.planned.intended - window.start).0 / INTERVAL.0;
        histograms[interval as usize]
            .record(record.latency().0.max(1))
            .map_err(io::Error::other)?;
    }
    Ok(histograms)
}
