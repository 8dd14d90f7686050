//! Where a server listens.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;

/// An address of the network, or a socket of this machine's file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// IP, and a port.
    Ip(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl Address {
    /// The address of the network, if it is one.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Address::Ip(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }

    /// Whether it is this machine's.
    pub fn is_here(&self) -> bool {
        // Only an address of this machine can be bound.
        self.ip().is_none_or(|address| UdpSocket::bind((address.ip(), 0)).is_ok())
    }

    /// Whether nothing between client and server can be another machine.
    pub fn is_loopback(&self) -> bool {
        self.ip().is_none_or(|address| address.ip().is_loopback())
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Ip(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Address::Ip(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}
