//! One run at a time on a machine: two would take the same CPUs and report each other as latency.
//!
//! Any user can take the name, so root does not wait long for a holder that is another's: a run of root's
//! could else be kept from starting for ever.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::{Failure, Watch};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, UnixCredentials, connect, getsockopt, socket,
    sockopt::PeerCredentials,
};
use nix::unistd::geteuid;

/// Abstract sockets: they are gone with their process, however that ends, and leave no file. Where another
/// user holds the first, runs of root agree by the second.
const NAMES: [&str; 2] = ["rearguard-host-arm", "rearguard-host-arm-of-root"];
/// How long to wait for another run.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long root waits for another user's.
const PATIENCE_OF_ROOT: Duration = Duration::from_secs(5);
/// How long a wait is no news.
const MOMENT: Duration = Duration::from_secs(1);
/// How often to ask.
const LOOK: Duration = Duration::from_millis(50);

/// The right to measure on this machine, held until dropped.
pub struct Exclusive {
    /// `None`: root measures although others hold the names.
    _held: Option<UnixListener>,
}

impl Exclusive {
    /// Waits for a run that is under way, a minute at most.
    pub fn acquire(watch: &dyn Watch) -> Result<Exclusive, Failure> {
        let names = if geteuid().is_root() { &NAMES[..] } else { &NAMES[..1] };
        for name in names {
            let held = take(name, watch)?;
            if held.is_some() {
                return Ok(Exclusive { _held: held });
            }
        }
        Ok(Exclusive { _held: None })
    }
}

/// Waits for a name. `None`: to root, another user holds it.
fn take(name: &str, watch: &dyn Watch) -> Result<Option<UnixListener>, Failure> {
    let start = Instant::now();
    let mut holder = Holder { name, stream: None, is_told: false };
    loop {
        match SocketAddr::from_abstract_name(name).and_then(|n| UnixListener::bind_addr(&n)) {
            Ok(held) => return Ok(Some(held)),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                return Err(Failure::Machine(format!("no local sockets here ({error})")));
            }
            Err(_) if watch.cancelled() => return Err(Failure::Interrupted),
            Err(_) if start.elapsed() > PATIENCE => return Err(holder.endless()),
            Err(_) if start.elapsed() > PATIENCE_OF_ROOT && holder.is_strange() => {
                return Ok(None);
            }
            Err(_) => {
                if start.elapsed() > MOMENT {
                    holder.tell(watch);
                }
                holder.wait();
            }
        }
    }
}

/// The run that holds the name. Its end closes the connection at once, so two commands of many runs each take
/// turns: a wait by the clock alone would miss the moment between two runs.
struct Holder<'a> {
    name: &'a str,
    stream: Option<UnixStream>,
    is_told: bool,
}

impl Holder<'_> {
    /// Returns when that run is over, or after [`LOOK`].
    fn wait(&mut self) {
        if self.stream.is_none() {
            self.stream = self.connect().ok();
        }
        let over = self.stream.as_mut().is_none_or(|holder| match holder.read(&mut [0]) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(_) => true,
        });
        if over {
            self.stream = None;
            sleep(Duration::from_millis(1));
        }
    }

    /// A run listens for those that wait, and never accepts. What does not take a connection at once is none.
    fn connect(&self) -> io::Result<UnixStream> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let holder: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
        connect(holder.as_raw_fd(), &UnixAddr::new_abstract(self.name.as_bytes())?)?;
        let holder = UnixStream::from(holder);
        holder.set_nonblocking(false)?;
        holder.set_read_timeout(Some(LOOK))?;
        Ok(holder)
    }

    /// The process that listens.
    fn credentials(&self) -> Option<UnixCredentials> {
        getsockopt(self.stream.as_ref()?, PeerCredentials).ok()
    }

    /// Whether this is root, and the holder is not.
    fn is_strange(&self) -> bool {
        geteuid().is_root() && self.credentials().is_none_or(|of| of.uid() != 0)
    }

    /// Which process it is, as far as that is known.
    fn whose(&self) -> String {
        let named = |of: UnixCredentials| format!(" (process {} of user {})", of.pid(), of.uid());
        self.credentials().map_or(String::new(), named)
    }

    /// Says once what is waited for.
    fn tell(&mut self, watch: &dyn Watch) {
        if !self.is_told {
            watch.waits(&format!("waiting for another run{} to end", self.whose()));
            self.is_told = true;
        }
    }

    fn endless(&self) -> Failure {
        let whose = self.whose();
        Failure::Machine(format!(
            "another run is measured on this machine{whose}, and two would disturb each other: wait for it to end"
        ))
    }
}
