//! Stages of requests to servers on the loopback device that know nothing of it. Takes root and a kernel with
//! BTF.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use model::trace::Stages;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use tracer::{Connections, Exchange, Peer, Recording, Scheduling, Tracer, Wanted};

/// Bytes of a request and of its answer.
const BYTES: usize = 10;
const CONNECTIONS: usize = 8;
/// Requests of a connection, a multiple of what one round sends.
const ROUNDS: usize = 60;
const A_ROUND: usize = 6;

/// Hooks see the whole machine, and the tests' ports shall not wait for each other's.
static ALONE: Mutex<()> = Mutex::new(());

fn tracer(port: u16) -> Option<Tracer> {
    tracing(port, Scheduling::Everywhere)
}

fn tracing(port: u16, scheduling: Scheduling) -> Option<Tracer> {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root || !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!("skipped: stages take root and a kernel with BTF");
        return None;
    }
    Some(Tracer::start(Wanted { ports: vec![port], scheduling }).expect("hooks"))
}

/// A thread a connection, which reads a request, answers it, and so on.
fn serve_by_threads(listener: TcpListener) {
    for connection in listener.incoming().take(CONNECTIONS) {
        let mut connection = connection.expect("a connection");
        connection.set_nodelay(true).expect("no delay");
        thread::spawn(move || {
            let mut request = [0; BYTES];
            while connection.read_exact(&mut request).is_ok() {
                if connection.write_all(&request).is_err() {
                    return;
                }
            }
        });
    }
}

/// One thread for all: whatever has come of each, in one read.
fn serve_by_events(listener: TcpListener) {
    let connections: Vec<TcpStream> =
        listener.incoming().take(CONNECTIONS).map(|c| c.expect("a connection")).collect();
    let epoll = Epoll::new(EpollCreateFlags::empty()).expect("epoll");
    for (i, connection) in connections.iter().enumerate() {
        connection.set_nodelay(true).expect("no delay");
        epoll.add(connection, EpollEvent::new(EpollFlags::EPOLLIN, i as u64)).expect("epoll");
    }
    let (mut open, mut pending) = (CONNECTIONS, vec![0; CONNECTIONS]);
    let mut events = [EpollEvent::empty(); CONNECTIONS];
    while open > 0 {
        let ready = epoll.wait(&mut events, EpollTimeout::NONE).unwrap_or(0);
        for event in &events[..ready] {
            let i = event.data() as usize;
            let mut connection = &connections[i];
            let read = connection.read(&mut [0; 256]).unwrap_or(0);
            if read == 0 {
                epoll.delete(connection).expect("epoll");
                open -= 1;
            }
            pending[i] += read;
            while pending[i] >= BYTES {
                pending[i] -= BYTES;
                let _ = connection.write_all(&[0; BYTES]);
            }
        }
    }
}

/// Sends requests whole, split, and several at once; all answers are awaited each time.
fn ask(mut connection: TcpStream) {
    connection.set_nodelay(true).expect("no delay");
    let receive = |connection: &mut TcpStream, requests: usize| {
        connection.read_exact(&mut vec![0; requests * BYTES]).expect("answers");
    };
    for _ in 0..ROUNDS {
        connection.write_all(&[0; BYTES]).expect("a request");
        receive(&mut connection, 1);
        connection.write_all(&[0; 4]).expect("a part");
        thread::sleep(Duration::from_micros(200));
        connection.write_all(&[0; BYTES - 4]).expect("the rest");
        receive(&mut connection, 1);
        connection.write_all(&[0; 3 * BYTES]).expect("three at once");
        connection.write_all(&[0; BYTES]).expect("one behind");
        receive(&mut connection, 4);
    }
}

/// The stages of all requests of all connections, by the client's own offsets.
fn stages(recording: &Recording, clients: &[SocketAddr]) -> Vec<Stages> {
    let joined = Connections::new(recording);
    let mut all = Vec::new();
    for client in clients {
        let [own] = joined.of(Peer::of(*client, false)) else {
            panic!("one connection of {client}")
        };
        for request in 0..(ROUNDS * A_ROUND) as u64 {
            let bytes = BYTES as u64;
            let answer = request * bytes..(request + 1) * bytes;
            all.push(joined.stages(own, answer.end, answer).0);
        }
    }
    all
}

fn check(all: &[Stages]) {
    let complete = all.iter().filter(|stages| stages.is_complete());
    let share = complete.clone().count() as f64 / all.len() as f64;
    let broken = all.iter().find(|stages| !stages.is_complete());
    assert!(
        share >= 0.999,
        "{share} of {} are complete; the first that is not: {broken:?}",
        all.len()
    );
    for stages in complete {
        let moments = stages.moments();
        let sum: u64 = moments.windows(2).map(|pair| (pair[1] - pair[0]).0).sum();
        assert_eq!(sum, (stages.transmitted - stages.arrived).0);
    }
}

fn tcp(serve: fn(TcpListener)) -> Option<(Recording, Vec<SocketAddr>)> {
    let _alone = ALONE.lock();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    let tracer = tracer(address.port())?;
    thread::spawn(move || serve(listener));
    let sockets: Vec<TcpStream> =
        (0..CONNECTIONS).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let clients = sockets.iter().map(|socket| socket.local_addr().expect("an address")).collect();
    thread::scope(|scope| sockets.into_iter().for_each(|socket| drop(scope.spawn(|| ask(socket)))));
    let recording = tracer.stop().expect("a recording");
    assert_eq!(recording.lost, 0);
    Some((recording, clients))
}

#[test]
fn a_thread_per_connection() {
    let Some((recording, clients)) = tcp(serve_by_threads) else { return };
    check(&stages(&recording, &clients));
}

#[test]
fn an_event_loop() {
    let Some((recording, clients)) = tcp(serve_by_events) else { return };
    check(&stages(&recording, &clients));
}

#[test]
fn requests_are_found_without_a_client_and_their_threads_are_explained() {
    let Some((recording, clients)) = tcp(serve_by_threads) else { return };
    let joined = Connections::new(&recording);
    let found: Vec<Exchange> =
        clients.iter().flat_map(|c| joined.of(Peer::of(*c, false))[0].exchanges()).collect();
    assert_eq!(found.len(), CONNECTIONS * ROUNDS * A_ROUND);
    let observed = tracer::observe(&recording).expect("requests");
    assert!(observed.programs[0].name.starts_with("stages"), "{}", observed.programs[0].name);
    assert!(observed.complete as f64 >= 0.999 * observed.requests as f64);
}

/// Every datagram is sent back.
fn serve_datagrams(scheduling: Scheduling) -> Option<(Tracer, SocketAddr)> {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = server.local_addr().expect("its address");
    let tracer = tracing(address.port(), scheduling)?;
    thread::spawn(move || {
        let mut request = [0; BYTES];
        while let Ok((bytes, from)) = server.recv_from(&mut request) {
            server.send_to(&request[..bytes], from).expect("an answer");
        }
    });
    Some((tracer, address))
}

#[test]
fn the_last_request_is_seen_though_cpus_hand_over_many_records_at_a_time() {
    let _alone = ALONE.lock();
    let Some((tracer, address)) = serve_datagrams(Scheduling::Nowhere) else { return };
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    client.send_to(&[0; BYTES], address).expect("a request");
    client.recv(&mut [0; BYTES]).expect("an answer");
    let joined = Connections::new(&tracer.stop().expect("a recording"));
    let [own] = joined.of(Peer::of(client.local_addr().expect("an address"), true)) else {
        panic!("one sender")
    };
    check(&[joined.stages(own, 1, 0..1).0]);
}

/// The tracer looks at threads each 10 ms, and a program that does nothing ends in one.
#[test]
fn processes_that_end_at_once_are_named_by_their_programs() {
    let _alone = ALONE.lock();
    let Some((tracer, address)) = serve_datagrams(Scheduling::Everywhere) else { return };
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let brief = || {
        let mut process = std::process::Command::new("true").spawn().expect("it is everywhere");
        let id = process.id();
        process.wait().expect("it is ours");
        format!("true[{id}]")
    };
    let brief: Vec<String> = (0..20).map(|_| brief()).collect();
    client.send_to(&[0; BYTES], address).expect("a request");
    client.recv(&mut [0; BYTES]).expect("an answer");
    let observed = tracer::snapshot(&tracer.stop().expect("a recording"), None).expect("a request");
    let is_named = |name: &&String| observed.programs.iter().any(|one| one.name == **name);
    assert_eq!(brief.iter().filter(is_named).count(), 20, "{:?}", observed.programs);
    // The server runs in this process.
    let descends =
        |name: &String| observed.programs.iter().any(|one| one.name == *name && one.descends);
    assert!(brief.iter().all(descends), "{:?}", observed.programs);
    let others = || observed.programs.iter().skip(1).filter(|one| !one.descends);
    assert!(others().count() > 0, "the control: the kernel's threads are not its own");
    let is_kernels = |owner: &Option<String>| owner.as_deref() == Some("the kernel");
    assert!(!observed.programs.iter().any(|one| one.descends && is_kernels(&one.owner)));
}

#[test]
fn datagrams() {
    let _alone = ALONE.lock();
    let Some((tracer, address)) = serve_datagrams(Scheduling::Everywhere) else { return };
    let clients: Vec<UdpSocket> =
        (0..4).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")).collect();
    // One after the other: two that come at once on two CPUs may be taken for each other.
    for _ in 0..ROUNDS {
        for client in &clients {
            client.send_to(&[0; BYTES], address).expect("a request");
            client.recv(&mut [0; BYTES]).expect("an answer");
        }
    }
    let recording = tracer.stop().expect("a recording");
    let joined = Connections::new(&recording);
    let mut all = Vec::new();
    for client in &clients {
        let peer = Peer::of(client.local_addr().expect("an address"), true);
        let [own] = joined.of(peer) else {
            let known: Vec<Peer> = joined.iter().map(|(peer, _)| peer).collect();
            panic!("one sender {peer:?} of {known:?}")
        };
        all.extend((1..=ROUNDS as u64).map(|n| joined.stages(own, n, n - 1..n).0));
    }
    check(&all);
}
