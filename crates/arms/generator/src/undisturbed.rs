//! The latencies that a generator which is never late could have seen at least.
//!
//! A late request does not only wait for the generator itself. It also meets the requests behind it at the
//! server. In a first come, first served queue of any number of servers, arrivals that are late by `x` at
//! most make departures late by `x` at most, while the queue does not run empty. So no request of a busy
//! period is slower by more than the longest lag in it. A request that waited for a connection adds its own
//! lag to those that it waited for.

use model::Nanos;

use crate::record::Record;

/// For each request a latency that it has at least without the generator's delays: [`Nanos::NEVER`] for a
/// lost one.
pub fn undisturbed(records: &[Record]) -> Vec<Nanos> {
    let mut order: Vec<usize> =
        (0..records.len()).filter(|&at| records[at].sent != Nanos::NEVER).collect();
    order.sort_by_key(|&at| records[at].sent);
    let sent: Vec<Nanos> = order.iter().map(|&at| records[at].sent).collect();
    let (delays, begins) = delays(records, &order, &sent);
    let trips = records.iter().filter(|record| record.received != Nanos::NEVER);
    let fastest = trips.map(|one| one.received.saturating_sub(one.sent)).min().unwrap_or_default();
    let mut least: Vec<Nanos> = records.iter().map(Record::latency).collect();
    for (place, &at) in order.iter().enumerate() {
        let record = &records[at];
        if record.received == Nanos::NEVER {
            continue;
        }
        let last = sent.partition_point(|sent| *sent <= record.received) - 1;
        // Of the same busy period: what was sent before it was answered.
        let last = begins[place + 1..=last.max(place)]
            .iter()
            .position(|begins| *begins)
            .map_or(last.max(place), |ends| place + ends);
        least[at] = record.latency().saturating_sub(delays[last]).max(fastest.min(least[at]));
    }
    least
}

/// In the order of sending: the greatest delay up to a request in its busy period, and whether it begins one.
fn delays(records: &[Record], order: &[usize], sent: &[Nanos]) -> (Vec<Nanos>, Vec<bool>) {
    let (mut delays, mut begins): (Vec<Nanos>, Vec<bool>) = (Vec::new(), Vec::new());
    let mut busy_until = Nanos::ZERO;
    let mut begin = 0;
    for (place, &at) in order.iter().enumerate() {
        let record = &records[at];
        let held = record.ready > record.planned.intended;
        let starts = place == 0 || (record.sent > busy_until && !held);
        if starts {
            begin = place;
        }
        let before = if held {
            let earlier = sent.partition_point(|sent| *sent <= record.ready);
            delays.get(earlier.saturating_sub(1)).filter(|_| earlier > begin).copied()
        } else {
            None
        };
        let own = before.unwrap_or_default() + record.lag().unwrap_or_default();
        let known = if starts { Nanos::ZERO } else { delays[place - 1] };
        delays.push(known.max(own));
        begins.push(starts);
        busy_until = busy_until.max(record.received);
    }
    (delays, begins)
}

#[cfg(test)]
mod tests {
    use model::seed::derive;
    use model::workload::Planned;

    use super::*;

    /// A server of one worker that takes requests of 600 us, and a generator that sends when it is told:
    /// (intended, sent), in us.
    fn served(moments: &[(u64, u64)]) -> Vec<Record> {
        let mut free = 0;
        let mut record = |&(intended, sent): &(u64, u64)| {
            let planned =
                Planned { intended: Nanos::from_micros(intended), service: Nanos(0), random: 0 };
            free = free.max(sent) + 600;
            let (sent, received) = (Nanos::from_micros(sent), Nanos::from_micros(free));
            Record { ready: planned.intended, sent, received, ..Record::new(planned) }
        };
        moments.iter().map(&mut record).collect()
    }

    #[test]
    fn what_was_sent_in_time_keeps_its_latency() {
        let records = served(&[(0, 0), (1_000, 1_000), (1_200, 1_200)]);
        let latencies: Vec<Nanos> = records.iter().map(Record::latency).collect();
        assert_eq!(undisturbed(&records), latencies);
    }

    #[test]
    fn a_request_behind_a_late_one_is_not_taken_for_slow() {
        // The first is late by 900 us; the second, in time, waits for it. The third comes after the queue
        // ran empty.
        let records = served(&[(0, 900), (1_000, 1_000), (9_000, 9_000)]);
        let least: Vec<u64> = undisturbed(&records).iter().map(|at| at.0 / 1_000).collect();
        assert_eq!(least, [600, 600, 600]);
        assert_eq!(records[1].latency(), Nanos::from_micros(1_100), "it did wait");
    }

    /// Random arrivals and lags: the truth, which a generator in time would have seen, lies between.
    #[test]
    fn the_truth_is_between_what_is_least_and_what_was_measured() {
        let mut narrower = 0;
        for seed in 0..200 {
            let draw = |what: u64, at: u64, below: u64| derive(seed, &[what, at]) % below;
            let mut now = 0;
            let intended: Vec<u64> = (0..300)
                .map(|at| {
                    now += draw(0, at, 1_600);
                    now
                })
                .collect();
            let mut last = 0;
            let late = intended.iter().zip(0..).map(|(&intended, at)| {
                let lag = if draw(1, at, 10) == 0 { draw(2, at, 3_000) } else { 0 };
                last = last.max(intended + lag);
                (intended, last)
            });
            let seen = served(&late.collect::<Vec<_>>());
            let truth = served(&intended.iter().map(|&at| (at, at)).collect::<Vec<_>>());
            let least = undisturbed(&seen);
            for ((seen, truth), least) in seen.iter().zip(&truth).zip(&least) {
                assert!(*least <= truth.latency(), "seed {seed}");
                assert!(truth.latency() <= seen.latency(), "seed {seed}");
                narrower += u32::from(*least + Nanos(1) > seen.latency());
            }
        }
        assert!(narrower > 1_000, "where nothing was late nothing is taken off: {narrower}");
    }

    #[test]
    fn one_that_was_held_inherits_from_those_that_it_waited_for() {
        // One connection: each is held until the one before is answered, and each is sent 100 us late.
        let record = |at: u64| {
            let planned = Planned { intended: Nanos::ZERO, service: Nanos(0), random: 0 };
            let us = Nanos::from_micros;
            let (ready, sent) = (us(700 * at), us(700 * at + 100));
            Record { ready, sent, received: us(700 * (at + 1)), ..Record::new(planned) }
        };
        let records: Vec<Record> = (0..5).map(record).collect();
        let least: Vec<u64> = undisturbed(&records).iter().map(|at| at.0 / 1_000).collect();
        assert_eq!(least, [600, 1_200, 1_800, 2_400, 3_000]);
    }

    #[test]
    fn a_lost_request_stays_lost() {
        let mut records = served(&[(0, 900), (1_000, 1_000)]);
        records[1].received = Nanos::NEVER;
        assert_eq!(undisturbed(&records)[1], Nanos::NEVER);
    }
}
