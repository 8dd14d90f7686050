//! Servers that misbehave, on the loopback address: every request is counted, and its loss has a name.

mod server;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use generator::{
    Address, Generator, Limits, LiveCounters, Loss, NullRpc, Peer, Plan, Record, Tally, Transport,
    clock,
};
use model::law::Law;
use model::scenario::{Architecture, Arrivals, Service};
use model::{Nanos, workload};
use server::{BYTES, Conduct, serve, serve_at, serve_datagrams};

/// Half a second at 400 a second.
const DURATION: Nanos = Nanos::from_millis(500);
/// How long answers are waited for on a machine with much else to do; shorter than a patient client waits.
const LATE: Nanos = Nanos::from_secs(10);

fn service(connections: u32) -> Service {
    Service {
        architecture: Architecture::ThreadPerConnection,
        connections,
        request_bytes: BYTES as u32,
        response_bytes: BYTES as u32,
        service_law: Law::Fixed,
        service_time: Nanos(1),
        arrival_law: Law::Fixed,
        arrivals: Arrivals::Rate(400.0),
    }
}

struct Outcome {
    records: Vec<Record>,
    tally: Tally,
    losses: BTreeMap<Loss, usize>,
    live: Arc<LiveCounters>,
}

impl Outcome {
    fn answered(&self) -> usize {
        self.records.iter().filter(|record| record.received != Nanos::NEVER).count()
    }
}

fn run(peer: Peer, connections: u32, limits: Limits) -> Outcome {
    let service = service(connections);
    let requests = workload::draw(&service, 1, 1, 0, DURATION);
    let protocol = Box::new(NullRpc { request_bytes: BYTES, response_bytes: BYTES });
    let live = Arc::new(LiveCounters::default());
    let watched = Some(Arc::clone(&live));
    let plan = Plan {
        service: &service,
        requests: &requests,
        protocol,
        limits,
        live: watched,
        socket_timestamps: false,
    };
    let mut generator = Generator::new().expect("epoll");
    generator.add(plan, peer);
    let go_on = AtomicBool::new(false);
    let _ = generator.connect(clock::now() + Nanos::from_secs(5), &go_on);
    let start = clock::now();
    generator.run(start, start + DURATION + LATE, &go_on);
    let (records, tally) = generator.finish().pop().expect("a client");
    assert_eq!(records.len(), requests.len(), "no request is lost from sight");
    let mut losses = BTreeMap::new();
    for record in &records {
        assert_eq!(record.loss.is_some(), record.received == Nanos::NEVER, "{record:?}");
        record.loss.iter().for_each(|loss| *losses.entry(*loss).or_default() += 1);
    }
    Outcome { records, tally, losses, live }
}

fn against(conduct: Conduct, timeout: Nanos) -> Outcome {
    let address = serve(conduct);
    run(
        Peer { transport: Transport::Stream, address: address.into() },
        8,
        Limits { timeout, ..Limits::default() },
    )
}

const PATIENT: Nanos = Nanos::from_secs(30);
const IMPATIENT: Nanos = Nanos::from_secs(3);

/// One request in so many meets the misconduct.
const SOME: u64 = 25;

fn expect(conduct: fn(u64) -> Conduct, timeout: Nanos, loss: Loss) {
    let outcome = against(conduct(SOME), timeout);
    let some = outcome.records.len() / SOME as usize;
    assert_eq!(outcome.losses, BTreeMap::from([(loss, some)]));
    assert_eq!(outcome.answered(), outcome.records.len() - some);
    assert!(outcome.tally.opened as usize >= 8 + some / 2, "lost connections come back");
    let seen = outcome.live.total();
    assert_eq!((seen.answered() + seen.lost) as usize, outcome.records.len());
    // The control: the same server where nothing goes wrong.
    let control = against(conduct(u64::MAX), timeout);
    assert_eq!((control.losses.len(), control.tally.opened), (0, 8));
}

#[test]
fn a_server_that_closes_is_reported() {
    expect(Conduct::Close, PATIENT, Loss::Closed);
}

#[test]
fn a_server_that_resets_is_reported() {
    expect(Conduct::Reset, PATIENT, Loss::Reset);
}

#[test]
fn a_server_that_answers_garbage_is_reported() {
    expect(Conduct::Garbage, PATIENT, Loss::Garbage);
}

#[test]
fn a_server_that_answers_too_much_is_reported() {
    expect(Conduct::TooMuch, PATIENT, Loss::Garbage);
}

#[test]
fn a_server_that_answers_by_halves_and_closes_is_reported() {
    expect(Conduct::HalfAndClose, PATIENT, Loss::Half);
}

#[test]
fn a_server_that_answers_by_halves_and_stops_is_reported() {
    expect(Conduct::HalfAndSilence, IMPATIENT, Loss::Half);
}

#[test]
fn a_server_that_stops_answering_is_reported() {
    expect(Conduct::Silence, IMPATIENT, Loss::Silent);
}

#[test]
fn a_server_that_never_answers_holds_every_connection() {
    let outcome = against(Conduct::Silence(1), PATIENT);
    let unsent = outcome.records.len() - 8;
    assert_eq!(outcome.losses, BTreeMap::from([(Loss::InFlight, 8), (Loss::Unsent, unsent)]));
    let held = outcome.records.iter().filter(|record| record.sent == Nanos::NEVER);
    assert!(held.clone().count() == unsent && held.clone().all(|r| r.ready != Nanos::NEVER));
    // The control: a client whose patience ends within the run.
    let given_up = against(Conduct::Silence(1), IMPATIENT).losses;
    assert!(given_up.get(&Loss::Silent).is_some_and(|silent| *silent >= 8), "{given_up:?}");
}

#[test]
fn a_stall_makes_late_answers_and_no_loss() {
    let stall = Nanos::from_millis(500);
    let slow = |every| {
        let outcome = against(Conduct::Stall(every, stall), PATIENT);
        assert_eq!(outcome.answered(), outcome.records.len());
        let slow = outcome.records.iter().filter(|record| record.latency() >= stall).count();
        (slow, outcome.records.len())
    };
    let (late, all) = slow(100);
    assert!(
        late >= all / 100,
        "{late} of {all}: each that was stalled for, whatever else the machine does"
    );
    // The control; the machine itself may stall, but hardly each time.
    assert!((0..3).any(|_| slow(u64::MAX).0 == 0));
}

#[test]
fn answers_byte_by_byte_are_decoded() {
    let outcome = against(Conduct::ByteByByte(1), PATIENT);
    assert_eq!((outcome.losses.len(), outcome.tally.opened), (0, 8));
}

#[test]
fn an_absent_server_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let service = service(4);
    let protocol = Box::new(NullRpc { request_bytes: BYTES, response_bytes: BYTES });
    let limits = Limits::default();
    let plan = Plan {
        service: &service,
        requests: &[],
        protocol,
        limits,
        live: None,
        socket_timestamps: false,
    };
    let mut generator = Generator::new().expect("epoll");
    generator.add(plan, Peer { transport: Transport::Stream, address: address.into() });
    let deadline = clock::now() + Nanos::from_millis(200);
    let (missing, error) = generator.connect(deadline, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(missing, 4);
    assert_eq!(error.map(|e| e.kind()), Some(std::io::ErrorKind::ConnectionRefused));
}

fn over_a_unix_socket(conduct: Conduct, timeout: Nanos) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    serve_at(&path, conduct);
    let address = Address::Unix(path);
    run(Peer { transport: Transport::Stream, address }, 8, Limits { timeout, ..Limits::default() })
}

#[test]
fn over_a_unix_socket_what_goes_wrong_is_told_apart_as_over_tcp() {
    let conducts = [
        (Conduct::Close(SOME), PATIENT, Loss::Closed),
        (Conduct::Garbage(SOME), PATIENT, Loss::Garbage),
        (Conduct::HalfAndClose(SOME), PATIENT, Loss::Half),
        (Conduct::Silence(SOME), IMPATIENT, Loss::Silent),
    ];
    for (conduct, timeout, loss) in conducts {
        let outcome = over_a_unix_socket(conduct, timeout);
        let some = outcome.records.len() / SOME as usize;
        assert_eq!(outcome.losses, BTreeMap::from([(loss, some)]));
        assert_eq!(outcome.answered(), outcome.records.len() - some);
    }
    // The control.
    let good = over_a_unix_socket(Conduct::ByteByByte(1), PATIENT);
    assert_eq!((good.losses.len(), good.tally.opened), (0, 8));
}

#[test]
fn connections_are_changed_as_often_as_asked() {
    let address = serve(Conduct::Silence(u64::MAX));
    let peer = Peer { transport: Transport::Stream, address: address.into() };
    let limits = |range| Limits { timeout: PATIENT, requests_per_connection: range };
    let outcome = run(peer.clone(), 4, limits(Some((5, 5))));
    let requests = outcome.records.len() as u64;
    assert_eq!(outcome.answered() as u64, requests);
    assert!(outcome.tally.opened >= requests / 5, "{:?}", outcome.tally);
    assert_eq!(run(peer, 4, limits(None)).tally.opened, 4);
}

#[test]
fn datagrams_that_get_lost_cost_no_other_request() {
    let outcome = |every| {
        let address = serve_datagrams(every);
        let limits = Limits { timeout: IMPATIENT, ..Limits::default() };
        run(Peer { transport: Transport::Datagram, address: address.into() }, 8, limits)
    };
    let lossy = outcome(10);
    assert_eq!(lossy.losses, BTreeMap::from([(Loss::Silent, lossy.records.len() / 10)]));
    assert_eq!(outcome(u64::MAX).losses.len(), 0);
}
