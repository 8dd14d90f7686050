//! Latencies as an HdrHistogram log, an interval a second, for the tools that read such.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use model::Nanos;

use crate::measurement::Measurement;

/// The span of an interval.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// Significant digits.
const DIGITS: u8 = 3;
/// What a lost request counts as: slower than any threshold.
const LOST_NS: u64 = 1 << 60;

/// The latencies of a second's requests: of those that were answered, and the lost ones, which are in lines
/// of their own, tagged `lost`.
struct Interval {
    answered: Histogram<u64>,
    lost: Histogram<u64>,
}

/// Writes the latencies of all requests, in nanoseconds, by the second in which each was due.
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
    let span = Duration::from_nanos(INTERVAL.0);
    for (number, interval) in intervals(measurement)?.iter().enumerate() {
        let begin = moment(Nanos(INTERVAL.0 * number as u64));
        let begin = begin.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        log.write_histogram(&interval.answered, begin, span, None).map_err(|e| failed(&e))?;
        if !interval.lost.is_empty() {
            let tag = Tag::new("lost");
            log.write_histogram(&interval.lost, begin, span, tag).map_err(|e| failed(&e))?;
        }
    }
    Ok(())
}

fn intervals(measurement: &Measurement) -> io::Result<Vec<Interval>> {
    let window = measurement.trace.window;
    let count = window.span().0.div_ceil(INTERVAL.0) as usize;
    let empty = || Histogram::new(DIGITS).map_err(io::Error::other);
    let interval = || Ok(Interval { answered: empty()?, lost: empty()? });
    let mut intervals = (0..count).map(|_| interval()).collect::<io::Result<Vec<_>>>()?;
    for record in &measurement.records {
        let number = (record.planned.intended - window.start).0 / INTERVAL.0;
        let Interval { answered, lost } = &mut intervals[number as usize];
        let recorded = match record.received {
            Nanos::NEVER => lost.record(LOST_NS),
            _ => answered.record(record.latency().0.max(1)),
        };
        recorded.map_err(io::Error::other)?;
    }
    Ok(intervals)
}
