//! HdrHistogram interval logs: a histogram every second or so, so that they still know what came after what.

use std::io::Read;

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, LogEntry,
};
use model::Nanos;
use stats::{Estimate, batch_proportion, telling};

use super::{Measured, Shape};

/// Batches at most: more say nothing more about dependence.
const MOST_BATCHES: usize = 128;
/// Bytes of all batches together. Those of three digits need 30 MiB; one of five digits needs 48 MiB.
const BATCHES_BYTES: usize = 256 << 20;
/// Samples of a log at most: those of ten million a second in 28 years.
const MOST_SAMPLES: u64 = 1 << 53;
/// The most bytes that a count takes in a payload.
const COUNT_BYTES: usize = 9;
/// A payload's head: cookie, length, offset, digits, least and greatest value.
const HEAD_BYTES: usize = 32;
/// How a histogram that is not compressed begins.
const V2: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();
/// A value from here on stands for a request that was lost: no latency is so long.
const LOST: u64 = 1 << 59;

/// A log's histograms, all in one and in batches of whole intervals, a power of two of them.
#[derive(Clone, Debug)]
pub(super) struct Histograms {
    all: Histogram<u64>,
    batches: Vec<Histogram<u64>>,
    /// The slowest that was answered.
    slowest: u64,
    unit: Nanos,
}

/// Reads a log; an error says what is wrong with it.
pub(super) fn read(text: &str, unit: Nanos) -> Result<Measured, String> {
    let mut all: Option<Histogram<u64>> = None;
    let (intervals, seconds) = each(text, |_, histogram| merge(&mut all, histogram))?;
    let all = all.filter(|all| !all.is_empty()).ok_or_else(|| no_log(text))?;
    let rate = all.len() as f64 / seconds;
    let batches = in_batches(text, intervals, &all)?;
    Ok(Measured {
        name: String::new(),
        requests: Some(all.len()),
        rate_per_s: Some(rate).filter(|rate| rate.is_finite()),
        threshold: None,
        counted: None,
        shape: Shape::Histograms(Histograms { slowest: slowest(&all), all, batches, unit }),
    })
}

/// Calls `take` with every histogram of a log and the number of its interval; how many intervals there are,
/// and the seconds of all. One histogram is held at a time: a log of a day has 86,400.
fn each(
    text: &str,
    mut take: impl FnMut(usize, Histogram<u64>) -> Result<(), String>,
) -> Result<(usize, f64), String> {
    let (mut intervals, mut seconds, mut last) = (0, 0.0, None);
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let interval = match entry {
            Ok(LogEntry::Interval(interval)) => interval,
            Ok(_) => continue,
            Err(_) => return Err(no_log(text)),
        };
        let begin = Some(interval.start_timestamp());
        // An interval may have lines of several tags: of one log all are the same server's.
        if begin != last {
            seconds += interval.duration().as_secs_f64();
            (intervals, last) = (intervals + 1, begin);
        }
        take(intervals - 1, decoded(&interval)?)?;
    }
    Ok((intervals, seconds))
}

fn merge(sum: &mut Option<Histogram<u64>>, more: Histogram<u64>) -> Result<(), String> {
    match sum {
        Some(sum) => sum.add(more).map_err(|e| e.to_string())?,
        None => *sum = Some(more),
    }
    match sum.as_ref().is_some_and(|sum| sum.len() > MOST_SAMPLES) {
        true => Err(format!("more than {MOST_SAMPLES} samples")),
        false => Ok(()),
    }
}

fn slowest(all: &Histogram<u64>) -> u64 {
    let values = all.iter_recorded().map(|step| step.value_iterated_to());
    values.take_while(|value| *value < LOST).last().unwrap_or(LOST)
}

fn no_log(text: &str) -> String {
    let first: String = text.lines().next().unwrap_or_default().chars().take(40).collect();
    format!(
        "found `{}`; expected a result document (JSON), an HdrHistogram log or a table of percentiles, with samples in it",
        first.escape_debug()
    )
}

fn decoded(interval: &IntervalLogHistogram) -> Result<Histogram<u64>, String> {
    let at = interval.start_timestamp().as_secs_f64();
    let wrong = |what: String| format!("the histogram at {at} s: {what}");
    let bytes = base64_decoded(interval.encoded_histogram()).map_err(wrong)?;
    is_bounded(&bytes).map_err(wrong)?;
    let read = Deserializer::new().deserialize(&mut &bytes[..]);
    let mut histogram: Histogram<u64> = read.map_err(|e| wrong(e.to_string()))?;
    histogram.auto(true);
    Ok(histogram)
}

fn base64_decoded(text: &str) -> Result<Vec<u8>, String> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| e.to_string())
}

/// Whether a histogram has as many bytes of counts as its range can need. It is asked before it is decoded,
/// which takes what it says of itself: of 266 bytes up to 4 GiB.
fn is_bounded(bytes: &[u8]) -> Result<(), String> {
    let (mut whole, mut packed) = (bytes, ZlibDecoder::new(bytes.get(8..).unwrap_or_default()));
    let is_whole = bytes.first_chunk() == Some(&V2);
    let inflated: &mut dyn Read = if is_whole { &mut whole } else { &mut packed };
    let cut = |_| "it is cut short, or not of HdrHistogram's second format".to_string();
    let mut head = [0; HEAD_BYTES];
    inflated.read_exact(&mut head).map_err(cut)?;
    let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|byte| head[at + byte]));
    let (payload, digits) = (word(4) >> 32, word(12) >> 32);
    let digits = u8::try_from(digits).map_err(|_| format!("{digits} significant digits"))?;
    let empty = Histogram::<u64>::new_with_bounds(word(16), word(24), digits);
    let counts = empty.map_err(|error| error.to_string())?.distinct_values();
    if payload > (counts * COUNT_BYTES) as u64 {
        return Err(format!("{payload} bytes of counts, and its range has {counts} values"));
    }
    let mut payload_bytes = Vec::new();
    // Behind the head stands a ratio.
    inflated.take(8 + payload).read_to_end(&mut payload_bytes).map_err(cut)?;
    // The decoder turns the sign of what it takes for a count of zeros, and of the least number it cannot.
    let has_least = payload_bytes.windows(COUNT_BYTES).any(|count| count == [0xff; COUNT_BYTES]);
    if has_least { Err("a count beyond all bounds".to_string()) } else { Ok(()) }
}

fn in_batches(
    text: &str,
    intervals: usize,
    all: &Histogram<u64>,
) -> Result<Vec<Histogram<u64>>, String> {
    let room = BATCHES_BYTES / (all.distinct_values() * size_of::<u64>());
    let batches = 1 << intervals.min(MOST_BATCHES).min(room.max(1)).ilog2();
    let mut sums: Vec<Option<Histogram<u64>>> = vec![None; batches];
    // Batch i begins at interval `intervals * i / batches`.
    each(text, |at, histogram| merge(&mut sums[((at + 1) * batches - 1) / intervals], histogram))?;
    Ok(sums.into_iter().flatten().collect())
}

impl Histograms {
    pub fn proportion(&self, threshold: Nanos) -> Estimate {
        let value = threshold.0 / self.unit.0;
        let requests = self.all.len();
        let hits = above(&self.all, value);
        if self.batches.len() < 2 {
            return Estimate {
                value: hits as f64 / requests as f64,
                low: f64::NAN,
                high: f64::NAN,
            };
        }
        let enough = telling(hits as usize, requests as usize) as u64;
        let near = if enough == hits {
            value
        } else {
            self.all.value_at_quantile(1.0 - enough as f64 / requests as f64)
        };
        let counts = self.batches.iter().map(|batch| (batch.len(), above(batch, near)));
        batch_proportion(hits, &counts.collect::<Vec<_>>())
    }

    pub fn latency_ns(&self, beyond: f64) -> f64 {
        // A lost request never came: as in a document's curve, a draw of one is as slow as the slowest that
        // did.
        self.all.value_at_quantile(1.0 - beyond).min(self.slowest) as f64 * self.unit.0 as f64
    }
}

/// Samples whose bucket lies above a value's.
fn above(histogram: &Histogram<u64>, value: u64) -> u64 {
    let high = histogram.high().max(value);
    histogram.len() - histogram.count_between(0, value.min(high))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::V2DeflateSerializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
    use std::time::Duration;

    use super::*;

    /// A log of seconds, each with its latencies in microseconds.
    fn log(seconds: &[Vec<u64>]) -> String {
        tagged(seconds, |_| "t")
    }

    /// The same, two lines to a second: the first half of each under another tag.
    fn in_halves(seconds: &[Vec<u64>]) -> String {
        let halves = seconds.iter().flat_map(|all| {
            let (one, other) = all.split_at(all.len() / 2);
            [one.to_vec(), other.to_vec()]
        });
        tagged(&halves.collect::<Vec<_>>(), |at| if at % 2 == 0 { "a" } else { "b" })
    }

    /// Lines of a tag each; those that differ in it stand for one second.
    fn tagged(lines: &[Vec<u64>], tag: impl Fn(u64) -> &'static str) -> String {
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .add_comment("a comment")
            .begin_log_with(&mut bytes, &mut serializer)
            .expect("a log");
        let tags = (0..lines.len() as u64).map(&tag).collect::<std::collections::BTreeSet<_>>();
        for (at, latencies) in (0..).zip(lines) {
            let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
            latencies.iter().for_each(|value| histogram.record(*value).expect("in range"));
            let (begin, second) =
                (Duration::from_secs(at / tags.len() as u64), Duration::from_secs(1));
            writer.write_histogram(&histogram, begin, second, Tag::new(tag(at))).expect("a line");
        }
        drop(writer);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_log_gives_proportions_and_rates() {
        let seconds: Vec<Vec<u64>> = (0..16).map(|_| (1..=1_000).collect()).collect();
        let measured = read(&log(&seconds), Nanos::from_micros(1)).expect("a log");
        assert_eq!(measured.rate_per_s, Some(1_000.0));
        let slow = measured.proportion(Nanos::from_micros(900));
        assert!((slow.value - 0.1).abs() < 1e-9 && slow.low < 0.1 && slow.high > 0.1, "{slow:?}");
        assert_eq!(measured.latency_ns(0.1), 900e3);
        assert_eq!(measured.proportion(Nanos::from_secs(1)).value, 0.0);
    }

    /// The same samples with all slow ones in two seconds out of sixteen: as many outliers, far less certain.
    #[test]
    fn slow_seconds_widen_the_interval() {
        let spread: Vec<Vec<u64>> =
            (0..16).map(|_| [vec![10; 900], vec![99; 100]].concat()).collect();
        let bunched: Vec<Vec<u64>> = (0..16)
            .map(|s| vec![if s % 8 == 3 { 99 } else { 10 }; 800 + 200 * (s % 8 == 3) as usize])
            .collect();
        let interval = |seconds: &[Vec<u64>]| {
            let measured = read(&log(seconds), Nanos(1)).expect("a log");
            let slow = measured.proportion(Nanos(50));
            (slow.value, slow.high - slow.low)
        };
        let (even, narrow) = interval(&spread);
        let (uneven, wide) = interval(&bunched);
        assert!((even - 0.1).abs() < 1e-9 && (uneven - 0.15).abs() < 0.01, "{even} {uneven}");
        assert!(wide > 5.0 * narrow, "{wide} {narrow}");
    }

    #[test]
    fn lines_of_one_second_are_one_interval() {
        let seconds: Vec<Vec<u64>> = (1..=16).map(|s| (s..=1_000).collect()).collect();
        let whole = read(&log(&seconds), Nanos(1)).expect("a log");
        let halved = read(&in_halves(&seconds), Nanos(1)).expect("a log");
        assert_eq!(halved.rate_per_s, whole.rate_per_s);
        assert_eq!(halved.proportion(Nanos(900)), whole.proportion(Nanos(900)));
        let lines = in_halves(&seconds).lines().filter(|line| line.starts_with("Tag=")).count();
        assert_eq!(lines, 32, "control: two lines a second");
    }

    #[test]
    fn lost_requests_are_slower_than_any_threshold() {
        let answered: Vec<Vec<u64>> = (0..16).map(|_| (1..=900).collect()).collect();
        let lossy = answered.iter().map(|all| [&all[..], &[1 << 60; 100]].concat());
        let lossy = read(&log(&lossy.collect::<Vec<_>>()), Nanos(1)).expect("a log");
        assert!((lossy.proportion(Nanos::from_secs(3_600)).value - 0.1).abs() < 1e-9);
        assert_eq!((lossy.latency_ns(0.05), lossy.rate_per_s), (900.0, Some(1_000.0)));
        let whole = read(&log(&answered), Nanos(1)).expect("a log");
        assert_eq!(whole.proportion(Nanos::from_secs(3_600)).value, 0.0, "control");
    }

    #[test]
    fn one_histogram_has_no_interval() {
        let one = read(&log(&[(1..=100).collect()]), Nanos(1)).expect("a log");
        assert!(one.proportion(Nanos(90)).low.is_nan());
    }

    /// The base64 of one histogram, its head changed by `forge` and compressed again.
    fn forged(forge: impl Fn(&mut Vec<u8>)) -> String {
        use base64::Engine as _;
        use hdrhistogram::serialization::{Serializer, V2Serializer};
        let mut plain = Vec::new();
        let mut histogram = Histogram::<u64>::new(3).expect("a histogram");
        histogram.record(7).expect("in range");
        V2Serializer::new().serialize(&histogram, &mut plain).expect("it fits");
        forge(&mut plain);
        let mut packed = Vec::new();
        let mut zlib = flate2::read::ZlibEncoder::new(&plain[..], flate2::Compression::default());
        zlib.read_to_end(&mut packed).expect("it fits");
        let length = (packed.len() as u32).to_be_bytes();
        let bytes = [&0x1c84_9314_u32.to_be_bytes()[..], &length, &packed].concat();
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("Tag=t,0.0,1.0,7.0,{text}\n")
    }

    #[test]
    fn a_payload_is_as_long_as_its_range_can_need() {
        read(&forged(|_| {}), Nanos(1)).expect("control: an honest one");
        let giant = forged(|head| head[4..8].copy_from_slice(&u32::MAX.to_be_bytes()));
        assert!(giant.len() < 300, "{} bytes", giant.len());
        let said = read(&giant, Nanos(1)).unwrap_err();
        assert!(said.contains("4294967295 bytes of counts"), "{said}");
        let least = forged(|plain| {
            plain.extend([0xff; 9]);
            let length = (plain.len() - 40) as u32;
            plain[4..8].copy_from_slice(&length.to_be_bytes());
        });
        let said = read(&least, Nanos(1)).unwrap_err();
        assert!(said.contains("a count beyond all bounds"), "{said}");
        // A count of 2^61.
        let many = forged(|plain| {
            plain.extend([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]);
            let length = (plain.len() - 40) as u32;
            plain[4..8].copy_from_slice(&length.to_be_bytes());
        });
        let said = read(&many, Nanos(1)).unwrap_err();
        assert!(said.contains("samples"), "{said}");
        let digits = forged(|head| head[12..16].copy_from_slice(&9_u32.to_be_bytes()));
        read(&digits, Nanos(1)).unwrap_err();
    }

    /// Five digits over the whole range are 48 MiB a histogram.
    #[test]
    fn large_histograms_have_fewer_batches() {
        let large = forged(|head| {
            head[12..16].copy_from_slice(&5_u32.to_be_bytes());
            head[24..32].copy_from_slice(&u64::MAX.to_be_bytes());
        });
        let second = |at: usize| large.replace(",0.0,", &format!(",{at}.0,"));
        let lines = |count: usize| (0..count).map(second).collect::<String>();
        let batches = |text: &str| match read(text, Nanos(1)).expect("a log").shape {
            Shape::Histograms(histograms) => histograms.batches.len(),
            Shape::Curve(_) => 0,
        };
        assert_eq!((batches(&lines(3)), batches(&lines(8))), (2, 4));
    }

    #[test]
    fn what_is_no_log_is_named() {
        for text in ["", "hello", "#only a comment\n", "Tag=t,0.1,1.0,2.7,notbase64!\n"] {
            assert!(read(text, Nanos(1)).is_err(), "{text}");
        }
    }
}
