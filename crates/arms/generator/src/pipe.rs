//! The bytes of one connection: its socket, what hides them, and what waits to be written.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};

use crate::secure_channel::SecureChannel;
use crate::socket::{self, Transport};

/// A connection's two directions.
pub struct Pipe {
    pub socket: OwnedFd,
    channel: Option<Box<dyn SecureChannel>>,
    outgoing: Vec<u8>,
    written: usize,
    is_blocked: bool,
    /// What was put into the connection since it was opened: bytes, or datagrams.
    pub asked: u64,
    /// What came.
    pub received: u64,
}

/// Where a connection is watched, and under which number.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    /// The thread's epoll instance.
    pub epoll: &'a OwnedFd,
    /// The number.
    pub place: u64,
}

impl Watched<'_> {
    /// Begins to watch a socket.
    pub fn add(&self, socket: &OwnedFd, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::add(self.epoll, socket, EventData::new_u64(self.place), interest)?)
    }

    /// Watches it for something else.
    pub fn change(&self, socket: &OwnedFd, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(self.epoll, socket, EventData::new_u64(self.place), interest)?)
    }
}

impl Pipe {
    /// Over a socket on which nothing has passed yet.
    pub fn new(socket: OwnedFd, channel: Option<Box<dyn SecureChannel>>) -> Pipe {
        Pipe {
            socket,
            channel,
            outgoing: Vec::new(),
            written: 0,
            is_blocked: false,
            asked: 0,
            received: 0,
        }
    }

    /// Whether something can be said.
    pub fn is_established(&self) -> bool {
        self.channel.as_ref().is_none_or(|channel| channel.is_established())
    }

    /// Appends what `say` says.
    pub fn say(&mut self, transport: Transport, say: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let before = self.outgoing.len();
        match &mut self.channel {
            None => say(&mut self.outgoing),
            Some(channel) => {
                let mut plain = Vec::new();
                say(&mut plain);
                channel.seal(&plain, &mut self.outgoing)?;
            }
        }
        self.asked += match transport {
            Transport::Stream => (self.outgoing.len() - before) as u64,
            Transport::Datagram => 1,
        };
        Ok(())
    }

    /// Writes what goes at once, and asks to be told when the rest would.
    pub fn flush(&mut self, watched: Watched) -> io::Result<()> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        self.written += socket::transmit(&self.socket, &self.outgoing[self.written..])?;
        let is_blocked = self.written < self.outgoing.len();
        // With several requests at a time it may be blocked for long: what is gone takes no room.
        if self.written > self.outgoing.len() / 2 {
            self.outgoing.drain(..self.written);
            self.written = 0;
        }
        if is_blocked != self.is_blocked {
            self.is_blocked = is_blocked;
            let both = EventFlags::IN | EventFlags::OUT;
            watched.change(&self.socket, if is_blocked { both } else { EventFlags::IN })?;
        }
        Ok(())
    }

    /// Takes bytes that came, and what they say; whether nothing more will come. What is hidden is found in
    /// `plain`, which it clears.
    pub fn open<'a>(
        &mut self,
        came: &'a [u8],
        plain: &'a mut Vec<u8>,
        transport: Transport,
    ) -> io::Result<(&'a [u8], bool)> {
        self.received += match transport {
            Transport::Stream => came.len() as u64,
            Transport::Datagram => 1,
        };
        let Some(channel) = &mut self.channel else { return Ok((came, false)) };
        plain.clear();
        let before = self.outgoing.len();
        let opened = channel.receive(came, plain, &mut self.outgoing);
        self.asked += (self.outgoing.len() - before) as u64;
        opened.map(|()| (&plain[..], channel.has_ended()))
    }

    /// The connection has ended: whether that is the end of what was said, or it was cut off.
    pub fn is_whole(&self) -> bool {
        self.channel.as_ref().is_none_or(|channel| channel.has_ended())
    }

    /// Why it can carry no request, where it ends before.
    pub fn cut_off(&self) -> io::Error {
        let eof = || io::ErrorKind::UnexpectedEof.into();
        self.channel.as_ref().map_or_else(eof, |channel| channel.cut_off())
    }

    /// Says that this side has ended, as far as that goes at once.
    pub fn end(&mut self) {
        let Some(channel) = &mut self.channel else { return };
        channel.end(&mut self.outgoing);
        // A server that is gone needs no farewell.
        let _ = socket::transmit(&self.socket, &self.outgoing[self.written..]);
    }
}
