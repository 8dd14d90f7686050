//! A storm of softirqs on one CPU. Datagrams go to all of hundreds of sockets at one port, in a network of
//! their own. They are sent from another CPU and received on this one (receive packet steering).

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt,
};
use nix::unistd::Pid;

const PORT: u16 = 4711;
/// Sockets that get a copy of each datagram, in the softirq.
const SOCKETS: usize = 400;
const PAUSE: Duration = Duration::from_millis(8);

/// It ends with this.
pub struct Storm {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// Where it blows, and how hard.
#[derive(Clone, Copy)]
pub struct Weather {
    /// The CPU of the softirqs.
    pub received: usize,
    /// The CPU that sends.
    pub sent: usize,
    /// Datagrams at a time: milliseconds of softirqs.
    pub burst: usize,
}

impl Storm {
    /// `None`, with a word, where this machine does not let it.
    pub fn start(weather: Weather) -> Option<Storm> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, (ready, is_ready)) = (Arc::clone(&stop), channel());
        let blow = move || {
            let (sender, _sockets) = network(&weather)?;
            let _ = ready.send(());
            while !stopped.load(Ordering::Relaxed) {
                for _ in 0..weather.burst {
                    sender.send_to(&[0], (Ipv4Addr::new(127, 255, 255, 255), PORT))?;
                }
                sleep(PAUSE);
            }
            Ok(())
        };
        let mut storm = Storm { stop, thread: Some(thread::spawn(blow)) };
        if is_ready.recv().is_err() {
            eprintln!("skipped: no storm here: {:?}", storm.join());
            return None;
        }
        Some(storm)
    }

    fn join(&mut self) -> io::Result<()> {
        self.thread.take().map_or(Ok(()), |thread| thread.join().expect("no panic"))
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.join();
    }
}

/// This thread's own network, and the threads that wait in it. It is gone with the thread and its sockets.
fn network(weather: &Weather) -> io::Result<(UdpSocket, Vec<UdpSocket>)> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    run("ip", &["link", "set", "lo", "up"])?;
    let mask = 1u64 << weather.received;
    let steer = format!(
        "mount -t sysfs none /sys && echo {mask:x} > /sys/class/net/lo/queues/rx-0/rps_cpus"
    );
    run("unshare", &["--mount", "sh", "-c", &steer])?;
    let sockets = (0..SOCKETS).map(|_| waiting()).collect::<io::Result<Vec<_>>>()?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.set_broadcast(true)?;
    let mut own = CpuSet::new();
    own.set(weather.sent)?;
    sched_setaffinity(Pid::from_raw(0), &own)?;
    Ok((sender, sockets))
}

fn waiting() -> io::Result<UdpSocket> {
    let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&fd, sockopt::ReuseAddr, &true)?;
    bind(fd.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, PORT))?;
    Ok(fd.into())
}

fn run(command: &str, words: &[&str]) -> io::Result<()> {
    let output = Command::new(command).args(words).output()?;
    let failed = || io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned());
    if output.status.success() { Ok(()) } else { Err(failed()) }
}
