//! Whether the generator kept its schedule. If not, the run fails: its own delay must never be reported as the server's.
//!
//! A request's *lag* is how much later it was sent than it could be: later than its intended moment, or than the arrival of the
//! response that freed a connection for it. That a connection was not free is the server's doing and no lag.

use model::Nanos;

use super::Record;

/// Without the requests' lags, a quantile of the latency may be lower by so much of itself.
const LAG_SHARE: f64 = 0.05;
/// A quantile is judged when at least so many requests lie beyond it.
const SAMPLES_BEYOND: f64 = 5.0;
/// A request is on time if its lag is at most half the mean service time ...
const ON_TIME_SERVICES: f64 = 0.5;
/// ... and so large a share must be: what few late requests do to the queues of others then stays small, too.
const ON_TIME_SHARE: f64 = 0.99;
/// Gaps between requests may differ by so much of the mean gap, on average.
const GAP_SHARE: f64 = 0.25;
/// The time that the generator waited for its CPU may be so much of the latency, both a request, on average.
const RUN_DELAY_SHARE: f64 = 0.10;

/// What is wrong with how the requests of one service were sent, in numbers; empty: nothing.
///
/// `run_delay` is the generator's wait for its CPU, as a mean over the requests.
pub fn faults(records: &[Record], run_delay: Nanos) -> Vec<String> {
    let unsent = records.iter().filter(|record| record.ready == Nanos::NEVER).count();
    if unsent > 0 {
        let all = records.len();
        return vec![format!("it did not get round to {unsent} of {all} requests")];
    }
    let checks = [late_quantiles(records), off_schedule(records), gaps(records)];
    let delayed = waited(records, run_delay);
    checks.into_iter().flatten().chain(delayed).collect()
}

/// What the lags themselves add to the latency.
fn late_quantiles(records: &[Record]) -> Vec<String> {
    let with = sorted(records.iter().map(Record::latency));
    let without = sorted(records.iter().map(|r| match r.latency() {
        Nanos::NEVER => Nanos::NEVER,
        latency => latency.saturating_sub(lag(r)),
    }));
    [(0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")]
        .iter()
        .filter(|(q, _)| records.len() as f64 * (1.0 - q) >= SAMPLES_BEYOND)
        .map(|&(q, name)| (name, quantile(&with, q), quantile(&without, q)))
        .filter(|(_, with, without)| (with.0 - without.0) as f64 > LAG_SHARE * with.0 as f64)
        .map(|(name, with, without)| {
            let (own, most) = (with - without, 100.0 * LAG_SHARE);
            format!("{own} of the latency's {name}, {with}, are its own delay (at most {most:.0}%)")
        })
        .collect()
}

fn off_schedule(records: &[Record]) -> Vec<String> {
    let services = records.iter().map(|record| record.planned.service.0 as f64);
    let bound = ON_TIME_SERVICES * mean(services);
    let sent = lags(records).count().max(1) as f64;
    let on_time = lags(records).filter(|lag| lag.0 as f64 <= bound).count() as f64 / sent;
    let bound = Nanos(bound as u64);
    (on_time < ON_TIME_SHARE)
        .then(|| {
            let (share, wanted) = (100.0 * on_time, 100.0 * ON_TIME_SHARE);
            format!("{share:.1}% of requests were sent within {bound} of their turn (at least {wanted:.0}%)")
        })
        .into_iter()
        .collect()
}

fn gaps(records: &[Record]) -> Vec<String> {
    let sent = || records.iter().filter(|record| record.sent != Nanos::NEVER);
    let due = sorted(sent().map(|record| record.ready));
    let real = sorted(sent().map(|record| record.sent));
    let spans = |times: &[Nanos]| -> Vec<f64> {
        times.windows(2).map(|pair| (pair[1] - pair[0]).0 as f64).collect()
    };
    let (due, real) = (spans(&due), spans(&real));
    let wrong = mean(due.iter().zip(&real).map(|(due, real)| (due - real).abs()));
    let wrong = wrong / mean(due.iter().copied()).max(1.0);
    (wrong > GAP_SHARE)
        .then(|| {
            format!(
                "gaps between requests are off by {:.0}% (at most {:.0}%)",
                100.0 * wrong,
                100.0 * GAP_SHARE
            )
        })
        .into_iter()
        .collect()
}

fn waited(records: &[Record], run_delay: Nanos) -> Option<String> {
    let answered = records.iter().map(Record::latency).filter(|latency| *latency != Nanos::NEVER);
    let latency = mean(answered.map(|latency| latency.0 as f64));
    (run_delay.0 as f64 > RUN_DELAY_SHARE * latency).then(|| {
        let latency = Nanos(latency as u64);
        format!("it waited {run_delay} a request for its CPU, beside a mean latency of {latency}")
    })
}

/// The lags of all requests that were sent.
fn lags(records: &[Record]) -> impl Iterator<Item = Nanos> {
    records.iter().filter(|record| record.sent != Nanos::NEVER).map(lag)
}

fn lag(record: &Record) -> Nanos {
    record.sent.saturating_sub(record.ready)
}

fn sorted(times: impl Iterator<Item = Nanos>) -> Vec<Nanos> {
    let mut times: Vec<Nanos> = times.collect();
    times.sort_unstable();
    times
}

fn quantile(sorted: &[Nanos], q: f64) -> Nanos {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(Nanos::NEVER)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, n), value| (sum + value, n + 1));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

#[cfg(test)]
mod tests {
    use model::workload::Planned;

    use super::*;

    const GAP_US: u64 = 1_000;
    const LATENCY_US: u64 = 600;

    /// 20,000 requests, one a millisecond, each answered after 600 us; `lag_us` is how late each was sent.
    fn run(lag_us: impl Fn(u64) -> u64) -> Vec<Record> {
        let record = |i: u64| {
            let intended = Nanos::from_micros(i * GAP_US);
            let sent = intended + Nanos::from_micros(lag_us(i));
            let received = sent + Nanos::from_micros(LATENCY_US);
            let planned = Planned { intended, service: Nanos::from_micros(500), lot: 0 };
            Record { planned, ready: intended, sent, stamps: None, received }
        };
        (0..20_000).map(record).collect()
    }

    fn faulty(records: &[Record], run_delay_us: u64, word: &str) {
        let faults = faults(records, Nanos::from_micros(run_delay_us));
        assert!(faults.iter().any(|fault| fault.contains(word)), "{word}: {faults:?}");
    }

    #[test]
    fn a_generator_on_time_passes() {
        assert_eq!(faults(&run(|_| 0), Nanos::ZERO), Vec::<String>::new());
        assert_eq!(faults(&run(|i| i % 20), Nanos::from_micros(10)), Vec::<String>::new());
    }

    #[test]
    fn a_late_tail_fails_at_the_quantile_that_it_spoils() {
        let one_in = |n: u64| run(move |i| if i % n == 0 { 900 } else { 0 });
        faulty(&one_in(5), 0, "900 us of the latency's p90, 1.50 ms");
        faulty(&one_in(50), 0, "900 us of the latency's p99, 1.50 ms");
        faulty(&one_in(500), 0, "900 us of the latency's p99.9, 1.50 ms");
        assert_eq!(faults(&one_in(5_000), Nanos::ZERO), Vec::<String>::new());
    }

    #[test]
    fn lags_far_below_the_tail_do_not_spoil_it() {
        // One request in 500 is late by 900 us, and others are slow by 20 ms for the server's sake.
        let mut records = run(|i| if i % 500 == 0 { 900 } else { 0 });
        records.iter_mut().skip(7).step_by(40).for_each(|r| r.received += Nanos::from_millis(20));
        assert_eq!(faults(&records, Nanos::ZERO), Vec::<String>::new());
    }

    #[test]
    fn every_other_kind_of_lateness_has_a_fault_of_its_own() {
        faulty(&run(|i| if i % 10 == 0 { 300 } else { 0 }), 0, "within 250 us of their turn");
        faulty(&run(|i| i % 2 * 400), 0, "gaps between requests");
        faulty(&run(|_| 0), 70, "for its CPU");
        let mut stopped = run(|_| 0);
        stopped[19_999].ready = Nanos::NEVER;
        faulty(&stopped, 0, "1 of 20000 requests");
    }

    #[test]
    fn waiting_for_a_connection_is_the_servers_doing() {
        let mut held = run(|_| 0);
        for record in &mut held {
            let late = Nanos::from_millis(50);
            record.ready += late;
            record.sent += late;
            record.received += late;
        }
        assert_eq!(faults(&held, Nanos::ZERO), Vec::<String>::new());
    }
}
