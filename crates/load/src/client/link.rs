//! One connection of a client: at most one request on its way at a time.

use std::io::{self, IoSliceMut, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use model::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

use crate::clock;
use crate::wire::{Ask, Stamps};

/// A connection and the request that is on its way over it.
pub struct Link {
    socket: TcpStream,
    /// The request that waits for its response.
    pub request: Option<usize>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    filled: usize,
    control: Vec<u8>,
}

/// A whole response.
pub struct Response {
    /// What the server wrote.
    pub stamps: Stamps,
    /// When its last byte reached this machine's side of the socket.
    pub received: Nanos,
}

impl Link {
    /// A connection whose incoming packets the kernel stamps: so the time that the client needs to wake up is not
    /// taken for the server's.
    pub fn new(socket: TcpStream, request_bytes: usize, response_bytes: usize) -> io::Result<Link> {
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        let (outgoing, incoming) = (vec![0; request_bytes], vec![0; response_bytes]);
        let control = nix::cmsg_space!(TimeSpec);
        Ok(Link { socket, request: None, outgoing, incoming, filled: 0, control })
    }

    /// The socket, to be watched.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends a request; the moment just before.
    pub fn send(&mut self, request: usize, service: Nanos) -> io::Result<Nanos> {
        Ask { id: request as u64, service }.encode(&mut self.outgoing);
        self.request = Some(request);
        self.filled = 0;
        let sent = clock::now();
        self.socket.write_all(&self.outgoing)?;
        Ok(sent)
    }

    /// Reads what has come; the response once it is whole.
    pub fn receive(&mut self, realtime_lead: Nanos) -> io::Result<Option<Response>> {
        let mut buffer = [IoSliceMut::new(&mut self.incoming[self.filled..])];
        let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let message = match recvmsg::<()>(fd, &mut buffer, Some(&mut self.control), flags) {
            Ok(message) if message.bytes == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(message) => message,
            Err(Errno::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let stamp = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(at) => Some(clock::from_timespec(at)),
            _ => None,
        });
        self.filled += message.bytes;
        if self.filled < self.incoming.len() {
            return Ok(None);
        }
        let now = clock::now();
        // A clock that was set in between must not make a response come before its packet or after its reading.
        let received = stamp.map_or(now, |at| at.saturating_sub(realtime_lead).min(now));
        Ok(Some(Response { stamps: Stamps::decode(&self.incoming), received }))
    }
}
