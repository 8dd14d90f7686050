//! Connections that begin with a greeting: none carries a request before, and what goes wrong is told.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use generator::{
    Answer, Ask, Generator, Greeted, Greeting, Limits, Loss, Peer, Plan, Protocol, ReceivedBytes,
    Record, Tally, Transport, Verdict, clock,
};
use model::Nanos;
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Service};
use model::workload::Planned;

const CONNECTIONS: u32 = 4;
const REQUESTS: usize = 40;
const LATE: Nanos = Nanos::from_secs(10);

/// Says `hello`, is asked `name?`, says it, is told `welcome`; then each `x` is answered by `y`.
struct Polite;

struct Hello(bool);

impl Protocol for Polite {
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        Some(Box::new(Hello(false)))
    }

    fn encode(&mut self, _ask: &Ask, out: &mut Vec<u8>) {
        out.push(b'x');
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        match received.bytes.first() {
            None => Verdict::More(1),
            Some(b'y') => Verdict::of_length(received, 1, Answer::default()),
            Some(_) => Verdict::Garbage,
        }
    }
}

impl Greeting for Hello {
    fn go_on(&mut self, came: &[u8], say: &mut Vec<u8>) -> Greeted {
        match (came, self.0) {
            (b"", false) => say.extend(b"hello"),
            (b"name?", _) => {
                say.extend(b"rearguard");
                self.0 = true;
                return Greeted::Waits(came.len());
            }
            (b"welcome", true) => return Greeted::Done,
            (b"go away", _) => return Greeted::Refused("go away".to_string()),
            _ if b"name?".starts_with(came) || b"welcome".starts_with(came) => {}
            _ => return Greeted::Garbage,
        }
        Greeted::Waits(0)
    }
}

/// What the server does of its side.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Good,
    ByteByByte,
    Refuses,
    IsSilent,
    Closes,
    SaysMore,
    /// It never ends its question.
    Babbles,
}

/// Whether a request came before the greeting was over is in `early`.
fn serve(manner: Manner, early: &'static AtomicBool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, manner, early));
        }
    });
    address
}

fn answer(mut stream: TcpStream, manner: Manner, early: &AtomicBool) -> Option<()> {
    let read = |stream: &mut TcpStream, text: &[u8]| {
        let mut came = vec![0; text.len()];
        stream.read_exact(&mut came).ok()?;
        early.fetch_or(came != text, Ordering::Relaxed);
        Some(())
    };
    let say = |stream: &mut TcpStream, text: &[u8]| {
        let piece = if manner == Manner::ByteByByte { 1 } else { text.len() };
        text.chunks(piece).try_for_each(|bytes| stream.write_all(bytes)).ok()
    };
    read(&mut stream, b"hello")?;
    match manner {
        Manner::Good | Manner::ByteByByte | Manner::SaysMore => {}
        Manner::Refuses => return say(&mut stream, b"go away"),
        Manner::Closes => return None,
        Manner::IsSilent => return read(&mut stream, b"nothing that would come"),
        Manner::Babbles => while stream.write_all(&[b'w'; 4_096]).is_ok() {},
    }
    say(&mut stream, b"name?")?;
    read(&mut stream, b"rearguard")?;
    say(&mut stream, if manner == Manner::SaysMore { b"welcome, y" } else { b"welcome" })?;
    loop {
        read(&mut stream, b"x")?;
        stream.write_all(b"y").ok()?;
    }
}

fn service() -> Service {
    Service {
        architecture: Architecture::SharedQueue { workers: 1 },
        connections: CONNECTIONS,
        request_bytes: 0,
        response_bytes: 0,
        service_law: Law::Fixed,
        service_time: Nanos(1),
        arrival_law: Law::Fixed,
        arrivals: Arrivals::Rate(1.0),
    }
}

fn generator(manner: Manner, limits: Limits, early: &'static AtomicBool) -> Generator {
    let planned = |n: usize| Planned {
        intended: Nanos::from_millis(n as u64),
        service: Nanos(1),
        random: n as u32,
    };
    let requests: Vec<Planned> = (0..REQUESTS).map(planned).collect();
    let plan = Plan {
        service: &service(),
        requests: &requests,
        protocol: Box::new(Polite),
        limits,
        live: None,
        socket_timestamps: true,
    };
    let mut generator = Generator::new().expect("epoll");
    let address = serve(manner, early).into();
    generator.add(plan, Peer { transport: Transport::Stream, address });
    generator
}

fn run(manner: Manner, limits: Limits) -> (Vec<Record>, Tally) {
    let early: &'static AtomicBool = Box::leak(Box::default());
    let mut generator = generator(manner, limits, early);
    let go_on = AtomicBool::new(false);
    assert!(generator.connect(clock::now() + LATE, &go_on).is_ok());
    let start = clock::now();
    generator.run(start, start + LATE, &go_on);
    assert!(!early.load(Ordering::Relaxed), "a request before the greeting was over");
    generator.finish().pop().expect("a client")
}

#[test]
fn requests_go_over_connections_that_were_greeted() {
    for manner in [Manner::Good, Manner::ByteByByte] {
        let (records, tally) = run(manner, Limits::default());
        assert!(records.iter().all(|record| record.loss.is_none()));
        assert_eq!((tally.opened, tally.refused), (u64::from(CONNECTIONS), 0));
        let places = records.iter().filter_map(|record| record.place);
        let least = places.map(|place| (place.request_end, place.answer_begin)).min();
        assert_eq!(least, Some((5 + 9 + 1, 5 + 7)), "the greeting's bytes went before");
        let stamped = records.iter().filter_map(|record| record.timestamps);
        assert_eq!(stamped.filter(|stamps| stamps.left != Nanos::NEVER).count(), REQUESTS);
    }
}

#[test]
fn a_connection_that_is_opened_again_is_greeted_again() {
    let limits = Limits { requests_per_connection: Some((5, 5)), ..Limits::default() };
    let (records, tally) = run(Manner::Good, limits);
    assert!(records.iter().all(|record| record.loss.is_none()));
    assert!(tally.opened >= REQUESTS as u64 / 5, "{tally:?}");
}

#[test]
fn what_is_no_welcome_is_told_and_no_request_is_sent() {
    let limits = Limits { timeout: Nanos::from_millis(50), ..Limits::default() };
    for (manner, kind) in [
        (Manner::Refuses, ErrorKind::PermissionDenied),
        (Manner::Closes, ErrorKind::UnexpectedEof),
        (Manner::IsSilent, ErrorKind::TimedOut),
        (Manner::SaysMore, ErrorKind::InvalidData),
        (Manner::Babbles, ErrorKind::InvalidData),
    ] {
        let early: &'static AtomicBool = Box::leak(Box::default());
        let mut generator = generator(manner, limits, early);
        let go_on = AtomicBool::new(false);
        let deadline = clock::now() + Nanos::from_millis(500);
        let (missing, error) = generator.connect(deadline, &go_on).expect_err("not one is open");
        assert_eq!((missing, error.map(|e| e.kind())), (CONNECTIONS as usize, Some(kind)));
        let start = clock::now();
        generator.run(start, start + Nanos::from_millis(100), &go_on);
        let (records, tally) = generator.finish().pop().expect("a client");
        assert!(records.iter().all(|record| record.loss == Some(Loss::Unsent)));
        assert!(tally.opened == 0 && tally.refused >= u64::from(CONNECTIONS), "{tally:?}");
    }
}
