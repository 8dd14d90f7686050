//! Whether the generator kept its schedule. If not, the run fails: its own delay must never be reported as
//! the server's.
//!
//! A request's *lag* is how much later it was sent than it could be: later than its intended moment, or than
//! the arrival of the response that freed a connection for it. That a connection was not free is the server's
//! doing and no lag.

use model::Nanos;

use crate::record::Record;

/// Without the requests' lags, a quantile of the latency may be lower by so much of itself.
const LAG_SHARE: f64 = 0.05;
/// A delay up to this is none: reading clocks, a system call and the end of a sleep cost as much, and no
/// client sends faster.
const LEAST_DELAY: Nanos = Nanos::from_micros(5);
/// A quantile is judged when at least so many requests lie beyond it.
const SAMPLES_BEYOND: f64 = 5.0;
/// So large a share of the requests must be on time: what few late requests do to the queues of others then
/// stays small, too.
const ON_TIME_SHARE: f64 = 0.99;
/// Gaps between requests may differ by so much of the mean gap, on average.
const GAP_SHARE: f64 = 0.25;
/// A generator that works or waits for its CPU for more of the time has no moment left: it may be what the
/// requests wait for. The kernel gives a real-time thread 95% at most beside others (sched_rt_runtime_us, the
/// fair server), so the limit must be seen below that.
const BUSY_SHARE: f64 = 0.90;
/// The time that the generator waited for its CPU may be so much of the latency, both a request, on average.
const RUN_DELAY_SHARE: f64 = 0.10;

/// What the generator's threads used while they sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GeneratorUsage {
    /// CPU time of all threads over wall-clock time of all threads.
    pub cpu_share: f64,
    /// Their waits for a CPU over the same.
    pub wait_share: f64,
    /// Their wait for a CPU, as a mean over the requests.
    pub run_delay: Nanos,
}

impl GeneratorUsage {
    /// Whether the threads had no time left.
    pub fn is_at_limit(&self) -> bool {
        self.busy_share() > BUSY_SHARE
    }

    /// While it waits for a CPU it has as little time left as while it has one.
    fn busy_share(&self) -> f64 {
        self.cpu_share + self.wait_share
    }
}

/// How well the requests of one client were sent.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfCheck {
    /// Requests that were due.
    pub requests: usize,
    /// Requests whose moment the generator never came to.
    pub missed: usize,
    /// The lag that half of the requests, 99% and 99.9% of them do not exceed, and the greatest.
    pub lag: [Nanos; 4],
    /// p90, p99 and p99.9 as far as they are judged: (name, latency, latency without each request's lag).
    pub quantiles: Vec<(&'static str, Nanos, Nanos)>,
    /// The lag up to which a request is on time.
    pub bound: Nanos,
    /// The share of requests that were, of those that found a connection idle.
    pub on_time: f64,
    /// How much the gaps between requests differ from those that were due, on average, in mean gaps.
    pub gap_error: f64,
    /// The mean latency of the requests that were answered.
    pub mean_latency: Nanos,
    /// What the generator's threads used.
    pub own: GeneratorUsage,
}

/// What helps a generator that was late on these CPUs, as a message ends.
pub fn remedy(cpus: &str) -> String {
    let is_root = nix::unistd::geteuid().is_root();
    let sudo = if is_root { "" } else { ", run with sudo (it then has real-time priority)" };
    format!("Free CPU {cpus}, which it runs on, from other work{sudo}, or lower the rate")
}

impl SelfCheck {
    /// Of the measured requests of a client. A request is on time if it was sent within `bound` of its turn.
    pub fn new(records: &[Record], bound: Nanos, own: GeneratorUsage) -> SelfCheck {
        let lags = sorted(records.iter().filter_map(Record::lag));
        // One that had to wait for a connection is sent with others that had to, one after the other.
        let free = records.iter().filter(|record| record.ready == record.planned.intended);
        let free: Vec<Nanos> = free.filter_map(Record::lag).collect();
        let on_time = free.iter().filter(|lag| **lag <= bound).count() as f64 / free.len() as f64;
        let answered =
            records.iter().map(Record::latency).filter(|latency| *latency != Nanos::NEVER);
        let lag = |q| if lags.is_empty() { Nanos::ZERO } else { quantile(&lags, q) };
        SelfCheck {
            requests: records.len(),
            missed: records.iter().filter(|record| record.ready == Nanos::NEVER).count(),
            lag: [0.5, 0.99, 0.999, 1.0].map(lag),
            quantiles: with_and_without(records),
            bound,
            on_time: if free.is_empty() { 1.0 } else { on_time },
            gap_error: gap_error(records),
            mean_latency: Nanos(mean(answered.map(|latency| latency.0 as f64)) as u64),
            own,
        }
    }

    /// Whether what the generator's delays can have added is known: it came to every request.
    pub fn is_bounded(&self) -> bool {
        self.missed == 0
    }

    /// What is wrong, in numbers; empty: nothing.
    pub fn faults(&self) -> Vec<String> {
        if self.missed > 0 {
            return vec![format!(
                "it did not get round to {} of {} requests",
                self.missed, self.requests
            )];
        }
        let late = self.quantiles.iter().filter_map(late_quantile);
        let others = [self.off_schedule(), self.wrong_gaps(), self.waited(), self.busy()];
        late.chain(others.into_iter().flatten()).collect()
    }

    fn busy(&self) -> Option<String> {
        self.own.is_at_limit().then(|| {
            let (share, most) = (100.0 * self.own.busy_share(), 100.0 * BUSY_SHARE);
            format!("it is at its limit: it worked or waited for its CPU for {share:.1}% of the time (at most {most:.0}%)")
        })
    }

    fn off_schedule(&self) -> Option<String> {
        (self.on_time < ON_TIME_SHARE).then(|| {
            let (share, wanted) = (100.0 * self.on_time, 100.0 * ON_TIME_SHARE);
            let bound = self.bound;
            format!("{share:.1}% of requests were sent within {bound} of their turn (at least {wanted:.0}%)")
        })
    }

    fn wrong_gaps(&self) -> Option<String> {
        (self.gap_error > GAP_SHARE).then(|| {
            let (wrong, most) = (100.0 * self.gap_error, 100.0 * GAP_SHARE);
            format!("gaps between requests are off by {wrong:.0}% (at most {most:.0}%)")
        })
    }

    fn waited(&self) -> Option<String> {
        let (latency, delay) = (self.mean_latency, self.own.run_delay);
        let too_long = delay.0 as f64 > RUN_DELAY_SHARE * latency.0 as f64;
        (latency > Nanos::ZERO && too_long).then(|| {
            format!("it waited {delay} a request for its CPU, beside a mean latency of {latency}")
        })
    }
}

/// What the lags themselves add to the latency.
fn with_and_without(records: &[Record]) -> Vec<(&'static str, Nanos, Nanos)> {
    let with = sorted(records.iter().map(Record::latency));
    let without = sorted(records.iter().map(|record| match record.latency() {
        Nanos::NEVER => Nanos::NEVER,
        latency => latency.saturating_sub(record.lag().unwrap_or_default()),
    }));
    let enough = |q: &f64| records.len() as f64 * (1.0 - q) >= SAMPLES_BEYOND;
    let judged = [(0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
    let judged = judged.into_iter().filter(|(q, _)| enough(q));
    judged.map(|(q, name)| (name, quantile(&with, q), quantile(&without, q))).collect()
}

fn late_quantile(&(name, with, without): &(&'static str, Nanos, Nanos)) -> Option<String> {
    let own = with.saturating_sub(without);
    (own.0 as f64 > LAG_SHARE * with.0 as f64 && own > LEAST_DELAY).then(|| {
        let most = 100.0 * LAG_SHARE;
        format!("{own} of the latency's {name}, {with}, are its own delay (at most {most:.0}%)")
    })
}

fn gap_error(records: &[Record]) -> f64 {
    let sent = || records.iter().filter(|record| record.sent != Nanos::NEVER);
    let due = sorted(sent().map(|record| record.ready));
    let real = sorted(sent().map(|record| record.sent));
    let spans = |times: &[Nanos]| -> Vec<f64> {
        times.windows(2).map(|pair| (pair[1] - pair[0]).0 as f64).collect()
    };
    let (due, real) = (spans(&due), spans(&real));
    let wrong = mean(due.iter().zip(&real).map(|(due, real)| (due - real).abs()));
    wrong / mean(due.iter().copied()).max(1.0)
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
            let planned = Planned { intended, service: Nanos::from_micros(500), random: 0 };
            Record { ready: intended, sent, received, ..Record::new(planned) }
        };
        (0..20_000).map(record).collect()
    }

    fn faults(records: &[Record], run_delay: Nanos) -> Vec<String> {
        let own = GeneratorUsage { run_delay, ..GeneratorUsage::default() };
        SelfCheck::new(records, Nanos::from_micros(250), own).faults()
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
    fn a_late_tail_fails_at_its_quantile() {
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
        // When the server wakes up many are free to go at once, and go one after the other.
        held.iter_mut().step_by(10).for_each(|record| record.sent += Nanos::from_micros(300));
        assert_eq!(faults(&held, Nanos::ZERO), Vec::<String>::new());
    }

    #[test]
    fn what_a_system_call_costs_is_no_delay() {
        let fast = |lag_us: u64| {
            let mut records = run(|_| lag_us);
            for record in &mut records {
                record.received = record.sent + Nanos::from_micros(20);
            }
            faults(&records, Nanos::ZERO).len()
        };
        assert_eq!(fast(5), 0);
        assert!(fast(6) > 0);
    }

    #[test]
    fn a_generator_at_its_limit_says_so() {
        let faults = |cpu_share, wait_share| {
            let own = GeneratorUsage { cpu_share, wait_share, ..GeneratorUsage::default() };
            SelfCheck::new(&run(|_| 0), Nanos::from_micros(250), own).faults()
        };
        assert!(faults(0.97, 0.0)[0].contains("at its limit"));
        assert!(faults(0.85, 0.06)[0].contains("at its limit"));
        assert_eq!(faults(0.85, 0.05), Vec::<String>::new());
    }

    #[test]
    fn a_server_that_never_answers_is_not_the_generators_fault() {
        let mut unanswered = run(|_| 0);
        unanswered.iter_mut().for_each(|record| record.received = Nanos::NEVER);
        assert_eq!(faults(&unanswered, Nanos::from_micros(70)), Vec::<String>::new());
    }
}
