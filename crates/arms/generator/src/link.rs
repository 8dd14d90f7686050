//! One connection of a client: at most one request on its way at a time.

use std::io;
use std::os::fd::OwnedFd;

use model::Nanos;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::address::Address;
use crate::clock;
use crate::greeting::{Greeting, Underway};
use crate::incoming::{Incoming, Room};
use crate::protocol::{Answer, Ask, Protocol, ReceivedBytes, Verdict};
use crate::record::{Loss, Place};
use crate::socket::{self, Received, Transport};
use crate::socket_timestamps::{SocketTimestamps, next_stamp, stamp_departures, stamp_room};

/// A longer response is garbage: a server that never ends one must not fill the memory.
const LONGEST_RESPONSE: usize = 64 << 20;

/// A connection and the request that is on its way over it.
pub struct Link {
    socket: Option<OwnedFd>,
    state: State,
    /// The request that waits for its response.
    pub request: Option<usize>,
    /// Whether it stands among the idle ones, from where it cannot be taken when it closes.
    pub in_idle: bool,
    /// How often it was to be opened.
    attempt: u64,
    /// Requests that it has carried since it was opened.
    carried: u32,
    /// Requests that it is to serve.
    pub most: u32,
    outgoing: Vec<u8>,
    written: usize,
    incoming: Incoming,
    datagrams: Vec<usize>,
    /// What is said before requests.
    greeting: Option<Underway>,
    /// The port, and what went over it.
    place: Place,
    /// Bytes of the response without which it cannot be whole.
    wanted: usize,
    /// What the kernel stamped of the request, where it is to stamp.
    timestamps: Option<SocketTimestamps>,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Closed,
    /// The server has not answered yet.
    Opening,
    /// There is a connection, and it is not greeted yet.
    Greeting,
    /// It can carry requests.
    Open,
}

/// What a look at a connection brought.
pub enum News {
    /// Nothing to act on.
    None,
    /// It can carry requests now.
    Opened,
    /// It could not be opened.
    Refused(io::Error),
    /// A request, the response to it, and when that was there.
    Answer(usize, Answer, Nanos),
    /// It is of no use any more, and its request has no response for this reason.
    Broken(Loss),
}

/// What all connections of a thread read with.
pub struct Desk {
    buffer: Vec<u8>,
    control: Vec<u8>,
    stamps: Vec<u8>,
    /// What must be taken from a kernel's stamp to have it on the run's clock.
    pub realtime_lead: Nanos,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            buffer: vec![0; 64 << 10],
            control: socket::control_room(),
            stamps: stamp_room(),
            realtime_lead: Nanos::ZERO,
        }
    }
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
    fn add(&self, socket: &OwnedFd, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::add(self.epoll, socket, EventData::new_u64(self.place), interest)?)
    }

    fn change(&self, socket: &OwnedFd, interest: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(self.epoll, socket, EventData::new_u64(self.place), interest)?)
    }
}

impl Link {
    /// A connection that has yet to be opened, whether the kernel is to stamp what passes it, and the room
    /// that it shares with others.
    pub fn new(socket_timestamps: bool, room: &Room) -> Link {
        Link {
            socket: None,
            state: State::Closed,
            request: None,
            in_idle: true,
            attempt: 0,
            carried: 0,
            most: u32::MAX,
            outgoing: Vec::new(),
            written: 0,
            incoming: Incoming::new(room),
            datagrams: Vec::new(),
            greeting: None,
            place: Place::default(),
            wanted: 1,
            timestamps: socket_timestamps.then_some(SocketTimestamps::UNSEEN),
        }
    }

    /// Takes over a connected socket.
    pub fn adopt(&mut self, socket: OwnedFd, watched: Watched) -> io::Result<()> {
        socket::stamp(&socket)?;
        watched.add(&socket, EventFlags::IN)?;
        (self.socket, self.state) = (Some(socket), State::Open);
        Ok(())
    }

    /// Begins to connect.
    pub fn open(
        &mut self,
        (transport, to): (Transport, &Address),
        greeting: Option<Box<dyn Greeting>>,
        watched: Watched,
    ) -> io::Result<()> {
        let (socket, connected) = socket::open(transport, to)?;
        let interest = if connected { EventFlags::IN } else { EventFlags::OUT };
        watched.add(&socket, interest)?;
        self.place = Place { port: socket::port(&socket), ..Place::default() };
        (self.socket, self.state, self.carried) = (Some(socket), State::Opening, 0);
        self.greeting = greeting.map(Underway::new);
        self.attempt += 1;
        if connected { self.be_connected(watched) } else { Ok(()) }
    }

    /// A kernel that does not stamp leaves requests without stamps: no reason not to measure.
    fn be_connected(&mut self, watched: Watched) -> io::Result<()> {
        let stamps = |socket: &OwnedFd| stamp_departures(socket).is_ok();
        self.timestamps = self.timestamps.filter(|_| self.socket.as_ref().is_some_and(stamps));
        self.state = State::Greeting;
        self.written = 0;
        self.outgoing.clear();
        self.greet(&[], watched)
    }

    /// Says what comes next before requests can.
    fn greet(&mut self, came: &[u8], watched: Watched) -> io::Result<()> {
        let Some(underway) = &mut self.greeting else {
            self.state = State::Open;
            return Ok(());
        };
        let answered = underway.go_on(came, &mut self.outgoing)?;
        if self.written < self.outgoing.len() {
            self.flush(watched)?;
        }
        if let Some(answered) = answered {
            self.place.request_end = self.outgoing.len() as u64;
            self.place.answer_end = answered;
            (self.greeting, self.state) = (None, State::Open);
        }
        Ok(())
    }

    /// Closes the connection; what was on its way is forgotten.
    pub fn close(&mut self) {
        self.incoming.clear();
        // The kernel takes a closed socket out of the epoll instance.
        (self.socket, self.state, self.request) = (None, State::Closed, None);
        self.greeting = None;
    }

    /// How far it is.
    pub fn state(&self) -> State {
        self.state
    }

    /// How often it was to be opened, now and before.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Whether it is on its way to be open.
    pub fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening | State::Greeting)
    }

    /// Whether it has carried as many requests as it should.
    pub fn has_carried_enough(&self) -> bool {
        self.carried >= self.most
    }

    /// Where the request that was answered last was in what went over the connection.
    pub fn place(&self) -> Place {
        self.place
    }

    /// When that request passed the kernel, where it stamps.
    pub fn timestamps(&self) -> Option<SocketTimestamps> {
        self.timestamps
    }

    /// What has been asked with the last byte of the request that is on its way.
    fn request_end(&self, transport: Transport) -> u64 {
        let asked = match transport {
            Transport::Stream => self.outgoing.len(),
            Transport::Datagram => 1,
        };
        self.place.request_end + asked as u64
    }

    fn pass(&mut self, transport: Transport) {
        let received = match transport {
            Transport::Stream => self.incoming.bytes().len(),
            Transport::Datagram => self.datagrams.len(),
        };
        let Place { port, answer_end, .. } = self.place;
        self.place = Place {
            port,
            request_end: self.request_end(transport),
            answer_begin: answer_end,
            answer_end: answer_end + received as u64,
        };
    }

    /// Takes the stamps of the request that is on its way; whether there were any. The kernel puts them where
    /// errors are, and does not end to say so until they are gone. Errors stay.
    fn take_stamps(&mut self, transport: Transport, desk: &mut Desk) -> bool {
        let last = self.request_end(transport).wrapping_sub(1) as u32;
        let (Some(socket), Some(timestamps)) = (&self.socket, &mut self.timestamps) else {
            return false;
        };
        let lead = desk.realtime_lead;
        let mut any = false;
        while let Ok(Some(stamp)) = next_stamp(socket, &mut desk.stamps, lead) {
            timestamps.take(stamp, last);
            any = true;
        }
        any
    }

    /// Whether a part of the response has come.
    pub fn has_received(&self) -> bool {
        !self.incoming.bytes().is_empty()
    }

    /// Sends a request; the moment just before.
    pub fn send(
        &mut self,
        protocol: &mut dyn Protocol,
        ask: &Ask,
        watched: Watched,
    ) -> Result<Nanos, Loss> {
        self.outgoing.clear();
        self.incoming.clear();
        self.datagrams.clear();
        (self.written, self.wanted) = (0, 1);
        self.timestamps = self.timestamps.map(|_| SocketTimestamps::UNSEEN);
        protocol.encode(ask, &mut self.outgoing);
        self.request = Some(ask.id as usize);
        self.carried += 1;
        let sent = clock::now();
        self.flush(watched).map_err(|_| Loss::Reset)?;
        Ok(sent)
    }

    /// Writes what goes at once, and asks to be told when the rest would.
    fn flush(&mut self, watched: Watched) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        let was_waiting = self.written > 0;
        self.written += socket::transmit(socket, &self.outgoing[self.written..])?;
        if self.written < self.outgoing.len() {
            watched.change(socket, EventFlags::IN | EventFlags::OUT)?;
        } else if was_waiting {
            watched.change(socket, EventFlags::IN)?;
        }
        Ok(())
    }

    /// Looks after an event.
    pub fn attend(
        &mut self,
        events: EventFlags,
        protocol: (&mut dyn Protocol, Transport),
        ask: impl Fn(usize) -> Ask,
        desk: &mut Desk,
        watched: Watched,
    ) -> News {
        let broken = |_| News::Broken(Loss::Reset);
        if self.is_opening() {
            return match self.go_on_opening(events, protocol.1, desk, watched) {
                Err(error) => News::Refused(error),
                Ok(()) if self.state == State::Open => News::Opened,
                Ok(()) => News::None,
            };
        }
        if events.contains(EventFlags::OUT)
            && let Err(error) = self.flush(watched)
        {
            return broken(error);
        }
        let had_stamps = events.contains(EventFlags::ERR) && self.take_stamps(protocol.1, desk);
        if had_stamps && !events.intersects(EventFlags::IN | EventFlags::HUP) {
            return News::None;
        }
        let Some(socket) = &self.socket else { return News::None };
        let lead = desk.realtime_lead;
        let got = socket::receive(socket, protocol.1, &mut desk.buffer, &mut desk.control, lead);
        match got {
            Ok(Received::Nothing) => News::None,
            Ok(Received::Bytes { count, at, read }) => {
                let bytes = &desk.buffer[..count];
                self.timestamps =
                    self.timestamps.map(|timestamps| SocketTimestamps { read, ..timestamps });
                self.receive(protocol, ask, (bytes, false), at)
            }
            Ok(Received::End) => self.receive(protocol, ask, (&[], true), clock::now()),
            Err(error) => broken(error),
        }
    }

    fn go_on_opening(
        &mut self,
        events: EventFlags,
        transport: Transport,
        desk: &mut Desk,
        watched: Watched,
    ) -> io::Result<()> {
        if events.contains(EventFlags::ERR) && self.state == State::Greeting {
            self.take_stamps(transport, desk);
        }
        let Some(socket) = &self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        if self.state == State::Opening {
            socket::connected(socket)?;
            watched.change(socket, EventFlags::IN)?;
            return self.be_connected(watched);
        }
        let lead = desk.realtime_lead;
        match socket::receive(socket, transport, &mut desk.buffer, &mut desk.control, lead)? {
            Received::Nothing if events.contains(EventFlags::OUT) => self.flush(watched),
            Received::Nothing => Ok(()),
            Received::Bytes { count, .. } => self.greet(&desk.buffer[..count], watched),
            Received::End => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn receive(
        &mut self,
        (protocol, transport): (&mut dyn Protocol, Transport),
        ask: impl Fn(usize) -> Ask,
        (bytes, ended): (&[u8], bool),
        at: Nanos,
    ) -> News {
        // Unrequested bytes, or the end of an idle connection.
        let Some(request) = self.request else { return News::Broken(Loss::Closed) };
        if !self.incoming.extend(bytes) {
            return News::Broken(Loss::Garbage);
        }
        if transport == Transport::Datagram {
            self.datagrams.push(self.incoming.bytes().len());
        }
        if self.incoming.bytes().len() < self.wanted && !ended {
            return News::None;
        }
        let (bytes, datagrams) = (self.incoming.bytes(), &self.datagrams);
        match protocol.decode(&ask(request), &ReceivedBytes { bytes, datagrams, ended }) {
            Verdict::Whole(answer) => {
                self.request = None;
                self.pass(transport);
                self.incoming.clear();
                News::Answer(request, answer, at)
            }
            Verdict::More(_) if ended && bytes.is_empty() => News::Broken(Loss::Closed),
            Verdict::More(_) if ended => News::Broken(Loss::Half),
            Verdict::More(total) if total <= LONGEST_RESPONSE => {
                self.wanted = total;
                News::None
            }
            Verdict::More(_) | Verdict::Garbage => News::Broken(Loss::Garbage),
        }
    }
}
