//! Every protocol, with responses cut at every byte.

use generator::{Ask, Protocol, ReceivedBytes, Verdict};
use measure::Target;
use measure::protocol::http::{HttpOptions, Method};
use model::Nanos;
use model::workload::Planned;
use proptest::prelude::*;

fn ask(id: u64, random: u32) -> Ask {
    Ask { id, planned: Planned { intended: Nanos::ZERO, service: Nanos(1), random } }
}

fn protocol(target: &str) -> Box<dyn Protocol> {
    Target::parse(target, None).expect(target).protocol()
}

fn templated(request: &str, end: &str) -> Box<dyn Protocol> {
    let scheme = if end == "datagram" { "udp" } else { "tcp" };
    let target = format!("{scheme}://127.0.0.1:1");
    Target::parse(&target, Some((request, end))).expect(end).protocol()
}

fn encoded(protocol: &mut dyn Protocol, ask: &Ask) -> Vec<u8> {
    let mut out = Vec::new();
    protocol.encode(ask, &mut out);
    out
}

fn judge(protocol: &mut dyn Protocol, ask: &Ask, bytes: &[u8], ended: bool) -> Verdict {
    protocol.decode(ask, &ReceivedBytes { bytes, datagrams: &[], ended })
}

/// The whole response is one; every shorter one wants more, never more than there is; a longer one is
/// garbage. What was wrong with it.
fn whole(protocol: &mut dyn Protocol, ask: &Ask, response: &[u8]) -> Option<&'static str> {
    for cut in 0..response.len() {
        match judge(protocol, ask, &response[..cut], false) {
            Verdict::More(total) => {
                assert!(cut < total && total <= response.len(), "{cut} {total}")
            }
            other => panic!("{other:?} after {cut} of {} bytes", response.len()),
        }
    }
    let longer = [response, b"x"].concat();
    assert_eq!(judge(protocol, ask, &longer, false), Verdict::Garbage);
    match judge(protocol, ask, response, false) {
        Verdict::Whole(answer) => answer.complaint,
        other => panic!("{other:?}"),
    }
}

/// A request that reads, and one that writes.
const READ: &str = "reads=1";
const WRITE: &str = "reads=0";

#[test]
fn memcached_in_ascii() {
    let mut read = protocol(&format!("memcached://127.0.0.1?key_bytes=8&{READ}"));
    let request = encoded(&mut *read, &ask(7, 0));
    assert!(request.starts_with(b"get k") && request.ends_with(b"\r\n") && request.len() == 14);
    let value = b"VALUE kkkkkkk7 0 5\r\nEND\r\n\r\nEND\r\n";
    assert_eq!(whole(&mut *read, &ask(7, 0), value), None);
    assert_eq!(whole(&mut *read, &ask(7, 0), b"END\r\n"), Some("miss"));
    let mut write = protocol(&format!("memcached://127.0.0.1?value_bytes=3&{WRITE}"));
    assert!(encoded(&mut *write, &ask(7, 0)).ends_with(b" 0 0 3\r\nvvv\r\n"));
    assert_eq!(whole(&mut *write, &ask(7, 0), b"STORED\r\n"), None);
    assert_eq!(
        whole(&mut *write, &ask(7, 0), b"SERVER_ERROR out of memory\r\n"),
        Some("server error")
    );
    for wrong in ["STORED\r\n", "VALUE k 0 -1\r\n", "VALUE k 0 x\r\n", "hello\r\n"] {
        assert_eq!(
            judge(&mut *read, &ask(7, 0), wrong.as_bytes(), false),
            Verdict::Garbage,
            "{wrong}"
        );
    }
}

#[test]
fn memcached_in_binary() {
    let mut read = protocol(&format!("memcached+binary://127.0.0.1?{READ}"));
    let request = encoded(&mut *read, &ask(7, 0));
    assert_eq!((request.len(), request[0], request[1], request[3]), (24 + 64, 0x80, 0, 64));
    let response = |opaque: u8, status: u8, body: &[u8]| {
        let mut head = [0u8; 24];
        (head[0], head[7], head[11], head[15]) = (0x81, status, body.len() as u8, opaque);
        [&head, body].concat()
    };
    assert_eq!(whole(&mut *read, &ask(7, 0), &response(7, 0, b"\0\0\0\0value")), None);
    assert_eq!(whole(&mut *read, &ask(7, 0), &response(7, 1, b"Not found")), Some("miss"));
    let other = response(8, 0, b"");
    assert_eq!(
        judge(&mut *read, &ask(7, 0), &other, false),
        Verdict::Garbage,
        "of another request"
    );
}

#[test]
fn memcached_in_datagrams() {
    let mut read = protocol(&format!("memcached+udp://127.0.0.1?{READ}"));
    let part = |id: u8, number: u8, of: u8, text: &str| {
        [&[0, id, 0, number, 0, of, 0, 0], text.as_bytes()].concat()
    };
    let mut judged = |parts: &[Vec<u8>]| {
        let bytes = parts.concat();
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.len();
            Some(*end)
        });
        let datagrams: Vec<usize> = ends.collect();
        read.decode(
            &ask(7, 0),
            &ReceivedBytes { bytes: &bytes, datagrams: &datagrams, ended: false },
        )
    };
    let (first, second) = (part(7, 0, 2, "VALUE k 0 2\r\nv"), part(7, 1, 2, "v\r\nEND\r\n"));
    assert!(matches!(judged(&[first.clone(), second.clone()]), Verdict::Whole(_)));
    assert!(matches!(judged(&[second, first.clone()]), Verdict::Whole(_)), "in any order");
    assert!(matches!(judged(std::slice::from_ref(&first)), Verdict::More(_)));
    for wrong in [
        vec![first.clone(), first.clone()],
        vec![part(8, 0, 1, "END\r\n")],
        vec![part(7, 1, 1, "END\r\n")],
        vec![part(7, 0, 1, "VALUE k 0 2\r\nv")],
        vec![vec![0, 7, 0]],
    ] {
        assert_eq!(judged(&wrong), Verdict::Garbage, "{wrong:?}");
    }
}

#[test]
fn redis() {
    let mut read = protocol(&format!("redis://127.0.0.1?key_bytes=3&keys=1&{READ}"));
    assert_eq!(encoded(&mut *read, &ask(0, 0)), b"*2\r\n$3\r\nGET\r\n$3\r\nkk0\r\n");
    assert_eq!(whole(&mut *read, &ask(0, 0), b"$4\r\n\r\n\r\n\r\n"), None);
    assert_eq!(whole(&mut *read, &ask(0, 0), b"$-1\r\n"), Some("miss"));
    assert_eq!(whole(&mut *read, &ask(0, 0), b"-ERR no\r\n"), Some("error"));
    assert_eq!(whole(&mut *read, &ask(0, 0), b"*2\r\n:1\r\n$1\r\nx\r\n"), None);
    let mut write = protocol(&format!("redis://127.0.0.1?value_bytes=2&{WRITE}"));
    assert!(encoded(&mut *write, &ask(0, 0)).ends_with(b"$2\r\nvv\r\n"));
    assert_eq!(whole(&mut *write, &ask(0, 0), b"+OK\r\n"), None);
    for wrong in [
        "$-2\r\n",
        "HTTP/1.1 200 OK\r\n",
        "\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
    ] {
        assert_eq!(
            judge(&mut *read, &ask(0, 0), wrong.as_bytes(), false),
            Verdict::Garbage,
            "{wrong}"
        );
    }
}

#[test]
fn redis_in_pipelines() {
    let mut pipeline =
        protocol("redis://127.0.0.1?key_bytes=3&keys=9&reads=0.5&pipeline=4&value_bytes=1");
    let mut alone = protocol("redis://127.0.0.1?key_bytes=3&keys=9&reads=0.5&value_bytes=1");
    for random in 0..50 {
        let request = encoded(&mut *pipeline, &ask(7, random));
        assert_eq!(request.iter().filter(|byte| **byte == b'*').count(), 4);
        assert!(request.starts_with(&encoded(&mut *alone, &ask(7, random))));
        assert_eq!(request, encoded(&mut *pipeline, &ask(7, random)), "the same at any time");
    }
    let replies = b"+OK\r\n$-1\r\n$1\r\nv\r\n-OOM command not allowed\r\n";
    assert_eq!(whole(&mut *pipeline, &ask(7, 0), replies), Some("miss"));
    assert_eq!(whole(&mut *alone, &ask(7, 0), b"-OOM command not allowed\r\n"), Some("error OOM"));
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(4 + body.len() as u32).to_be_bytes()[..], body].concat()
}

#[test]
fn postgresql() {
    let mut query = protocol("postgresql://me@127.0.0.1?query=SELECT {random:1}%26{id}");
    assert_eq!(encoded(&mut *query, &ask(7, 0)), message(b'Q', b"SELECT 0&7\0"));
    let mut usual = protocol("postgresql://me@127.0.0.1");
    assert_eq!(encoded(&mut *usual, &ask(0, 0)), message(b'Q', b"SELECT 1\0"));
    let ready = message(b'Z', b"I");
    let rows =
        [message(b'T', b"\0\0"), message(b'D', b"\0\0"), message(b'C', b"SELECT 1\0")].concat();
    let good = [&rows[..], &message(b'N', b"SNOTICE\0\0"), &ready].concat();
    assert_eq!(whole(&mut *usual, &ask(0, 0), &good), None);
    let error = |code: &str| message(b'E', format!("SERROR\0C{code}\0Mno\0\0").as_bytes());
    for (code, shown) in [
        ("40P01", "SQLSTATE 40P01"),
        ("40003", "SQLSTATE 40xxx"),
        ("22012", "SQLSTATE 22xxx"),
        ("99999", "error"),
        ("", "error"),
    ] {
        let bad = [error(code), error("XX000"), ready.clone()].concat();
        assert_eq!(whole(&mut *usual, &ask(0, 0), &bad), Some(shown), "the first error tells");
    }
    for garbage in [&b"HTTP/1.1 400"[..], b"D\0\0\0\x03", b"G\0\0\0\x05\0", b"Z\0\0\0\x06II"] {
        assert_eq!(judge(&mut *usual, &ask(0, 0), garbage, false), Verdict::Garbage);
    }
}

#[test]
fn http() {
    let mut http = protocol("http://127.0.0.1:8080/a?b=c");
    let request = encoded(&mut *http, &ask(0, 0));
    assert!(request.starts_with(b"GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"));
    let over_unix = encoded(&mut *protocol("http+unix:///run/x.sock:/a?b=c"), &ask(0, 0));
    assert!(over_unix.starts_with(b"GET /a?b=c HTTP/1.1\r\nHost: localhost\r\n"));
    let mut read = |response: &str| whole(&mut *http, &ask(0, 0), response.as_bytes());
    assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\r\n\r\nx"), None);
    assert_eq!(read("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"), Some("HTTP 404"));
    assert_eq!(read("HTTP/1.1 304 Not Modified\r\n\r\n"), Some("HTTP 3xx"));
    assert_eq!(
        read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
        None
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nab\r\n\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
    assert_eq!(read(chunked), None);
    for wrong in [
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz",
    ] {
        assert_eq!(
            judge(&mut *http, &ask(0, 0), wrong.as_bytes(), false),
            Verdict::Garbage,
            "{wrong}"
        );
    }
}

fn http_with(options: HttpOptions) -> Box<dyn Protocol> {
    let target = Target::parse("http://127.0.0.1:8080/a", None).expect("a target");
    target.with_http(options).expect("it is a web server").protocol()
}

#[test]
fn http_with_a_method_headers_and_a_body() {
    let text = |options| String::from_utf8(encoded(&mut *http_with(options), &ask(0, 0))).unwrap();
    let usual = HttpOptions::default;
    let headers = ["X-A: 1", "host: b", "X-A: 2"].map(|header| header.parse().unwrap()).to_vec();
    let posted = text(HttpOptions { headers, body: Some(b"a=b".to_vec()), ..usual() });
    assert_eq!(
        posted,
        "POST /a HTTP/1.1\r\nUser-Agent: rearguard\r\nAccept: */*\r\nX-A: 1\r\nhost: b\r\nX-A: 2\r\n\
         Content-Length: 3\r\n\r\na=b"
    );
    let put = text(HttpOptions { method: Some("PUT".parse().unwrap()), ..usual() });
    assert!(put.starts_with("PUT /a ") && put.ends_with("Content-Length: 0\r\n\r\n"), "{put}");
    // The control: without options it is as it always was.
    let plain =
        "GET /a HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: rearguard\r\nAccept: */*\r\n\r\n";
    assert_eq!(text(usual()), plain);
    assert!("CONNECT".parse::<Method>().is_err() && "A B".parse::<Method>().is_err());
}

#[test]
fn an_answer_to_head_ends_with_its_head() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let mut head =
        http_with(HttpOptions { method: Some("HEAD".parse().unwrap()), ..HttpOptions::default() });
    assert_eq!(whole(&mut *head, &ask(0, 0), answer), None);
    // The control.
    let mut get = http_with(HttpOptions::default());
    assert!(matches!(judge(&mut *get, &ask(0, 0), answer, false), Verdict::More(_)));
}

#[test]
fn a_status_that_is_wanted_is_no_complaint() {
    let mut created =
        http_with(HttpOptions { expected: Some("201,3xx".parse().unwrap()), ..Default::default() });
    let mut read = |status| {
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        whole(&mut *created, &ask(0, 0), response.as_bytes())
    };
    assert_eq!([201, 302].map(&mut read), [None, None]);
    let complaints = [200, 404, 500].map(read);
    assert_eq!(complaints, [Some("HTTP 2xx"), Some("HTTP 404"), Some("HTTP 5xx")]);
}

#[test]
fn http_until_the_connection_ends() {
    let mut http = protocol("http://127.0.0.1:8080");
    let response = b"HTTP/1.0 200 OK\r\n\r\nas long as it lasts";
    assert!(matches!(judge(&mut *http, &ask(0, 0), response, false), Verdict::More(_)));
    assert!(matches!(judge(&mut *http, &ask(0, 0), response, true), Verdict::Whole(a) if a.last));
    let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
    assert!(matches!(judge(&mut *http, &ask(0, 0), close, false), Verdict::Whole(a) if a.last));
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx";
    assert!(matches!(judge(&mut *http, &ask(0, 0), half, true), Verdict::More(_)), "cut short");
}

#[test]
fn thrift() {
    let message = |kind: u8, sequence: u8, body: &[u8]| {
        [&[0x80, 1, 0, kind, 0, 0, 0, 4][..], b"ping", &[0, 0, 0, sequence], body].concat()
    };
    let mut buffered = protocol("thrift+buffered://127.0.0.1/ping");
    assert_eq!(encoded(&mut *buffered, &ask(7, 0)), message(1, 7, &[0]));
    let success = [11, 0, 0, 0, 0, 0, 2, b'h', b'i', 0];
    let nested =
        [12, 0, 0, 15, 0, 1, 8, 0, 0, 0, 1, 0, 0, 0, 9, 13, 0, 2, 2, 3, 0, 0, 0, 1, 1, 1, 0, 0];
    let declared = [12, 0, 1, 0, 0];
    let mut read = |body: &[u8], kind| whole(&mut *buffered, &ask(7, 0), &message(kind, 7, body));
    assert_eq!(read(&success, 2), None);
    assert_eq!(read(&nested, 2), None);
    assert_eq!(read(&[0], 2), None, "nothing to return");
    assert_eq!(read(&declared, 2), Some("exception"));
    assert_eq!(read(&success, 3), Some("exception"));
    let mut framed = protocol("thrift://127.0.0.1/ping?string_bytes=2");
    let call = message(1, 7, &[11, 0, 1, 0, 0, 0, 2, b'a', b'a', 0]);
    assert_eq!(
        encoded(&mut *framed, &ask(7, 0)),
        [&[0, 0, 0, call.len() as u8], &call[..]].concat()
    );
    let reply = message(2, 7, &success);
    let reply = [&[0, 0, 0, reply.len() as u8], &reply[..]].concat();
    assert_eq!(whole(&mut *framed, &ask(7, 0), &reply), None);
    let short = [&[0, 0, 0, 4], &reply[4..8]].concat();
    assert_eq!(judge(&mut *framed, &ask(7, 0), &short, false), Verdict::Garbage);
    let deep = message(2, 7, &[[12, 0, 0]; 100].concat());
    assert_eq!(judge(&mut *framed, &ask(7, 0), &deep, false), Verdict::Garbage);
    assert_eq!(judge(&mut *buffered, &ask(8, 0), &reply[4..], false), Verdict::Garbage);
}

#[test]
fn templates() {
    let mut lines = templated(r"get {id} {{{random:1}\x41\r\n", r"until:\r\n");
    assert_eq!(encoded(&mut *lines, &ask(7, 0)), b"get 7 {0A\r\n");
    assert_eq!(whole(&mut *lines, &ask(7, 0), b"fine\r\n"), None);
    let mut fixed = templated("x", "length:4");
    assert_eq!(whole(&mut *fixed, &ask(7, 0), b"1234"), None);
    let mut close = templated("x", "close");
    assert!(matches!(judge(&mut *close, &ask(7, 0), b"1234", false), Verdict::More(5)));
    assert!(matches!(judge(&mut *close, &ask(7, 0), b"1234", true), Verdict::Whole(_)));
    let mut datagram = templated("x", "datagram");
    let received = ReceivedBytes { bytes: b"", datagrams: &[0], ended: false };
    assert!(matches!(datagram.decode(&ask(7, 0), &received), Verdict::Whole(_)));
    for (request, end) in [
        ("{ids}", "close"),
        ("{id", "close"),
        (r"\q", "close"),
        (r"\x4", "close"),
        ("x", "length:0"),
        ("x", "until:"),
        ("x", "datagram"),
        ("{random:0}", "close"),
        ("x", "end"),
    ] {
        assert!(
            Target::parse("tcp://127.0.0.1:1", Some((request, end))).is_err(),
            "{request} {end}"
        );
    }
    assert!(Target::parse("udp://127.0.0.1:1", Some(("x", "close"))).is_err());
}

#[test]
fn wrong_targets_are_told() {
    let wrong = |target| Target::parse(target, None).unwrap_err().to_string();
    assert!(wrong("127.0.0.1:80").contains("SCHEME://HOST:PORT"));
    assert!(wrong("memcache://127.0.0.1").contains("did you mean `memcached`?"));
    assert!(wrong("memcached://127.0.0.1?read=1").contains("no option `read`"));
    assert!(wrong("memcached://127.0.0.1?reads=2").contains("from 0 to 1"));
    assert!(wrong("memcached://127.0.0.1?key_bytes=251").contains("1 to 250"));
    assert!(wrong("null-rpc://127.0.0.1").contains("which port"));
    assert!(wrong("http://127.0.0.1/a b").contains("%20"));
    let memcached = Target::parse("memcached://127.0.0.1", None).expect("a target");
    let body = HttpOptions { body: Some(Vec::new()), ..HttpOptions::default() };
    assert!(memcached.with_http(body).unwrap_err().to_string().contains("for http://"));
    assert!(wrong("redis+unix://run/x.sock").contains("begins with a slash"));
    assert!(wrong("redis+unix:///run/x.sock?a=1").contains("no option `a`"));
    assert!(wrong("thrift://127.0.0.1:9090").contains("name the method"));
    assert!(wrong("tcp://127.0.0.1:1").contains("--request"));
    assert!(wrong("redis://127.0.0.1/x").contains("number of a database"));
    assert!(wrong("redis://127.0.0.1?pipeline=0").contains("1 to 1000"));
    assert!(wrong("redis://127.0.0.1?pipeline=1k&value_bytes=1M").contains("at most"));
    assert!(wrong("postgresql://127.0.0.1").contains("which user?"));
    assert!(wrong("postgresql://me@127.0.0.1?query={x}").contains("{random:BELOW}"));
    assert!(wrong("postgresql://me@127.0.0.1?query=%00").contains("none of them"));
    assert!(wrong("http://me:top@127.0.0.1").contains("no user and no password"));
    for secret in
        ["redis://me:t/op@127.0.0.1", "http://me:t?op@127.0.0.1", "redis://me:t%op@127.0.0.1"]
    {
        let said = wrong(secret);
        assert!(said.contains("%2") && !said.contains("op@") && !said.contains(":t"), "{said}");
    }
    assert!(wrong("redis://no.such.host.invalid").contains("no.such.host.invalid"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_key_is_the_same_whenever_it_is_asked_for(id: u64, random: u32) {
        let mut read = protocol("memcached://127.0.0.1?reads=0.5&keys=100");
        let request = encoded(&mut *read, &ask(id, random));
        prop_assert_eq!(&request, &encoded(&mut *read, &ask(id, random)));
        let answer: &[u8] = if request.starts_with(b"get") { b"END\r\n" } else { b"STORED\r\n" };
        prop_assert!(matches!(judge(&mut *read, &ask(id, random), answer, false), Verdict::Whole(_)));
    }
}

#[test]
fn nine_of_ten_requests_read_and_keys_are_spread() {
    let mut protocol = protocol("memcached://127.0.0.1?keys=50");
    let requests: Vec<Vec<u8>> = (0..20_000u32)
        .map(|n| encoded(&mut *protocol, &ask(u64::from(n), n.wrapping_mul(0x9e37_79b9))))
        .collect();
    let reads = requests.iter().filter(|request| request.starts_with(b"get ")).count();
    assert!((17_800..18_200).contains(&reads), "{reads}");
    let keys: std::collections::BTreeSet<&[u8]> = requests.iter().map(|r| &r[4..68]).collect();
    assert_eq!(keys.len(), 50);
}
