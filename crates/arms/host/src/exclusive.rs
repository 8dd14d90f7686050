//! One run at a time on a machine: two would take the same CPUs and report each other as latency.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::{Failure, Watch};

/// An abstract socket: it is gone with its process, however that ends, and leaves no file.
const NAME: &str = "rearguard-host-arm";
/// How long to wait for another run.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to ask.
const LOOK: Duration = Duration::from_millis(50);

/// The right to measure on this machine, held until dropped.
pub struct Exclusive {
    _held: UnixListener,
}

impl Exclusive {
    /// Waits for a run that is under way, a minute at most.
    pub fn acquire(watch: &dyn Watch) -> Result<Exclusive, Failure> {
        let start = Instant::now();
        loop {
            match SocketAddr::from_abstract_name(NAME).and_then(|n| UnixListener::bind_addr(&n)) {
                Ok(held) => return Ok(Exclusive { _held: held }),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    return Err(Failure::Machine(format!("no local sockets here ({error})")));
                }
                Err(_) if watch.cancelled() => return Err(Failure::Interrupted),
                Err(_) if start.elapsed() > PATIENCE => return Err(Failure::Machine(
                    "another run is measured on this machine, and two would disturb each other: wait for it to end"
                        .to_string(),
                )),
                Err(_) => sleep(LOOK),
            }
        }
    }
}
