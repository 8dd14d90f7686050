//! Receivers that are absent, slow, full or something else.

use std::io::Write;
use std::net::TcpListener;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use prost::Message;
use recorder::{Deliveries, Endpoint, Pace, Sender, Signal};

use crate::receiver::{TestReceiver, free_port, status, until};
use crate::{QUICK, Said, lines, sender};

const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";

/// Waits until so many are sent.
fn sent(sender: &Sender, count: u64) {
    until(|| sender.counts().sent == count);
}

/// The line of this number, as soon as it is said.
fn line(said: &Said, at: usize) -> String {
    until(|| lines(said).len() > at);
    lines(said).swap_remove(at)
}

#[test]
fn headers_of_the_user_come_with_each_message_and_each_try() {
    let needs = |before| status(if before < 1 { 503 } else { 200 }, "", "");
    let receiver = TestReceiver::start(0, needs);
    let to = Endpoint::parse(&receiver.url()).expect("a URL");
    let lines = ["Authorization: Bearer abc", "X-Scope-OrgID: 7"].map(String::from);
    let to = to.with_headers(&lines).expect("headers");
    let sender = Sender::start(&to, Signal::Metrics, QUICK, Box::new(|_| {})).expect("a thread");
    sender.offer(b"one".to_vec());
    sent(&sender, 1);
    let came = receiver.came();
    assert_eq!(came.len(), 2);
    for one in came {
        let head = one.head.to_ascii_lowercase();
        assert!(head.contains("authorization: bearer abc"), "{head}");
        assert!(head.contains("x-scope-orgid: 7"), "{head}");
    }
}

#[test]
fn statuses_of_the_specification_are_tried_again_and_no_others() {
    for (code, tries) in [(429, 3), (502, 3), (503, 3), (504, 3), (400, 1), (404, 1), (500, 1)] {
        let answers = move |before| status(if before < 2 { code } else { 200 }, "", "no\n<p>");
        let receiver = TestReceiver::start(0, answers);
        let (sender, said) = sender(&receiver.url(), Signal::Traces, QUICK);
        sender.offer(b"one".to_vec());
        if tries > 1 {
            sent(&sender, 1);
            assert!(line(&said, 1).ends_with("it takes what is sent; 0 were dropped"));
        } else {
            until(|| sender.counts().refused == 1);
            assert!(line(&said, 0).contains(&format!("it answers {code}: no; ")), "{said:?}");
        }
        let came = receiver.came();
        assert_eq!(came.len(), tries, "{code}");
        assert!(came.iter().all(|one| one.body == b"one"), "the same each time");
    }
}

#[test]
fn tries_come_later_and_later_and_at_the_latest_after_the_longest() {
    let receiver = TestReceiver::start(0, |_| status(503, "", ""));
    let (sender, said) = sender(&receiver.url(), Signal::Traces, QUICK);
    sender.offer(b"one".to_vec());
    let came = receiver.wait(7);
    let gaps: Vec<Duration> = came.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    // Half of it at the least, and the last ones not longer than others may make them.
    assert!(gaps[0] >= QUICK.first / 2 && gaps[5] >= QUICK.longest / 2, "{gaps:?}");
    assert!(gaps[3..].iter().min() < Some(&(4 * QUICK.longest)), "{gaps:?}");
    assert_eq!(lines(&said).len(), 1, "once, and not at each try");
    drop(sender);
}

#[test]
fn the_receiver_says_when_it_wants_the_next_try() {
    let wait = |line: &'static str| {
        let answers = move |before| status(if before == 0 { 429 } else { 200 }, line, "");
        let receiver = TestReceiver::start(0, answers);
        let (sender, _) = sender(&receiver.url(), Signal::Traces, QUICK);
        sender.offer(b"one".to_vec());
        let came = receiver.wait(2);
        came[1].at - came[0].at
    };
    assert!(wait("Retry-After: 1\r\n") >= Duration::from_secs(1));
    assert!(wait("") < Duration::from_secs(1), "the control");
    assert!(wait("Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n") < Duration::from_secs(1));
    assert!(wait("Retry-After: soon\r\n") < Duration::from_secs(1));
}

#[test]
fn a_receiver_that_comes_later_or_again_gets_what_waited() {
    let port = free_port();
    let (sender, said) = sender(&format!("http://127.0.0.1:{port}"), Signal::Traces, QUICK);
    sender.offer(b"one".to_vec());
    sender.offer(b"two".to_vec());
    assert!(line(&said, 0).contains("refused"), "{said:?}");
    let receiver = TestReceiver::start(port, |before| {
        // It hangs up on the second without a word.
        if before == 1 { Some(String::new()) } else { status(200, "", "") }
    });
    sent(&sender, 2);
    let bodies: Vec<Vec<u8>> = receiver.came().into_iter().map(|one| one.body).collect();
    assert_eq!(bodies[0], b"one");
    assert_eq!(bodies.last().map(Vec::as_slice), Some(&b"two"[..]));
    assert_eq!(sender.counts(), Deliveries { offered: 2, sent: 2, ..Deliveries::default() });
}

#[test]
fn to_offer_never_waits_and_the_oldest_go_where_the_receiver_hangs() {
    let receiver = TestReceiver::start(0, |_| None);
    let patient = Pace { timeout: Duration::from_secs(20), ..QUICK };
    let (sender, _) = sender(&receiver.url(), Signal::Traces, patient);
    sender.offer(vec![0]);
    receiver.wait(1);
    let begin = Instant::now();
    for n in 1..=100 {
        sender.offer(vec![n; 10_000]);
    }
    // The thread that offers is the one that follows requests.
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    let counts = sender.counts();
    assert_eq!((counts.offered, counts.no_room, counts.sent), (101, 36, 0));
    let begin = Instant::now();
    sender.finish(Duration::from_millis(200));
    assert!(begin.elapsed() < Duration::from_secs(5), "its end waits for no receiver");
    assert_eq!(sender.counts().not_taken, 64);
}

#[test]
fn younger_metrics_take_the_place_of_those_that_wait() {
    let port = free_port();
    let (sender, said) = sender(&format!("http://127.0.0.1:{port}"), Signal::Metrics, QUICK);
    for n in 0..5 {
        sender.offer(vec![n]);
    }
    until(|| !lines(&said).is_empty());
    let receiver = TestReceiver::start(port, |_| status(200, "", ""));
    sent(&sender, 1);
    assert_eq!(receiver.came()[0].body, [4], "the youngest");
    assert_eq!(sender.counts().no_room, 4);
    assert!(line(&said, 1).ends_with("4 were dropped"), "{said:?}");
}

/// A receiver that takes a while for the first is well.
#[test]
fn metrics_that_gave_way_are_no_trouble_and_traces_are() {
    for (signal, is_said) in [(Signal::Metrics, false), (Signal::Traces, true)] {
        let receiver = TestReceiver::start(0, |before| {
            sleep(Duration::from_millis(if before == 0 { 300 } else { 0 }));
            status(200, "", "")
        });
        let patient = Pace { timeout: Duration::from_secs(20), ..QUICK };
        let (sender, said) = sender(&receiver.url(), signal, patient);
        sender.offer(vec![0]);
        receiver.wait(1);
        (1..=100).for_each(|n| sender.offer(vec![n]));
        let gone = sender.counts().no_room;
        assert!(gone >= 36, "{signal:?}: {gone}");
        sent(&sender, 101 - gone);
        assert_eq!(!lines(&said).is_empty(), is_said, "{signal:?}: {said:?}");
    }
}

#[test]
fn a_receiver_that_hangs_is_left_and_what_waits_too_long_is_given_up() {
    let answers = |before| if before < 2 { None } else { status(200, "", "") };
    let receiver = TestReceiver::start(0, answers);
    let hasty = Pace { timeout: Duration::from_millis(100), patience: Duration::ZERO, ..QUICK };
    let (sender, said) = sender(&receiver.url(), Signal::Traces, hasty);
    [b"a", b"b", b"c"].iter().for_each(|one| sender.offer(one.to_vec()));
    sent(&sender, 1);
    assert_eq!(sender.counts().not_taken, 2);
    assert_eq!(receiver.came()[2].body, b"c");
    assert!(line(&said, 0).contains("does not answer in time"), "{said:?}");
    assert!(line(&said, 1).ends_with("2 were dropped"), "{said:?}");
}

/// A byte now and then renews no deadline.
#[test]
fn an_answer_in_drops_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the sender");
        let mut answer = b"HTTP/1.1 200 said\r\n".iter().chain(b"a: b\r\n".iter().cycle());
        while stream.write_all(&[*answer.next().expect("no end")]).is_ok() {
            sleep(Duration::from_millis(20));
        }
    });
    let (sender, said) = sender(&url, Signal::Traces, QUICK);
    let begin = Instant::now();
    sender.offer(b"one".to_vec());
    assert!(line(&said, 0).contains("does not answer in time"), "{said:?}");
    assert!(begin.elapsed() < 20 * QUICK.timeout, "{:?}", begin.elapsed());
}

#[test]
fn what_is_no_receiver_hurts_nothing() {
    let long = "x".repeat(1 << 20);
    let moved = status(302, "Location: http://127.0.0.1:1/\r\n", "");
    let answers = [Some("garbage\r\n\r\n".to_string()), moved, status(400, "", &long)];
    for (at, answer) in answers.into_iter().enumerate() {
        let more = answer.clone();
        let receiver = TestReceiver::start(0, move |before| match before {
            0 => more.clone(),
            _ => status(200, "", ""),
        });
        let (sender, said) = sender(&receiver.url(), Signal::Traces, QUICK);
        sender.offer(b"one".to_vec());
        sender.offer(b"two".to_vec());
        // Garbage may be an accident on the way: it is tried again.
        sent(&sender, if at == 0 { 2 } else { 1 });
        assert!(lines(&said).iter().all(|line| line.len() < 300), "{said:?}");
    }
}

#[test]
fn a_part_that_is_rejected_is_told_and_not_sent_again() {
    #[derive(Clone, PartialEq, prost::Message)]
    struct Partial {
        #[prost(message, optional, tag = "1")]
        partial: Option<Rejected>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct Rejected {
        #[prost(int64, tag = "1")]
        rejected: i64,
        #[prost(string, tag = "2")]
        why: String,
    }
    for (rejected, told) in [(5, Some("it rejects a part: too old; ")), (0, None)] {
        let partial = Partial { partial: Some(Rejected { rejected, why: "too old".into() }) };
        let body = String::from_utf8(partial.encode_to_vec()).expect("small numbers");
        let receiver = TestReceiver::start(0, move |_| status(200, PROTOBUF, &body));
        let (sender, said) = sender(&receiver.url(), Signal::Metrics, QUICK);
        sender.offer(b"one".to_vec());
        until(|| sender.counts().sent + sender.counts().refused == 1);
        sleep(3 * QUICK.longest);
        assert_eq!(receiver.came().len(), 1);
        assert_eq!(sender.counts().refused, u64::from(rejected > 0));
        let told = told.map(|told| line(&said, 0).contains(told));
        assert!(told.unwrap_or(lines(&said).is_empty()), "{said:?}");
    }
    let receiver = TestReceiver::start(0, |_| status(200, PROTOBUF, "<html>"));
    let (sender, said) = sender(&receiver.url(), Signal::Metrics, QUICK);
    sender.offer(b"one".to_vec());
    until(|| sender.counts().refused == 1);
    assert!(line(&said, 0).contains("none of OTLP's"), "{said:?}");
}

#[test]
fn what_waits_at_the_end_is_sent() {
    let receiver = TestReceiver::start(0, |_| status(200, "", ""));
    let (sender, _) = sender(&receiver.url(), Signal::Traces, QUICK);
    (0..10).for_each(|n| sender.offer(vec![n]));
    sender.finish(Duration::from_secs(20));
    assert_eq!((sender.counts().sent, receiver.came().len()), (10, 10));
}
