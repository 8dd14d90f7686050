//! A request that is far longer than the others, and those behind it.

use explain::Class;
use report::explain::Explained;

use super::stalled;
use crate::server::{Cause, Server};

/// Requests at half of a server's capacity, of which one takes so long.
fn with_one(service: u64, stalls: &[(u64, Cause, u64)]) -> Server {
    let mut server = stalled(1_500, stalls);
    server.requests[400].1 = service;
    server
}

/// What is said of it.
fn text(server: &Server) -> String {
    let services = server.documents(&server.run());
    report::explained_table(&Explained { services, ..Explained::default() }, 1_000)
}

#[test]
fn a_long_request_is_named_where_the_load_waits_behind_it() {
    let server = with_one(100_000, &[]);
    let verdict = server.explained(&server.run()).verdict();
    let long = verdict.long.expect("it is there");
    assert_eq!((verdict.class, long.requests, long.longest), (Class::Load, 1, 400));
    // Of the slowest two it is one itself, and the other one waited 98 us for it and worked 1 us.
    let share = (100.0 + 98.0) / (100.0 + 99.0);
    assert!((long.share - share).abs() < 1e-9 && long.service.0 == 100_000, "{long:?}");
    let told = "99.5% of that time is request 400, of 100 us service time, and the wait behind it";
    assert!(text(&server).contains(told), "{}", text(&server));
}

#[test]
fn without_a_long_request_and_where_another_cause_has_most_none_is_named() {
    let stall = (2_000_500, Cause::Hog, 900_000);
    for control in [with_one(1_000, &[]), with_one(100_000, &[stall])] {
        assert_eq!(control.explained(&control.run()).verdict().long, None);
        assert!(!text(&control).contains("service time"), "{}", text(&control));
    }
}
