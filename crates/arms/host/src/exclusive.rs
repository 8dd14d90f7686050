//! One run at a time on a machine: two would take the same CPUs and report each other as latency.

use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
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
        let mut holder = Holder::default();
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
                Err(_) => holder.wait(),
            }
        }
    }
}

/// The run that holds the name. Its end closes the connection at once, so two commands of many runs each take
/// turns: a wait by the clock alone would miss the moment between two runs.
#[derive(Default)]
struct Holder(Option<UnixStream>);

impl Holder {
    /// Returns when that run is over, or after [`LOOK`].
    fn wait(&mut self) {
        if self.0.is_none() {
            self.0 = connect().ok();
        }
        let over = self.0.as_mut().is_none_or(|holder| match holder.read(&mut [0]) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(_) => true,
        });
        if over {
            self.0 = None;
            sleep(Duration::from_millis(1));
        }
    }
}

fn connect() -> io::Result<UnixStream> {
    let holder = UnixStream::connect_addr(&SocketAddr::from_abstract_name(NAME)?)?;
    holder.set_read_timeout(Some(LOOK))?;
    Ok(holder)
}
