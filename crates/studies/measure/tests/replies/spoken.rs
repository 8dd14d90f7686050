//! Every protocol, with a server's good answer to its requests.

use generator::{Ask, NullAsk, Protocol, Stamps, Transport};
use measure::Target;
use model::Nanos;
use model::workload::Planned;

/// A protocol and a server that speaks it well.
#[derive(Clone, Copy)]
pub struct Spoken {
    /// Its scheme, and what follows the port in its target.
    target: (&'static str, &'static str),
    template: Option<(&'static str, &'static str)>,
    /// The answer to a request.
    pub good: fn(&[u8]) -> Vec<u8>,
}

/// All of them.
pub const ALL: [Spoken; 14] = [
    Spoken::of("memcached", "?reads=1", |_| b"VALUE k 0 3\r\nabc\r\nEND\r\n".to_vec()),
    Spoken::of("memcached", "?reads=0", |_| b"STORED\r\n".to_vec()),
    Spoken::of("memcached+binary", "?reads=1", binary),
    Spoken::of("memcached+udp", "?reads=1", |ask| [&ask[..2], b"\0\0\0\x01\0\0END\r\n"].concat()),
    Spoken::of("redis", "?reads=1", |_| b"*2\r\n$3\r\nabc\r\n:1\r\n".to_vec()),
    Spoken::of("redis", "?pipeline=2", |_| b"$-1\r\n-OOM no\r\n".to_vec()),
    Spoken::of("http", "/", |_| {
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec()
    }),
    Spoken::of("http", "/", |_| b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_vec()),
    Spoken::of("thrift+buffered", "/ping", reply),
    Spoken::of("thrift", "/ping", |ask| {
        let reply = reply(&ask[4..]);
        [&[0, 0, 0, reply.len() as u8], &reply[..]].concat()
    }),
    Spoken::of("null-rpc", "?service=1ns", stamped),
    Spoken::by_template("tcp", ("x", "until:end"), |_| b"the end".to_vec()),
    Spoken::by_template("tcp", ("x", "length:20"), |_| vec![0; 20]),
    Spoken::by_template("udp", ("x", "datagram"), |_| b"any".to_vec()),
];

/// One that begins with a greeting, which the server here does not know.
pub const GREETED: Spoken = Spoken::of("postgresql", "", |_| {
    b"D\0\0\0\x06\0\0E\0\0\0\x0cC22012\0\0C\0\0\0\x05\0Z\0\0\0\x05I".to_vec()
});

impl Spoken {
    const fn of(scheme: &'static str, rest: &'static str, good: fn(&[u8]) -> Vec<u8>) -> Spoken {
        Spoken { target: (scheme, rest), template: None, good }
    }

    const fn by_template(
        scheme: &'static str,
        template: (&'static str, &'static str),
        good: fn(&[u8]) -> Vec<u8>,
    ) -> Spoken {
        Spoken { target: (scheme, ""), template: Some(template), good }
    }

    /// Its target at a port of the loopback address.
    pub fn at(&self, port: u16) -> Target {
        let (scheme, rest) = self.target;
        let user = if scheme == "postgresql" { "me@" } else { "" };
        let text = format!("{scheme}://{user}127.0.0.1:{port}{rest}");
        Target::parse(&text, self.template).expect(&text)
    }

    /// Its client, and the bytes of a request.
    pub fn asked(&self, id: u64) -> (Box<dyn Protocol>, Ask, Vec<u8>) {
        let mut protocol = self.at(1).protocol();
        let ask =
            Ask { id, planned: Planned { intended: Nanos::ZERO, service: Nanos(1), random: 0 } };
        let mut request = Vec::new();
        protocol.encode(&ask, &mut request);
        (protocol, ask, request)
    }

    /// Whether its messages are datagrams.
    pub fn is_udp(&self) -> bool {
        self.at(1).transport() == Transport::Datagram
    }

    /// For messages.
    pub fn name(&self) -> String {
        format!("{}{}", self.target.0, self.target.1)
    }
}

/// Nothing found, with the request's own number.
fn binary(ask: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 24];
    head[0] = 0x81;
    head[12..16].copy_from_slice(&ask[12..16]);
    head
}

/// A reply without a result, with the call's own name and number.
fn reply(call: &[u8]) -> Vec<u8> {
    let mut reply = call[..16].to_vec();
    reply[3] = 2;
    reply.push(0);
    reply
}

fn stamped(ask: &[u8]) -> Vec<u8> {
    let mut response = vec![0; 128];
    let zero = Nanos::ZERO;
    let id = NullAsk::decode(ask).id;
    Stamps { id, started: zero, completed: zero, cpu: zero, thread: 0 }.encode(&mut response);
    response
}
