//! Every discipline against an oracle that does nothing clever: it looks at every worker in every nanosecond.

use model::Nanos;
use proptest::prelude::*;
use queue::{Discipline, ideal};

type Requests = Vec<(Nanos, Nanos)>;

/// Serves nanosecond by nanosecond; `pick` says which place of the waiting, oldest first, is next.
fn serve_step_by_step(requests: &Requests, workers: usize, pick: fn(usize) -> usize) -> Vec<Nanos> {
    let mut latencies = vec![Nanos::NEVER; requests.len()];
    let mut busy_until = vec![0; workers];
    let mut waiting: Vec<usize> = Vec::new();
    let mut coming = requests.iter().map(|(arrival, _)| arrival.0).enumerate().peekable();
    for now in 0.. {
        let mut start = |number: usize| {
            let Some(free) = busy_until.iter_mut().find(|until| **until <= now) else {
                return false;
            };
            *free = now + requests[number].1.0;
            latencies[number] = Nanos(*free - requests[number].0.0);
            true
        };
        while !waiting.is_empty() && start(waiting[pick(waiting.len())]) {
            waiting.remove(pick(waiting.len()));
        }
        while let Some((number, _)) = coming.next_if(|(_, arrival)| *arrival == now) {
            if !start(number) {
                waiting.push(number);
            }
        }
        if waiting.is_empty() && coming.peek().is_none() {
            break;
        }
    }
    latencies
}

/// Takes every request's share off its remaining work, event by event.
fn share_event_by_event(requests: &Requests, workers: usize) -> Vec<Nanos> {
    let mut latencies = vec![Nanos::NEVER; requests.len()];
    let mut present: Vec<(usize, f64)> = Vec::new();
    let (mut now, mut next) = (0.0, 0);
    while next < requests.len() || !present.is_empty() {
        let speed = (workers as f64 / present.len() as f64).min(1.0);
        let least = present.iter().map(|(_, left)| *left).fold(f64::INFINITY, f64::min);
        let arrival = requests.get(next).map_or(f64::INFINITY, |request| request.0.0 as f64);
        let step = (least / speed).min(arrival - now);
        now += step;
        present.iter_mut().for_each(|(_, left)| *left -= step * speed);
        present.retain(|(number, left)| {
            if *left < 1e-6 {
                latencies[*number] = Nanos((now - requests[*number].0.0 as f64).round() as u64);
            }
            *left >= 1e-6
        });
        if now == arrival {
            present.push((next, requests[next].1.0 as f64));
            next += 1;
        }
    }
    latencies
}

/// Few requests close together: waits, ties and idle spells all happen.
fn requests() -> impl Strategy<Value = Requests> {
    prop::collection::vec((0u64..90, 1u64..12), 1..40).prop_map(|mut pairs| {
        pairs.sort_by_key(|pair| pair.0);
        pairs.into_iter().map(|(at, service)| (Nanos(at), Nanos(service))).collect()
    })
}

proptest! {
    #[test]
    fn fifo_and_lifo_serve_as_the_oracle(requests in requests(), workers in 1u32..6) {
        let oracle = |pick| serve_step_by_step(&requests, workers as usize, pick);
        let fifo = ideal(&requests, workers, Discipline::Fifo, 0);
        prop_assert_eq!(&fifo, &oracle(|_| 0));
        prop_assert_eq!(ideal(&requests, workers, Discipline::Lifo, 0), oracle(|waiting| waiting - 1));
    }

    #[test]
    fn sharing_serves_as_the_oracle(requests in requests(), workers in 1u32..6) {
        let shared = ideal(&requests, workers, Discipline::ProcessorSharing, 0);
        for (fast, slow) in shared.iter().zip(share_event_by_event(&requests, workers as usize)) {
            prop_assert!(fast.0.abs_diff(slow.0) <= 1, "{} {}", fast, slow);
        }
    }

    #[test]
    fn in_turn_is_one_queue_for_every_nth_request(requests in requests(), workers in 1u32..6) {
        let split = ideal(&requests, workers, Discipline::RoundRobin, 0);
        for first in 0..workers as usize {
            let own = |i: &usize| i % workers as usize == first;
            let places: Vec<usize> = (0..requests.len()).filter(own).collect();
            let alone: Requests = places.iter().map(|i| requests[*i]).collect();
            let alone = ideal(&alone, 1, Discipline::Fifo, 0);
            prop_assert!(places.iter().zip(alone).all(|(i, latency)| split[*i] == latency));
        }
    }

    /// With equal services the order decides which request waits, not the sum of the waits.
    #[test]
    fn order_moves_waits_and_conserves_their_sum(requests in requests(), workers in 1u32..6, seed in 0u64..99) {
        let alike: Requests = requests.iter().map(|(at, _)| (*at, Nanos(7))).collect();
        let total = |discipline| -> u64 {
            ideal(&alike, workers, discipline, seed).iter().map(|latency| latency.0).sum()
        };
        let fifo = total(Discipline::Fifo);
        prop_assert_eq!(fifo, total(Discipline::Lifo));
        prop_assert_eq!(fifo, total(Discipline::RandomRequest));
        prop_assert!(fifo <= total(Discipline::RandomWorker), "control: split queues leave workers idle");
    }

    #[test]
    fn the_order_given_does_not_matter(requests in requests()) {
        let mut keyed: Vec<(usize, (Nanos, Nanos))> = requests.iter().copied().enumerate().collect();
        keyed.sort_by_key(|(number, (arrival, _))| (u64::MAX - arrival.0, *number));
        let reversed: Requests = keyed.iter().map(|(_, request)| *request).collect();
        let fifo = ideal(&requests, 2, Discipline::Fifo, 0);
        let again = ideal(&reversed, 2, Discipline::Fifo, 0);
        prop_assert!(keyed.iter().zip(again).all(|((number, _), latency)| fifo[*number] == latency));
    }
}

/// One worker is busy for 100 ns while four requests come: each of them must be next equally often.
#[test]
fn random_request_is_fair() {
    let mut requests = vec![(Nanos(0), Nanos(100))];
    requests.extend((1..=4).map(|at| (Nanos(at), Nanos(100))));
    let mut first = [0u32; 5];
    for seed in 0..8_000 {
        let latencies = ideal(&requests, 1, Discipline::RandomRequest, seed);
        let next = (1..5).find(|i| latencies[*i].0 + *i as u64 == 200).expect("one is next");
        first[next] += 1;
    }
    // Four standard deviations of a binomial with 8,000 trials of 1/4.
    assert!(first[1..].iter().all(|times| times.abs_diff(2_000) < 155), "{first:?}");
}

#[test]
fn random_worker_gives_each_worker_as_many() {
    // All at once, 1,000 ns each: the latency says how many are queued before it at its worker.
    let requests: Requests = vec![(Nanos(0), Nanos(1_000)); 4_000];
    let longest = |seed| ideal(&requests, 4, Discipline::RandomWorker, seed).into_iter().max();
    let queued = longest(1).unwrap().0 / 1_000;
    assert!((1_000..1_120).contains(&queued), "{queued}");
    assert_ne!(longest(1), longest(2));
}

#[test]
fn odd_traces_do_not_panic() {
    for discipline in Discipline::ALL {
        assert_eq!(ideal(&[], 4, discipline, 0), []);
        assert_eq!(ideal(&[(Nanos(5), Nanos(3))], 0, discipline, 0), [Nanos(3)]);
        let endless = [(Nanos(5), Nanos(3)), (Nanos(6), Nanos::NEVER)];
        assert_eq!(ideal(&endless, 2, discipline, 0), [Nanos::NEVER; 2]);
    }
}
