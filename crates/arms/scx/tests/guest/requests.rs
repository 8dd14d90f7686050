//! Requests are served in the order in which they came to the machine, where the policy asks when that was:
//! also what a thread reads without having slept, and what one hands on to another.

use std::io::{Read, Write, pipe};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use model::Failure;

use crate::guest::{compute, numbers, stay, told, under_each};

pub fn trials() -> Vec<Trial> {
    let trial = |kernel: &'static str| {
        Trial::test(format!("requests_are_served_as_they_came_on_{kernel}"), move || served(kernel))
            .with_ignored_flag(true)
    };
    vec![trial("7.3"), trial("6.18")]
}

/// By the order of wake-ups, which is the control; by that of requests; and the kernel's own class.
const POLICIES: [Option<&str>; 3] = [Some("rearguard"), Some("rearguard:order=arrival"), None];
const ROUNDS: u32 = 10;
/// Requests that come at once.
const REQUESTS: u32 = 8;

fn served(kernel: &str) -> Result<(), Failed> {
    let lines = told(kernel, 2, "requests");
    for way in ["by a pipe:", "by a futex:", "by a unix socket:", "by TCP:"] {
        let [woken, asked, _] = numbers::<u32>(&lines, way)[..] else { panic!("{lines:?}") };
        assert!(woken >= 6 * ROUNDS && asked <= 3 * ROUNDS, "{way} {woken} {asked}");
    }
    let [woken, asked, _] = numbers::<u32>(&lines, "later ones first:")[..] else {
        panic!("{lines:?}")
    };
    assert!(woken >= ROUNDS - 2 && asked <= 2, "{woken} {asked}");
    let [woken, asked, default] = numbers::<u32>(&lines, "chain:")[..] else { panic!("{lines:?}") };
    assert!(asked <= 110 && woken >= 112, "{woken} {asked} {default}");
    Ok(())
}

/// In the guest.
pub fn play() -> Result<Vec<String>, Failure> {
    under_each(
        &POLICIES,
        &[
            ("by a pipe:", || begun_before_an_answer(|| pipe().expect("a pipe"))),
            ("by a futex:", || begun_before_an_answer(queue)),
            ("by a unix socket:", || {
                begun_before_an_answer(|| UnixStream::pair().expect("a pair"))
            }),
            ("by TCP:", || begun_before_an_answer(connection)),
            ("later ones first:", later_first),
            ("chain:", chain),
            ("round trip:", round_trip),
        ],
    )
}

/// The two ends of a queue that threads wait at by a futex.
struct Out(mpsc::Receiver<u8>);
struct Into(mpsc::Sender<u8>);

impl Read for Out {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        bytes[0] = self.0.recv().expect("a sender");
        Ok(1)
    }
}

impl Write for Into {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send(bytes[0]).expect("a receiver");
        Ok(1)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn queue() -> (Out, Into) {
    let (into, out) = mpsc::channel();
    (Out(out), Into(into))
}

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    near.set_nodelay(true).expect("TCP");
    let far = listener.accept().expect("the same").0;
    far.set_nodelay(true).expect("TCP");
    (far, near)
}

/// A server's socket, and where it is.
fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")
}

/// Pairs of threads on one CPU, of which one reads a request and hands it on to the other, which answers: how
/// many requests have begun when the first is answered. In all rounds.
fn begun_before_an_answer<R: Read + Send, W: Write + Send>(way: impl Fn() -> (R, W)) -> u32 {
    let part = Duration::from_millis(2);
    let (begun, answered) = (AtomicU32::new(0), AtomicU32::new(0));
    let (sockets, ways): (Vec<_>, Vec<_>) = (0..REQUESTS).map(|_| (socket(), way())).unzip();
    let client = socket();
    let mut sum = 0;
    std::thread::scope(|scope| {
        for (socket, (mut from, mut to)) in sockets.iter().zip(ways) {
            let (begun, answered) = (&begun, &answered);
            scope.spawn(move || {
                stay(&[0]);
                let mut request = [0];
                for _ in 0..ROUNDS {
                    socket.recv(&mut request).expect("a request");
                    begun.fetch_add(1, Ordering::Relaxed);
                    compute(part);
                    to.write_all(&request).expect("a reader");
                }
            });
            scope.spawn(move || {
                stay(&[0]);
                let mut request = [0];
                for _ in 0..ROUNDS {
                    from.read_exact(&mut request).expect("a request");
                    compute(part);
                    let first = begun.load(Ordering::Relaxed) << 16;
                    let _ =
                        answered.compare_exchange(0, first, Ordering::Relaxed, Ordering::Relaxed);
                }
            });
        }
        stay(&[1]);
        for _ in 0..ROUNDS {
            sleep(Duration::from_millis(100));
            begun.store(0, Ordering::Relaxed);
            answered.store(0, Ordering::Relaxed);
            for socket in &sockets {
                client.send_to(&[1], socket.local_addr().expect("bound")).expect("a server");
            }
            sleep(Duration::from_millis(100));
            sum += answered.load(Ordering::Relaxed) >> 16;
        }
    });
    sum
}

/// A thread reads another request without having slept, after one has come for its sibling: in how many
/// rounds it answers that one first.
fn later_first() -> u32 {
    let [loops, sibling, client] = [socket(), socket(), socket()];
    let first = AtomicU32::new(0);
    let serve = |socket: &UdpSocket, name: u32, parts: &[u64]| {
        stay(&[0]);
        for _ in 0..ROUNDS {
            for part in parts {
                socket.recv(&mut [0]).expect("a request");
                compute(Duration::from_millis(*part));
            }
            let _ = first.compare_exchange(0, name, Ordering::Relaxed, Ordering::Relaxed);
        }
    };
    let mut later = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&loops, 1, &[4, 12]));
        scope.spawn(|| serve(&sibling, 2, &[4]));
        stay(&[1]);
        for _ in 0..ROUNDS {
            sleep(Duration::from_millis(100));
            first.store(0, Ordering::Relaxed);
            for to in [&loops, &sibling, &loops] {
                client.send_to(&[1], to.local_addr().expect("bound")).expect("a server");
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_millis(100));
            later += u32::from(first.load(Ordering::Relaxed) == 1);
        }
    });
    later
}

/// A chain of two threads for each request under load, on one CPU: the latency that one in a hundred exceeds,
/// in percent of that of an ideal queue, which serves a request to its end before the next.
fn chain() -> u32 {
    const PAIRS: usize = 32;
    const SENT: usize = 1200;
    let mut draws = Draws(1);
    let plan: Vec<(Duration, [Duration; 2])> = (0..SENT)
        .map(|_| (draws.exponential(5_500), [draws.exponential(2_000), draws.exponential(2_000)]))
        .collect();
    let latencies: Vec<AtomicU32> = plan.iter().map(|_| AtomicU32::new(0)).collect();
    let begin = Instant::now();
    let ways = (0..PAIRS).map(|_| (socket(), pipe().expect("a pipe")));
    let (sockets, pipes): (Vec<_>, Vec<_>) = ways.unzip();
    let client = socket();
    let mut come = Vec::new();
    std::thread::scope(|scope| {
        for (pair, (socket, (mut from, mut to))) in sockets.iter().zip(pipes).enumerate() {
            let (plan, latencies) = (&plan, &latencies);
            scope.spawn(move || {
                stay(&[0]);
                let mut request = [0; 8];
                for (_, parts) in plan.iter().skip(pair).step_by(PAIRS) {
                    socket.recv(&mut request).expect("a request");
                    compute(parts[0]);
                    to.write_all(&request).expect("a reader");
                }
            });
            scope.spawn(move || {
                stay(&[0]);
                let mut sent = [0; 8];
                for ((_, parts), latency) in plan.iter().zip(latencies).skip(pair).step_by(PAIRS) {
                    from.read_exact(&mut sent).expect("a request");
                    compute(parts[1]);
                    let sent = Duration::from_nanos(u64::from_le_bytes(sent));
                    let since = (begin.elapsed() - sent).as_micros();
                    latency.store(since as u32, Ordering::Relaxed);
                }
            });
        }
        stay(&[1]);
        let mut due = begin.elapsed();
        for ((gap, _), to) in plan.iter().zip(sockets.iter().cycle()) {
            due += *gap;
            sleep(due.saturating_sub(begin.elapsed()));
            let sent = begin.elapsed();
            come.push(sent);
            let to = to.local_addr().expect("bound");
            client.send_to(&(sent.as_nanos() as u64).to_le_bytes(), to).expect("a server");
        }
    });
    let measured = latencies.iter().map(|latency| latency.load(Ordering::Relaxed)).collect();
    slowest(measured) * 100 / slowest(ideal(&come, &plan))
}

/// The latency that one in a hundred exceeds.
fn slowest(mut latencies_us: Vec<u32>) -> u32 {
    latencies_us.sort_unstable();
    latencies_us[latencies_us.len() - 1 - latencies_us.len() / 100]
}

/// What each request takes in an ideal queue, in us.
fn ideal(come: &[Duration], plan: &[(Duration, [Duration; 2])]) -> Vec<u32> {
    let mut free = Duration::ZERO;
    let latency = |(at, (_, parts)): (&Duration, &(Duration, [Duration; 2]))| {
        free = free.max(*at) + parts[0] + parts[1];
        (free - *at).as_micros() as u32
    };
    come.iter().zip(plan).map(latency).collect()
}

/// A message to another thread on the CPU and back, over TCP: ns, which are instructions.
fn round_trip() -> u32 {
    const TRIPS: u32 = 3000;
    let (mut far, mut near) = connection();
    let mut byte = [0];
    std::thread::scope(|scope| {
        scope.spawn(move || {
            stay(&[0]);
            let mut byte = [0];
            while far.read(&mut byte).is_ok_and(|read| read == 1) {
                far.write_all(&byte).expect("a reader");
            }
        });
        stay(&[0]);
        let begin = Instant::now();
        for _ in 0..TRIPS {
            near.write_all(&byte).expect("a reader");
            near.read_exact(&mut byte).expect("an answer");
        }
        drop(near);
        begin.elapsed().as_nanos() as u32 / TRIPS
    })
}

/// Numbers from a seed.
struct Draws(u64);

impl Draws {
    /// Exponential, with a mean in us.
    fn exponential(&mut self, mean_us: u64) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        Duration::from_secs_f64(-uniform.ln() * mean_us as f64 / 1e6)
    }
}
