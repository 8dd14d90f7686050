//! The owner of a wait, by the stamps that the client's own kernel puts on its sockets: the server's, the
//! client's, or that of the way there. Delays are so long that no machine's own noise is taken for one.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::thread::{self, sleep};
use std::time::Duration;

use generator::{
    Answer, Ask, Generator, Limits, Peer, Plan, Protocol, ReceivedBytes, Record, SocketTimestamps,
    Transport, Verdict, clock,
};
use model::Nanos;
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Service};
use model::workload::Planned;

const DELAY: Nanos = Nanos::from_millis(300);
const SMALL: usize = 100;
/// More than both sockets hold before the server reads.
const LARGE: usize = 32 << 20;
const ANSWER: usize = 10;

/// Requests of so many bytes, answered by [`ANSWER`]; to put all but the first into bytes takes a while.
struct EchoProtocol {
    bytes: usize,
    slow: Nanos,
}

impl Protocol for EchoProtocol {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        if ask.id > 0 {
            sleep(Duration::from_nanos(self.slow.0));
        }
        out.resize(self.bytes, 0);
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        Verdict::of_length(received, ANSWER, Answer::default())
    }
}

/// The slow side.
#[derive(Clone, Copy)]
struct Slow {
    server: Nanos,
    client: Nanos,
}

const NOBODY: Slow = Slow { server: Nanos::ZERO, client: Nanos::ZERO };
const SERVER: Slow = Slow { server: DELAY, ..NOBODY };
const CLIENT: Slow = Slow { client: DELAY, ..NOBODY };

/// Answers each request so long after its first byte came; until then it reads no more of it.
fn serve(transport: Transport, bytes: usize, delay: Nanos) -> SocketAddr {
    let pause = Duration::from_nanos(delay.0);
    let any = (Ipv4Addr::LOCALHOST, 0);
    if transport == Transport::Datagram {
        let socket = UdpSocket::bind(any).expect("a port");
        let address = socket.local_addr().expect("its address");
        thread::spawn(move || {
            while let Ok((_, from)) = socket.recv_from(&mut [0; SMALL]) {
                sleep(pause);
                socket.send_to(&[0; ANSWER], from).expect("an answer");
            }
        });
        return address;
    }
    let listener = TcpListener::bind(any).expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut rest = vec![0; bytes - 1];
                while stream.read_exact(&mut [0]).is_ok() {
                    sleep(pause);
                    stream.read_exact(&mut rest).expect("the rest");
                    stream.write_all(&[0; ANSWER]).expect("an answer");
                }
            });
        }
    });
    address
}

/// Two requests at once and two later, over as many connections as go at once.
fn run(transport: Transport, bytes: usize, slow: Slow, socket_timestamps: bool) -> Vec<Record> {
    let service = Service {
        architecture: Architecture::ThreadPerConnection,
        connections: 2,
        request_bytes: bytes as u32,
        response_bytes: ANSWER as u32,
        service_law: Law::Fixed,
        service_time: Nanos(1),
        arrival_law: Law::Fixed,
        arrivals: Arrivals::Rate(1.0),
    };
    let at = |ms| Planned { intended: Nanos::from_millis(ms), service: Nanos(1), random: 0 };
    let requests = [at(0), at(0), at(700), at(1_400)];
    let plan = Plan {
        service: &service,
        requests: &requests,
        protocol: Box::new(EchoProtocol { bytes, slow: slow.client }),
        limits: Limits::default(),
        live: None,
        socket_timestamps,
    };
    let mut generator = Generator::new().expect("epoll");
    generator.add(plan, Peer { transport, address: serve(transport, bytes, slow.server).into() });
    let go_on = AtomicBool::new(false);
    let deadline = clock::now() + Nanos::from_secs(10);
    generator.connect(deadline, &go_on).expect("connections");
    generator.run(clock::now(), deadline, &go_on);
    let (records, _) = generator.finish().pop().expect("a client");
    assert!(records.iter().all(|record| record.loss.is_none()), "{records:?}");
    records
}

/// Until the device has the request, from there to the answer, and until the answer is read.
fn parts(record: &Record) -> [Nanos; 3] {
    let SocketTimestamps { queued, left, read, .. } = record.timestamps.expect("stamps");
    let moments = [record.sent, queued, left, record.received, read];
    assert!(moments.is_sorted(), "{record:?}");
    assert!(read != Nanos::NEVER);
    [left - record.sent, record.received - left, read - record.received]
}

fn longest(parts: [Nanos; 3]) -> usize {
    (0..3).max_by_key(|part| parts[*part]).expect("three")
}

/// A machine with much else to do adds delays of its own.
fn one_of_three(shows: impl Fn() -> bool) -> bool {
    (0..3).any(|_| shows())
}

#[test]
fn a_delay_is_found_where_it_is_with_the_server_and_with_the_client() {
    for transport in [Transport::Stream, Transport::Datagram] {
        let with_server = || {
            let all: Vec<_> = run(transport, SMALL, SERVER, true).iter().map(parts).collect();
            assert!(all.iter().all(|parts| parts[1] >= DELAY), "{transport:?}: {all:?}");
            all.into_iter().all(|parts| longest(parts) == 1)
        };
        assert!(one_of_three(with_server), "{transport:?}");
        // The same delay elsewhere: the client is busy with the second request while the first is answered.
        let with_client = || longest(parts(&run(transport, SMALL, CLIENT, true)[0])) == 2;
        assert!(one_of_three(with_client), "{transport:?}");
    }
}

#[test]
fn a_request_in_pieces_has_left_with_its_last_byte() {
    let [first, ..] = &run(Transport::Stream, LARGE, SERVER, true)[..] else { panic!("requests") };
    assert!(parts(first)[0] >= DELAY, "the server reads late: {:?}", parts(first));
    // The control: what fits into the sockets has left before the server reads it.
    let [first, ..] = &run(Transport::Stream, SMALL, SERVER, true)[..] else { panic!("requests") };
    assert!(parts(first)[0] < DELAY, "{:?}", parts(first));
}

#[test]
fn acknowledgements_are_tcps_and_nothing_is_stamped_unasked() {
    let acknowledged = |record: &Record| record.timestamps.expect("stamps").acknowledged;
    for record in run(Transport::Stream, SMALL, NOBODY, true) {
        assert!(acknowledged(&record) >= record.timestamps.expect("stamps").left);
        assert!(acknowledged(&record) != Nanos::NEVER);
    }
    let datagrams = run(Transport::Datagram, SMALL, NOBODY, true);
    assert!(datagrams.iter().all(|record| acknowledged(record) == Nanos::NEVER));
    let unasked = run(Transport::Stream, SMALL, NOBODY, false);
    assert!(unasked.iter().all(|record| record.timestamps.is_none()));
}
