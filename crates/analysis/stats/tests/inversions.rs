//! FIFO inversions against counting every pair.
#![forbid(unsafe_code)]

use model::Nanos;
use model::trace::Request;
use proptest::prelude::*;
use stats::inverted_pairs;

fn request(sent: Nanos, started: Nanos) -> Request {
    Request {
        intended: sent,
        sent,
        started,
        completed: started,
        received: started,
        service: Nanos(1),
    }
}

fn by_pairs(requests: &[Request]) -> u64 {
    let inverted = |a: &Request, b: &Request| {
        a.sent < b.sent && b.started < a.started && b.sent != Nanos::NEVER
    };
    requests.iter().map(|a| requests.iter().filter(|b| inverted(a, b)).count() as u64).sum()
}

/// A moment below 30, or never.
fn moment() -> impl Strategy<Value = Nanos> {
    prop_oneof![9 => (0u64..30).prop_map(Nanos), 1 => Just(Nanos::NEVER)]
}

proptest! {
    #[test]
    fn every_pair_is_counted_once(stamps in prop::collection::vec((moment(), moment()), 0..80)) {
        let requests: Vec<Request> = stamps.iter().map(|(sent, at)| request(*sent, *at)).collect();
        prop_assert_eq!(inverted_pairs(&requests, |r| r.started), by_pairs(&requests));
    }
}

#[test]
fn order_decides() {
    let served = |starts: [u64; 4]| {
        let requests: Vec<_> =
            (0..).zip(starts).map(|(i, s)| request(Nanos(i), Nanos(s))).collect();
        inverted_pairs(&requests, |r| r.started)
    };
    assert_eq!(served([1, 2, 3, 4]), 0, "first come, first served");
    assert_eq!(served([4, 3, 2, 1]), 6, "last come, first served");
    assert_eq!(served([5, 5, 5, 5]), 0, "at one moment none is first");
}

#[test]
fn a_request_that_was_never_served_comes_last() {
    let lost_first = [request(Nanos(0), Nanos::NEVER), request(Nanos(1), Nanos(2))];
    let lost_last = [request(Nanos(0), Nanos(2)), request(Nanos(1), Nanos::NEVER)];
    assert_eq!(inverted_pairs(&lost_first, |r| r.started), 1);
    assert_eq!(inverted_pairs(&lost_last, |r| r.started), 0);
}
