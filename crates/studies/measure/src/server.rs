//! Servers that are started for a measurement, on CPUs of their own, and gone with it.

mod guard;
mod recipe;

use std::net::TcpStream;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::sleep;
use std::time::{Duration, Instant};

use generator::Transport;
use model::{Failure, Watch};

pub use guard::ROLES;
use guard::{Guard, Orders};
pub use recipe::Kind;

use crate::target::Target;

/// How long a server may take until it accepts connections.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to ask.
const LOOK: Duration = Duration::from_millis(20);

/// Where and how large a server is to be.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Its CPUs.
    pub cpus: Vec<usize>,
    /// Connections that it must be able to hold.
    pub connections: u32,
}

/// A running server. Dropping it ends it and removes its files; so does the end of this process, whatever
/// ends it.
pub struct Started {
    /// Where it listens, in the protocol of the given target.
    pub target: Target,
    guard: Guard,
}

impl Started {
    /// Starts a server that `target` fits; a target with port 0 gets a free one.
    pub fn start(
        kind: Kind,
        mut target: Target,
        placed: &Placed,
        watch: &dyn Watch,
    ) -> Result<Started, Failure> {
        let mut address = kind.check(&target)?;
        let datagrams = target.transport() == Transport::Datagram;
        if address.port() == 0 {
            address.set_port(free_port()?);
            target = target.at_port(address.port());
        }
        let orders = Orders {
            cpus: placed.cpus.clone(),
            work: kind.recipe(address.port(), datagrams, placed, target.lengths())?,
        };
        let guard = Guard::post(kind.word(), orders)?;
        let mut started = Started { target, guard };
        started.wait(kind, address, watch)?;
        Ok(started)
    }

    /// The process whose end is the server's: what this one started, or the server itself.
    pub fn process(&self) -> u32 {
        self.guard.process()
    }

    /// Fails with the server's own words if it has ended.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        self.guard.check_alive()
    }

    /// Waits until the server accepts a connection; memcached does over TCP, too, when datagrams are wanted
    /// of it.
    fn wait(&mut self, kind: Kind, address: SocketAddr, watch: &dyn Watch) -> Result<(), Failure> {
        let begin = Instant::now();
        while TcpStream::connect_timeout(&address, PATIENCE).is_err() {
            if watch.cancelled() {
                return Err(Failure::Interrupted);
            }
            self.guard.check_alive()?;
            if begin.elapsed() > PATIENCE {
                let message = format!("{} did not listen at {address} in 10 s", kind.word());
                return Err(Failure::Run(message));
            }
            sleep(LOOK);
        }
        Ok(())
    }
}

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    listener.map(|address| address.port()).map_err(|error| {
        Failure::Machine(format!("no free port on the loopback address ({error})"))
    })
}
