use num_bigint::BigUint;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::Histogram;
use model::Nanos;

/// Up to 13 days. Of 57 days and more a double in seconds does not have every nanosecond.
const EXACT_NS: u64 = 1 << 50;

/// Whether a time is at most 2^(index / 2^schema) seconds, in whole numbers: it is raised to 2^schema first.
fn is_within(ns: u64, index: i32, schema: u32) -> bool {
    let power = 1 << schema;
    let (mut time, mut end) = (BigUint::from(ns).pow(power), BigUint::from(1e9 as u64).pow(power));
    let exponent = index.unsigned_abs();
    *if index < 0 { &mut time } else { &mut end } <<= exponent;
    time <= end
}

/// The last nanosecond of a bucket.
fn last_ns(index: i32, schema: u32) -> u64 {
    let (mut inside, mut outside) = (0, u64::MAX);
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        *if is_within(middle, index, schema) { &mut inside } else { &mut outside } = middle;
    }
    inside
}

fn index_at(ns: u64, schema: i32) -> i32 {
    coarser(finest_index(Nanos(ns).as_secs_f64()), FINEST - schema)
}

/// Both rules rise with the time, so they agree everywhere if they agree on both sides of each end.
#[test]
fn every_nanosecond_is_in_the_bucket_of_an_exact_reckoning() {
    for schema in 0..=FINEST {
        let mut ends = 0;
        for index in index_at(1, schema)..=index_at(EXACT_NS, schema) {
            let last = last_ns(index, schema as u32);
            // The first buckets are narrower than a nanosecond.
            if last < EXACT_NS && last > 0 {
                assert!(index_at(last, schema) <= index, "{last} ns, schema {schema}");
                assert!(index_at(last + 1, schema) > index, "{} ns, schema {schema}", last + 1);
                ends += 1;
            }
        }
        assert!(ends > 40 << schema, "the control: {ends} ends");
    }
}

#[test]
fn a_power_of_two_is_the_last_of_its_bucket() {
    // 10^9 has nine factors of two, so these are whole nanoseconds.
    for power in -9..=34 {
        let ns = (1e9 * 2_f64.powi(power)) as u64;
        assert_eq!(finest_index(Nanos(ns).as_secs_f64()), power << FINEST, "2^{power} s");
        let above = f64::from_bits(Nanos(ns).as_secs_f64().to_bits() + 1);
        assert_eq!(finest_index(above), (power << FINEST) + 1, "just above 2^{power} s");
    }
}

fn of(values_ns: impl IntoIterator<Item = u64>) -> Exponential {
    let mut all = Histogram::default();
    values_ns.into_iter().for_each(|ns| all.observe(Nanos(ns)));
    let own = all.exponential().clone();
    let counted: u64 = own.buckets().iter().map(|(_, count)| count).sum();
    assert_eq!(own.zeros() + counted, all.count(), "each is in one bucket");
    assert!(own.buckets().is_sorted_by(|one, next| one.0 < next.0));
    own
}

#[test]
fn zero_one_nanosecond_and_centuries_are_counted() {
    let own = of([0, 0, 1, u64::MAX]);
    assert_eq!(own.zeros(), 2);
    // Between 2^-30 and 2^-29, and between 2^34 and 2^35 seconds.
    let indices: Vec<i32> = own.buckets().iter().map(|(index, _)| index >> FINEST).collect();
    assert_eq!((own.schema(), indices), (FINEST, vec![-30, 34]));
    assert_eq!(of([]), Exponential::default());
}

/// A value of every bucket that times can be in.
fn hostile() -> impl Iterator<Item = u64> {
    (0..64 << FINEST).map(|at| 2_f64.powf(f64::from(at) / f64::from(1 << FINEST)) as u64)
}

#[test]
fn a_thousand_services_with_values_of_all_sizes_fit_into_64_mib() {
    let own = of(hostile());
    assert!(own.counts.capacity() <= MOST, "{}", own.counts.capacity());
    assert_eq!(own.schema(), 2, "64 powers of two");
    // The latency, and five stages.
    let one = size_of::<Histogram>() + own.counts.capacity() * size_of::<(i32, u64)>();
    let all = 6 * 1_000 * one;
    assert!(all < 64 << 20, "{all}");
    let buckets = of(hostile().filter(|ns| *ns < 1 << 40)).schema();
    assert_eq!(buckets, 3, "1 ns to 18 minutes");
    assert_eq!(of(hostile().filter(|ns| (1_000..1 << 29).contains(ns))).schema(), 4, "to 0.5 s");
}

#[test]
fn coarser_buckets_are_those_that_would_have_been_counted_at_once() {
    let mut own = of(hostile());
    let before = own.clone();
    own.coarsen();
    let mut direct = std::collections::BTreeMap::new();
    hostile().filter(|ns| *ns > 0).for_each(|ns| {
        *direct.entry(index_at(ns, own.schema())).or_insert(0_u64) += 1;
    });
    assert_eq!(own.counts, direct.into_iter().collect::<Vec<_>>());
    assert!(own.counts.len() < before.counts.len(), "the control");
}

/// As Prometheus finds a quantile in buckets. `is_linear`: version 2 interpolates so; version 3 does not.
fn quantile(own: &Exponential, at: f64, is_linear: bool) -> f64 {
    let count = own.zeros() + own.buckets().iter().map(|(_, count)| count).sum::<u64>();
    let (rank, mut before) = (at * count as f64, own.zeros() as f64);
    for (index, count) in own.buckets() {
        if before + *count as f64 >= rank {
            let part = (rank - before) / *count as f64;
            let end = |index: i32| 2_f64.powf(f64::from(index) / 2_f64.powi(own.schema()));
            let (low, high) = (end(index - 1), end(*index));
            let linear = low + (high - low) * part;
            return if is_linear { linear } else { low * (high / low).powf(part) };
        }
        before += *count as f64;
    }
    unreachable!("ranks end with the count")
}

/// The greatest relative error of quantiles of drawn times, by both rules.
fn worst_error(coarsen_by: i32) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(26);
    let mut worst = 0_f64;
    for count in [1, 10, 1_000, 50_000] {
        let log = |random: &mut Xoshiro256PlusPlus| random.random_range(7.0..17.0);
        let mut drawn: Vec<u64> = (0..count).map(|_| f64::exp(log(&mut random)) as u64).collect();
        drawn.sort_unstable();
        let mut own = of(drawn.iter().copied());
        (0..coarsen_by).for_each(|_| own.coarsen());
        for (at, is_linear) in [0.5, 0.9, 0.99, 0.999].map(|at| [(at, true), (at, false)]).concat()
        {
            let exact = drawn[((at * f64::from(count)).ceil() as usize).max(1) - 1] as f64 / 1e9;
            worst = worst.max((quantile(&own, at, is_linear) / exact - 1.0).abs());
        }
    }
    worst
}

#[test]
fn quantiles_are_within_a_bucket_of_exact_ones() {
    let width = |schema: i32| 2_f64.powf(2_f64.powi(-schema)) - 1.0;
    let errors = [0, 1, 2].map(worst_error);
    for (by, error) in (0..).zip(errors) {
        assert!(error <= width(FINEST - by), "{errors:?}");
    }
    assert!(errors[2] > width(FINEST), "the control: wider buckets err more, {errors:?}");
}
