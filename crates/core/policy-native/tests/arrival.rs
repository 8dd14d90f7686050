//! Threads stand by when their requests came (`policy/order/arrival.h`), on a toy platform.

mod toy;

use toy::{Bench, THREAD, Thread};

const MS: u64 = 1_000_000;

#[test]
fn of_siblings_the_one_goes_first_whose_request_came_first() {
    let is_first = |policy: &str, processes: [u32; 2]| {
        let mut bench = Bench::new(policy, 1);
        bench.policy.init_group(&mut bench.toy, 1, 0, 100);
        let [late, early] =
            processes.map(|process| bench.thread_like(Thread { process, group: 1, ..THREAD }));
        bench.toy.requests = [(late, bench.toy.now), (early, bench.toy.now - 1)].into();
        bench.wake(late);
        bench.toy.now += MS;
        bench.wake(early);
        bench.dispatch(0, None) == Some(early)
    };
    assert!(is_first("cts:order=arrival", [0, 0]));
    assert!(!is_first("cts", [0, 0]));
    assert!(is_first("cts:pick=group:order=arrival", [0, 1]));
    assert!(!is_first("cts:pick=group", [0, 1]));
}

/// Of two siblings the first has run for a slice. Whether it goes on that has read a request of the moment
/// `read` since, where the other's came at 2.
fn goes_on(policy: &str, read: u64) -> bool {
    let mut bench = Bench::new(policy, 1);
    let [first, other] = [0, 0].map(|process| bench.thread(process, 0));
    let moment = |number| bench.toy.now - 100 + number;
    let moments = [moment(1), moment(2), moment(read)];
    bench.toy.requests = [(first, moments[0]), (other, moments[1])].into();
    bench.wake(first);
    bench.wake(other);
    assert_eq!(bench.dispatch(0, None), Some(first));
    bench.toy.requests.insert(first, moments[2]);
    bench.pass(first, 4 * MS);
    bench.dispatch(0, Some(first)) == Some(first)
}

#[test]
fn a_thread_that_reads_a_later_request_goes_behind_earlier_ones() {
    assert!(goes_on("cts:order=arrival", 1));
    assert!(!goes_on("cts:order=arrival", 3));
    assert!(goes_on("cts", 3));
}
