//! Sockets that never block, with the kernel's stamp on what comes in.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrStorage, Timestamps,
    UnixAddr, connect, getsockname, getsockopt, recvmsg, send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::address::Address;
use crate::clock;

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP, or a unix socket.
    Stream,
    /// UDP, a socket a connection.
    Datagram,
}

/// What one look at a socket brought.
pub enum Received {
    /// Nothing yet.
    Nothing,
    /// Bytes at the front of the buffer.
    Bytes {
        /// So many.
        count: usize,
        /// When they reached this machine's side of the socket.
        at: Nanos,
        /// When they had been read.
        read: Nanos,
    },
    /// The server has closed its side.
    End,
}

/// Begins to connect; whether it is connected already.
pub fn open(transport: Transport, to: &Address) -> io::Result<(OwnedFd, bool)> {
    let family = match to {
        Address::Ip(address) if address.is_ipv4() => AddressFamily::Inet,
        Address::Ip(_) => AddressFamily::Inet6,
        Address::Unix(_) => AddressFamily::Unix,
    };
    let kind = match transport {
        Transport::Stream => SockType::Stream,
        Transport::Datagram => SockType::Datagram,
    };
    let fd = socket(family, kind, SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC, None)?;
    if transport == Transport::Stream && family != AddressFamily::Unix {
        setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    }
    stamp(&fd)?;
    let connecting = match to {
        Address::Ip(address) => connect(fd.as_raw_fd(), &SockaddrStorage::from(*address)),
        Address::Unix(path) => connect(fd.as_raw_fd(), &UnixAddr::new(path)?),
    };
    match connecting {
        Ok(()) => Ok((fd, true)),
        Err(Errno::EINPROGRESS) => Ok((fd, false)),
        Err(error) => Err(error.into()),
    }
}

/// Has the kernel stamp incoming packets: so the time that the client needs to wake up is not taken for the
/// server's.
pub fn stamp(fd: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(fd, sockopt::ReceiveTimestampns, &true)?)
}

/// The port of a socket; 0 where it has none.
pub fn port(fd: &impl AsRawFd) -> u16 {
    let name = getsockname::<SockaddrStorage>(fd.as_raw_fd()).ok();
    let four = || Some(name?.as_sockaddr_in()?.port());
    let six = || Some(name?.as_sockaddr_in6()?.port());
    four().or_else(six).unwrap_or(0)
}

/// How the connecting ended.
pub fn connected(fd: &impl AsFd) -> io::Result<()> {
    match getsockopt(fd, sockopt::SocketError)? {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Sends as much as goes at once.
pub fn transmit(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    match send(fd.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
        Err(Errno::EAGAIN) => Ok(0),
        sent => Ok(sent?),
    }
}

/// Takes what has come, at most a buffer full. `realtime_lead` moves the kernel's stamp to [`clock::now`]'s
/// clock.
pub fn receive(
    fd: &OwnedFd,
    transport: Transport,
    buffer: &mut [u8],
    control: &mut [u8],
    realtime_lead: Nanos,
) -> io::Result<Received> {
    let mut parts = [IoSliceMut::new(buffer)];
    let message =
        match recvmsg::<()>(fd.as_raw_fd(), &mut parts, Some(control), MsgFlags::MSG_DONTWAIT) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received::Nothing),
            Err(error) => return Err(error.into()),
        };
    if message.bytes == 0 && transport == Transport::Stream {
        return Ok(Received::End);
    }
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(at) => Some(clock::from_timespec(at)),
        _ => None,
    });
    let now = clock::now();
    // A clock that was set in between must not make a response come before its packet or after its reading.
    let at = stamp.map_or(now, |at| at.saturating_sub(realtime_lead).min(now));
    Ok(Received::Bytes { count: message.bytes, at, read: now })
}

/// Room for the kernel's stamp, in both the forms in which it comes where departures are stamped, too.
pub fn control_room() -> Vec<u8> {
    nix::cmsg_space!(TimeSpec, Timestamps)
}
