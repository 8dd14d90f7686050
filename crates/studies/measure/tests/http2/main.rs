//! Measurements over HTTP/2 and of gRPC: several requests at a time over a connection, each answered or lost
//! for a reason, and counted once.

#[path = "../common/mod.rs"]
mod common;
mod server;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use generator::{Limits, Loss, Protocol};
use measure::protocol::http::HttpOptions;
use measure::{Measurement, Setup, Target, first_loss, measure};
use model::{Failure, Nanos, Silent};
use proptest::prelude::*;

use server::{Manner, Seen, Whim, serve};

const REQUESTS: usize = 100;
const PATIENT: Nanos = Nanos::from_secs(20);

fn setup(connections: u32, timeout: Nanos) -> Setup {
    common::setup(connections, Limits { timeout, requests_per_connection: None })
}

fn target(text: &str, address: SocketAddr, options: HttpOptions) -> Target {
    let target = Target::parse(&text.replace("HOST", &address.to_string()), None);
    target.expect("a target").with_http(options).expect("options of HTTP/2")
}

fn streams(streams: u32) -> HttpOptions {
    HttpOptions { streams: Some(streams), ..HttpOptions::default() }
}

fn measured(target: &Target, setup: &Setup) -> Measurement {
    measure(target, setup, &common::load(REQUESTS), None, None, &Silent).expect("a measurement")
}

/// A measurement over two connections, and what the server saw.
fn of(manner: &Manner, options: HttpOptions, timeout: Nanos) -> (Measurement, Arc<Seen>) {
    let (address, seen) = serve(manner);
    (measured(&target("h2c://HOST/a?b", address, options), &setup(2, timeout)), seen)
}

fn lost(measured: &Measurement, cause: &str) -> u64 {
    measured.losses.get(cause).copied().unwrap_or(0)
}

/// Asks until it is so, for five seconds at most.
fn wait_until(is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !is_so() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn assert_all_answered((measured, seen): &(Measurement, Arc<Seen>)) {
    assert_eq!(measured.losses.len() + measured.complaints.len(), 0, "{:?}", measured.losses);
    assert_eq!(measured.records.len() as u64, seen.requests.load(Relaxed));
    assert!(measured.records.len() >= REQUESTS - 1);
}

#[test]
fn requests_share_connections_as_many_as_were_wanted() {
    let slow = Manner { pause: Duration::from_millis(30), ..Manner::default() };
    let many = of(&slow, streams(8), PATIENT);
    assert_all_answered(&many);
    assert!((2..=8).contains(&many.1.most_at_a_time.load(Relaxed)));
    assert_eq!((many.1.connections.load(Relaxed), many.0.tally.opened), (2, 2));
    // The control.
    let one = of(&slow, streams(1), PATIENT);
    assert_all_answered(&one);
    assert_eq!(one.1.most_at_a_time.load(Relaxed), 1);
}

#[test]
fn no_more_are_sent_than_the_server_takes() {
    let pause = Duration::from_millis(30);
    let few = Manner { most_streams: Some(3), pause, ..Manner::default() };
    let both = of(&few, streams(20), PATIENT);
    assert_all_answered(&both);
    assert_eq!(both.1.most_at_a_time.load(Relaxed), 3);
}

#[test]
fn bodies_greater_than_any_window_go_both_ways() {
    let large = Manner { whim: |_| Whim::Body(3 << 20), ..Manner::default() };
    let body = Some(vec![b'y'; 200_000]);
    let both = of(&large, HttpOptions { body, ..streams(2) }, PATIENT);
    assert_all_answered(&both);
    assert_eq!(both.1.body_bytes.load(Relaxed), both.0.records.len() as u64 * 200_000);
}

#[test]
fn what_becomes_of_one_request_is_no_other_ones() {
    let whim = |number| match number % 10 {
        0 => Whim::Reset,
        1 => Whim::Silent,
        2 => Whim::Half,
        3 => Whim::Status(503),
        _ => Whim::Body(100),
    };
    let (measured, seen) =
        of(&Manner { whim, ..Manner::default() }, streams(30), Nanos::from_millis(900));
    let asked = seen.requests.load(Relaxed);
    assert_eq!(measured.records.len() as u64, asked);
    let wanted = |kind: u64| (0..asked).filter(|number| number % 10 == kind).count() as u64;
    let [reset, silent, half] = ["reset", "silent", "half"].map(|cause| lost(&measured, cause));
    assert_eq!((reset, silent, half), (wanted(0), wanted(1), wanted(2)), "{:?}", measured.losses);
    assert_eq!(measured.complaints.get("HTTP 503").copied(), Some(wanted(3)));
    assert_eq!(measured.tally.opened, 2, "its connection stays");
    // The server may read of the last one after the run's end.
    let told = || seen.cancelled.load(Relaxed);
    wait_until(|| told() >= silent + half);
    assert_eq!(told(), silent + half, "the server is told");
}

/// A server that cannot keep up, but answers each request long before its client gives up.
#[test]
fn what_is_in_flight_at_the_end_is_not_silent() {
    let timeout = Nanos::from_secs(2);
    let slow = Manner { pause: Duration::from_millis(100), ..Manner::default() };
    let (busy, _) = of(&slow, streams(1), timeout);
    let causes: Vec<&str> = busy.losses.keys().copied().collect();
    assert_eq!(causes, ["in flight", "unsent"], "{:?}", busy.losses);
    assert!(lost(&busy, "in flight") <= 2, "one a connection: {:?}", busy.losses);
    // The control: the same load on a server that answers nothing.
    let mute = Manner { whim: |_| Whim::Silent, ..Manner::default() };
    let (unheard, _) = of(&mute, streams(1), timeout);
    assert!(lost(&unheard, "silent") >= 2, "{:?}", unheard.losses);
    // A first request is given up with its run.
    let target = target("h2c://HOST/", serve(&mute).0, streams(1));
    let first = first_loss(&target, &setup(1, PATIENT), &Silent).expect("it is asked");
    assert_eq!(first, Some(Loss::Silent));
}

#[test]
fn answers_with_endless_headers_are_lost() {
    let long = Manner { whim: |_| Whim::Headers(90), ..Manner::default() };
    let (measured, _) = of(&long, streams(4), PATIENT);
    let losses: u64 = measured.losses.values().sum();
    assert_eq!(losses, measured.records.len() as u64, "{:?}", measured.losses);
    // The control.
    let short = Manner { whim: |_| Whim::Headers(20), ..Manner::default() };
    assert_all_answered(&of(&short, streams(4), PATIENT));
}

#[test]
fn a_connection_that_the_server_ends_is_opened_again_and_nothing_is_lost() {
    let ends = Manner { ends_after: Some(10), ..Manner::default() };
    let both = of(&ends, streams(4), PATIENT);
    assert_all_answered(&both);
    assert!(both.0.tally.opened >= 8, "{:?}", both.0.tally);
    // The control.
    assert_eq!(of(&Manner::default(), streams(4), PATIENT).0.tally.opened, 2);
}

#[test]
fn a_call_has_its_status_in_the_trailers() {
    let whim = |number| match number % 4 {
        0 => Whim::Call(Some("5")),
        1 => Whim::Call(None),
        2 => Whim::Status(404),
        _ => Whim::Call(Some("0")),
    };
    let (address, seen) = serve(&Manner { whim, ..Manner::default() });
    let options = HttpOptions { body: Some(b"abc".to_vec()), ..streams(2) };
    let calls = measured(&target("grpc://HOST/a.B/C", address, options), &setup(2, PATIENT));
    let asked = seen.requests.load(Relaxed);
    assert_eq!(calls.losses.len(), 0, "{:?}", calls.losses);
    assert_eq!(seen.body_bytes.load(Relaxed), asked * 8, "a message and its prefix");
    let count = |kind: u64| (0..asked).filter(|number| number % 4 == kind).count() as u64;
    let told: Vec<(&str, u64)> = calls.complaints.into_iter().collect();
    let wanted = [
        ("gRPC NOT_FOUND", count(0)),
        ("gRPC without HTTP 200", count(2)),
        ("gRPC without status", count(1)),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn what_is_no_request_of_http2_is_refused() {
    let parse = |text: &str| Target::parse(text, None);
    for no_method in ["grpc://127.0.0.1:1", "grpc://127.0.0.1:1/a", "grpc://127.0.0.1:1/a/b?c=1"] {
        assert!(parse(no_method).unwrap_err().to_string().contains("SERVICE/METHOD"));
    }
    let refused = |text: &str, options| {
        let refused = parse(text).expect(text).with_http(options);
        refused.expect_err(text).to_string()
    };
    let header = |text: &str| vec![text.parse().expect("a header")];
    let connection = HttpOptions { headers: header("Connection: close"), ..streams(1) };
    assert!(refused("h2c://127.0.0.1:1/", connection).contains("--header Connection"));
    let method = HttpOptions { method: Some("PUT".parse().expect("a method")), ..streams(1) };
    assert!(refused("grpc://127.0.0.1:1/a/b", method.clone()).contains("gRPC"));
    assert!(refused("http://127.0.0.1:1/", streams(2)).contains("HTTP/2"));
    // The control.
    assert!(parse("h2c://127.0.0.1:1/").expect("a target").with_http(method).is_ok());
}

#[test]
fn a_server_of_http1_is_told_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let target = target("h2c://HOST/", address, streams(1));
    let refused =
        measure(&target, &setup(1, PATIENT), &common::load(REQUESTS), None, None, &Silent);
    let Err(Failure::Run(why)) = refused else { panic!("it was measured") };
    assert!(why.contains("are protocol"), "{why}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_survives_any_bytes(words in prop::collection::vec(any::<u8>(), 0..200), cut: u8) {
        // The server's own first word, so that the rest is read as frames.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        for first in [&settings[..], &[]] {
            let protocol: Box<dyn Protocol> = target("h2c://HOST/", ([127, 0, 0, 1], 1).into(), streams(1)).protocol();
            let (_, mut session) = protocol.session().expect("a session");
            let (mut say, mut ends) = (Vec::new(), Vec::new());
            session.receive(&[], &mut say, &mut ends).expect("it begins");
            prop_assert!(say.starts_with(b"PRI * HTTP/2.0"));
            let (one, other) = words.split_at(usize::from(cut).min(words.len()));
            for part in [first, one, other] {
                if session.receive(part, &mut say, &mut ends).is_err() {
                    break;
                }
            }
            prop_assert!(ends.is_empty());
        }
    }
}
