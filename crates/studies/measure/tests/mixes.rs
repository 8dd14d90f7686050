//! Mixes of requests: each kind as often as its weight says, and told apart again by the answer's reader.

use std::collections::BTreeMap;

use generator::{Ask, Protocol, ReceivedBytes, Verdict};
use measure::Target;
use model::Nanos;
use model::workload::Planned;

fn bodies(file: &str) -> Result<Vec<u8>, String> {
    if file == "b.json" { Ok(b"{}".to_vec()) } else { Err(format!("@{file}: No such file")) }
}

fn mixed(target: &str, text: &str) -> Result<Target, String> {
    let template = target.starts_with("tcp").then_some(("", "until:\n"));
    let target = Target::parse(target, template).expect(target);
    target.with_mix("m.txt", text, &bodies).map_err(|failure| failure.to_string())
}

fn ask(id: u64) -> Ask {
    let random = (id as u32).wrapping_mul(0x9e37_79b9);
    Ask { id, planned: Planned { intended: Nanos::ZERO, service: Nanos(1), random } }
}

fn asked(protocol: &mut dyn Protocol, id: u64) -> String {
    let mut out = Vec::new();
    protocol.encode(&ask(id), &mut out);
    String::from_utf8(out).expect("UTF-8")
}

/// How often each begins so many requests.
fn counts(protocol: &mut dyn Protocol, requests: u64, letters: usize) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for id in 0..requests {
        let begin: String = asked(protocol, id).chars().take(letters).collect();
        *counts.entry(begin).or_default() += 1;
    }
    counts
}

#[test]
fn kinds_are_as_frequent_as_their_weights_and_the_same_again() {
    let text = "# a mix\n6 GET /a\n\n3  HEAD /b\n1 POST /c?d=1 @b.json\n";
    let target = mixed("http://127.0.0.1:1", text).expect("a mix").at_port(2);
    let mut protocol = target.protocol();
    let found = counts(&mut *protocol, 10_000, 7);
    for (begin, share) in [("GET /a ", 6_000), ("HEAD /b", 3_000), ("POST /c", 1_000)] {
        assert!(found[begin].abs_diff(share) < 200, "{found:?}");
    }
    assert_eq!(counts(&mut *target.protocol(), 10_000, 7), found, "the same again");
    let post = (0..1_000).map(|id| asked(&mut *protocol, id)).find(|text| text.starts_with('P'));
    let post = post.expect("one is drawn");
    assert!(post.starts_with("POST /c?d=1 HTTP/1.1\r\nHost: 127.0.0.1:2\r\n"), "{post}");
    assert!(post.ends_with("Content-Length: 2\r\n\r\n{}"), "{post}");
    // What its answer is, each request's own kind says.
    for id in 0..1_000 {
        let is_head = asked(&mut *protocol, id).starts_with("HEAD");
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let received = ReceivedBytes { bytes, datagrams: &[], ended: false };
        let verdict = protocol.decode(&ask(id), &received);
        assert_eq!(matches!(verdict, Verdict::Whole(_)), is_head, "{id}");
    }
}

#[test]
fn templates_and_queries_are_mixed_too() {
    let mut lines =
        mixed("tcp://127.0.0.1:1", "1 a{random:9}\\n\n1 b{id}\\n").expect("a mix").protocol();
    let found = counts(&mut *lines, 1_000, 1);
    assert!(found["a"].abs_diff(500) < 80 && found["b"] == 1_000 - found["a"], "{found:?}");
    // A number that is drawn does not hang on the kind that was drawn.
    let mut found = counts(&mut *lines, 9_000, 2);
    found.retain(|begin, _| begin.starts_with('a'));
    assert!(found.values().all(|count| count.abs_diff(500) < 120), "{found:?}");
    let queries = mixed("postgresql://me@127.0.0.1", "1 SELECT {id}").expect("a mix").protocol();
    assert!(queries.greeting().is_some());
    // The control: without a mix there is one kind.
    let mut alone = Target::parse("http://127.0.0.1:1", None).expect("a target").protocol();
    assert_eq!(counts(&mut *alone, 100, 5).len(), 1);
}

#[test]
fn mistakes_name_their_line() {
    let web = "http://127.0.0.1:1";
    for (target, text, why) in [
        (web, "# none\n", "it has no request"),
        (web, "\nGET /a", "m.txt: line 2: a weight"),
        (web, "0 GET /a", "a weight from 1"),
        (web, "1 GET a", "line 1: expected WEIGHT METHOD /PATH"),
        (web, "1 GET", "expected WEIGHT METHOD /PATH"),
        (web, "1 CONNECT /a", "expected WEIGHT METHOD /PATH"),
        (web, "1 GET /a\n1 POST /b @none", "line 2: @none: No such file"),
        ("http://127.0.0.1:1/a", "1 GET /a", "leave the target's out"),
        ("tcp://127.0.0.1:1", "1 {what}", "line 1: expected bytes"),
        ("postgresql://me@127.0.0.1", "1", "line 1: expected bytes"),
        ("redis://127.0.0.1", "1 GET a", "is for http://"),
    ] {
        let said = mixed(target, text).expect_err(text);
        assert!(said.contains(why), "{text}: {said}");
    }
}
