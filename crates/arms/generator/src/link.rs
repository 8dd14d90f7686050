//! One connection of a client: one request on its way at a time, or as many as its session takes.

use std::io;
use std::os::fd::OwnedFd;

use model::Nanos;
use rustix::event::epoll::EventFlags;

use crate::address::Address;
use crate::clock;
use crate::desk::Desk;
use crate::greeting::{Greeting, Underway};
use crate::incoming::{Incoming, Room};
use crate::pipe::{Pipe, Watched};
use crate::protocol::{Answer, Ask, Protocol, ReceivedBytes, Verdict};
use crate::record::{Loss, Place};
use crate::secure_channel::SecureChannel;
use crate::session::{End, Session};
use crate::socket::{self, Received, Transport};
use crate::socket_timestamps::{SocketTimestamps, next_stamp, stamp_departures};

/// A longer response is garbage: a server that never ends one must not fill the memory.
const LONGEST_RESPONSE: usize = 64 << 20;

/// A connection and the request that is on its way over it.
pub struct Link {
    pipe: Option<Pipe>,
    state: State,
    /// The request that waits for its response.
    pub request: Option<usize>,
    /// What carries several at a time, and those that wait: the request, and its place among the idle ones.
    session: Option<Box<dyn Session>>,
    carrying: Vec<(usize, usize)>,
    /// Whether it is to close when nothing waits any more.
    pub is_leaving: bool,
    /// How often it was to be opened.
    attempt: u64,
    /// Requests that it has carried since it was opened.
    carried: u32,
    /// Requests that it is to serve.
    pub most: u32,
    incoming: Incoming,
    datagrams: Vec<usize>,
    /// What is said before requests.
    greeting: Option<Underway>,
    /// The port, and what went over it up to the end of the request that was sent last, or of its answer.
    place: Place,
    /// Bytes of the response without which it cannot be whole.
    wanted: usize,
    /// What the kernel stamped of the request, where it is to stamp.
    timestamps: Option<SocketTimestamps>,
}

/// What a connection begins with.
pub struct Beginning {
    /// What hides all that goes over it.
    pub channel: Option<Box<dyn SecureChannel>>,
    /// What carries several requests at a time.
    pub session: Option<Box<dyn Session>>,
    /// What is said before requests.
    pub greeting: Option<Box<dyn Greeting>>,
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
    /// Requests with their places that have ended, and when.
    Ends(Vec<(usize, usize, Result<Answer, Loss>)>, Nanos),
    /// It is of no use any more, and its request has no response for this reason.
    Broken(Loss),
}

impl Link {
    /// A connection that has yet to be opened, whether the kernel is to stamp what passes it, and the room
    /// that it shares with others.
    pub fn new(socket_timestamps: bool, room: &Room) -> Link {
        Link {
            pipe: None,
            state: State::Closed,
            request: None,
            session: None,
            carrying: Vec::new(),
            is_leaving: false,
            attempt: 0,
            carried: 0,
            most: u32::MAX,
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
        (self.pipe, self.state) = (Some(Pipe::new(socket, None)), State::Open);
        Ok(())
    }

    /// Begins to connect.
    pub fn open(
        &mut self,
        (transport, to): (Transport, &Address),
        begin: Beginning,
        watched: Watched,
    ) -> io::Result<()> {
        let (socket, connected) = socket::open(transport, to)?;
        let interest = if connected { EventFlags::IN } else { EventFlags::OUT };
        watched.add(&socket, interest)?;
        self.place = Place { port: socket::port(&socket), ..Place::default() };
        (self.pipe, self.state) = (Some(Pipe::new(socket, begin.channel)), State::Opening);
        (self.carried, self.is_leaving) = (0, false);
        self.session = begin.session;
        self.greeting = begin.greeting.map(Underway::new);
        self.attempt += 1;
        if connected { self.be_connected(watched) } else { Ok(()) }
    }

    /// A kernel that does not stamp leaves requests without stamps: no reason not to measure.
    fn be_connected(&mut self, watched: Watched) -> io::Result<()> {
        let stamps = |pipe: &Pipe| stamp_departures(&pipe.socket).is_ok();
        self.timestamps = self.timestamps.filter(|_| self.pipe.as_ref().is_some_and(stamps));
        self.state = State::Greeting;
        self.go_on_greeting(&[], &mut Vec::new(), watched)
    }

    /// Takes what came before requests can, and says what comes next.
    fn go_on_greeting(
        &mut self,
        came: &[u8],
        plain: &mut Vec<u8>,
        watched: Watched,
    ) -> io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let opened = pipe.open(came, plain, Transport::Stream);
        // Also what is said of an error.
        pipe.flush(watched)?;
        let (came, _) = opened?;
        if !pipe.is_established() {
            return Ok(());
        }
        let Some(session) = &mut self.session else { return self.greet(came, watched) };
        let mut said = Vec::new();
        session.receive(came, &mut said, &mut Vec::new())?;
        if session.room().is_some() {
            self.state = State::Open;
        }
        pipe.say(Transport::Stream, |out| out.extend(said))?;
        pipe.flush(watched)
    }

    /// Says what comes next before requests can.
    fn greet(&mut self, came: &[u8], watched: Watched) -> io::Result<()> {
        let Some(underway) = &mut self.greeting else {
            self.state = State::Open;
            return Ok(());
        };
        let mut said = Vec::new();
        let is_done = underway.go_on(came, &mut said)?;
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if !said.is_empty() {
            pipe.say(Transport::Stream, |out| out.extend(said))?;
        }
        pipe.flush(watched)?;
        if is_done {
            (self.greeting, self.state) = (None, State::Open);
        }
        Ok(())
    }

    /// Closes the connection; what was on its way is forgotten.
    pub fn close(&mut self) {
        self.incoming.clear();
        if let Some(pipe) = self.pipe.as_mut().filter(|_| self.state == State::Open) {
            pipe.end();
        }
        // The kernel takes a closed socket out of the epoll instance.
        (self.pipe, self.state, self.request) = (None, State::Closed, None);
        // Its session stays until the next: of requests that ended together one closes it, and the others are
        // still to be counted as having shared it.
        self.greeting = None;
        self.carrying.clear();
    }

    /// Whether it takes a request as its so-manieth.
    pub fn can_take(&self, nth: usize) -> bool {
        let room = || self.session.as_ref().map_or(1, |session| session.room().unwrap_or(0));
        self.state == State::Open && !self.is_leaving && nth < room()
    }

    /// Whether it is open for nothing any more.
    pub fn is_done(&self) -> bool {
        let is_idle = self.request.is_none() && self.carrying.is_empty();
        is_idle && self.state == State::Open && !self.can_take(0)
    }

    /// Requests that wait, each as it has come so far.
    pub fn waiting(&mut self) -> Vec<(usize, Loss)> {
        let overdue = |has_begun| if has_begun { Loss::Half } else { Loss::Silent };
        let one = self.request.map(|request| (request, overdue(self.has_received())));
        let mut all: Vec<(usize, Loss)> = one.into_iter().collect();
        for (request, _) in &self.carrying {
            let session = self.session.as_mut();
            let begun = session.is_some_and(|s| s.give_up(*request as u64, &mut Vec::new()));
            all.push((*request, overdue(begun)));
        }
        all
    }

    /// Ends one of several requests; its place, and why it has no response. `None`: it is not on its way.
    pub fn give_up(&mut self, request: usize, watched: Watched) -> Option<(usize, Loss)> {
        let at = self.carrying.iter().position(|(one, _)| *one == request)?;
        let (_, place) = self.carrying.swap_remove(at);
        let (session, pipe) = (self.session.as_mut()?, self.pipe.as_mut()?);
        let mut said = Vec::new();
        let loss =
            if session.give_up(request as u64, &mut said) { Loss::Half } else { Loss::Silent };
        let told = pipe.say(Transport::Stream, |out| out.extend(said));
        // Where that fails, the socket tells of it.
        let _ = told.and_then(|()| pipe.flush(watched));
        Some((place, loss))
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

    /// Where the request that was answered last was in what went over the connection; of several at a time it
    /// is unknown.
    pub fn place(&self) -> Option<Place> {
        self.session.is_none().then_some(self.place)
    }

    /// When that request passed the kernel, where it stamps.
    pub fn timestamps(&self) -> Option<SocketTimestamps> {
        self.timestamps.filter(|_| self.session.is_none())
    }

    /// Takes the stamps of the request that is on its way; whether there were any. The kernel puts them where
    /// errors are, and does not end to say so until they are gone. Errors stay.
    fn take_stamps(&mut self, desk: &mut Desk) -> bool {
        let last = self.place.request_end.wrapping_sub(1) as u32;
        let (Some(pipe), Some(timestamps)) = (&self.pipe, &mut self.timestamps) else {
            return false;
        };
        let lead = desk.realtime_lead;
        let mut any = false;
        while let Ok(Some(stamp)) = next_stamp(&pipe.socket, &mut desk.stamps, lead) {
            timestamps.take(stamp, last);
            any = true;
        }
        any
    }

    /// Whether a part of the response has come.
    pub fn has_received(&self) -> bool {
        !self.incoming.bytes().is_empty()
    }

    /// Sends a request from its place among the idle ones; the moment just before.
    pub fn send(
        &mut self,
        (protocol, transport): (&mut dyn Protocol, Transport),
        (ask, place): (&Ask, usize),
        watched: Watched,
    ) -> Result<Nanos, Loss> {
        self.carried += 1;
        if self.session.is_some() {
            return self.begin((ask, place), watched);
        }
        self.incoming.clear();
        self.datagrams.clear();
        self.wanted = 1;
        self.timestamps = self.timestamps.map(|_| SocketTimestamps::UNSEEN);
        self.request = Some(ask.id as usize);
        let pipe = self.pipe.as_mut().ok_or(Loss::Reset)?;
        pipe.say(transport, |out| protocol.encode(ask, out)).map_err(|_| Loss::Reset)?;
        self.place.request_end = pipe.asked;
        self.place.answer_begin = pipe.received;
        let sent = clock::now();
        pipe.flush(watched).map_err(|_| Loss::Reset)?;
        Ok(sent)
    }

    /// Begins one of several requests.
    fn begin(&mut self, (ask, place): (&Ask, usize), watched: Watched) -> Result<Nanos, Loss> {
        self.carrying.push((ask.id as usize, place));
        let (session, pipe) = self.session.as_mut().zip(self.pipe.as_mut()).ok_or(Loss::Reset)?;
        let mut said = Vec::new();
        session.ask(ask, &mut said)?;
        pipe.say(Transport::Stream, |out| out.extend(said)).map_err(|_| Loss::Reset)?;
        let sent = clock::now();
        pipe.flush(watched).map_err(|_| Loss::Reset)?;
        Ok(sent)
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
        if self.is_opening() {
            return match self.go_on_opening(events, protocol.1, desk, watched) {
                Err(error) => News::Refused(error),
                Ok(()) if self.state == State::Open => News::Opened,
                Ok(()) => News::None,
            };
        }
        let had_stamps = events.contains(EventFlags::ERR) && self.take_stamps(desk);
        let Some(pipe) = &mut self.pipe else { return News::None };
        if events.contains(EventFlags::OUT) && pipe.flush(watched).is_err() {
            return News::Broken(Loss::Reset);
        }
        if had_stamps && !events.intersects(EventFlags::IN | EventFlags::HUP) {
            return News::None;
        }
        let lead = desk.realtime_lead;
        let (buffer, control) = (&mut desk.buffer, &mut desk.control);
        match socket::receive(&pipe.socket, protocol.1, buffer, control, lead) {
            Ok(Received::Nothing) => News::None,
            Ok(Received::Bytes { count, at, read }) => {
                self.timestamps =
                    self.timestamps.map(|timestamps| SocketTimestamps { read, ..timestamps });
                let opened = pipe.open(&buffer[..count], &mut desk.plain, protocol.1);
                let flushed = pipe.flush(watched);
                match (opened, flushed) {
                    (Ok(came), Ok(())) if self.session.is_some() => self.go_on(came, at, watched),
                    (Ok(came), Ok(())) => self.receive(protocol, ask, came, at),
                    (Err(error), _) if error.kind() == io::ErrorKind::InvalidData => {
                        News::Broken(Loss::Garbage)
                    }
                    _ => News::Broken(Loss::Reset),
                }
            }
            Ok(Received::End) if pipe.is_whole() && self.session.is_none() => {
                self.receive(protocol, ask, (&[], true), clock::now())
            }
            Ok(Received::End) if self.has_received() => News::Broken(Loss::Half),
            Ok(Received::End) => News::Broken(Loss::Closed),
            Err(_) => News::Broken(Loss::Reset),
        }
    }

    /// Goes on with several requests.
    fn go_on(&mut self, (came, ended): (&[u8], bool), at: Nanos, watched: Watched) -> News {
        let Some((session, pipe)) = self.session.as_mut().zip(self.pipe.as_mut()) else {
            return News::None;
        };
        let (mut said, mut ends) = (Vec::new(), Vec::new());
        let received = session.receive(came, &mut said, &mut ends);
        let told = pipe.say(Transport::Stream, |out| out.extend(said));
        let told = told.and_then(|()| pipe.flush(watched));
        match received {
            Err(error) if ends.is_empty() && error.kind() == io::ErrorKind::InvalidData => {
                News::Broken(Loss::Garbage)
            }
            Err(_) if ends.is_empty() => News::Broken(Loss::Reset),
            _ if ends.is_empty() && told.is_err() => News::Broken(Loss::Reset),
            _ if ends.is_empty() && ended => News::Broken(Loss::Closed),
            // What is wrong beside the ends is told again at the next look.
            _ => News::Ends(ends.into_iter().filter_map(|end| self.ended(end)).collect(), at),
        }
    }

    fn ended(&mut self, (id, result): End) -> Option<(usize, usize, Result<Answer, Loss>)> {
        let at = self.carrying.iter().position(|(request, _)| *request as u64 == id)?;
        let (request, place) = self.carrying.swap_remove(at);
        Some((request, place, result))
    }

    fn go_on_opening(
        &mut self,
        events: EventFlags,
        transport: Transport,
        desk: &mut Desk,
        watched: Watched,
    ) -> io::Result<()> {
        if events.contains(EventFlags::ERR) && self.state == State::Greeting {
            self.take_stamps(desk);
        }
        let pipe = self.pipe.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if self.state == State::Opening {
            socket::connected(&pipe.socket)?;
            watched.change(&pipe.socket, EventFlags::IN)?;
            return self.be_connected(watched);
        }
        let lead = desk.realtime_lead;
        let (buffer, control) = (&mut desk.buffer, &mut desk.control);
        match socket::receive(&pipe.socket, transport, buffer, control, lead)? {
            Received::Nothing if events.contains(EventFlags::OUT) => pipe.flush(watched),
            Received::Nothing => Ok(()),
            Received::Bytes { count, .. } => {
                self.go_on_greeting(&buffer[..count], &mut desk.plain, watched)
            }
            Received::End if self.session.is_some() && pipe.is_established() => Err(no_session()),
            Received::End => Err(pipe.cut_off()),
        }
    }

    fn receive(
        &mut self,
        (protocol, transport): (&mut dyn Protocol, Transport),
        ask: impl Fn(usize) -> Ask,
        (bytes, ended): (&[u8], bool),
        at: Nanos,
    ) -> News {
        // What a secure channel says of itself is no answer.
        if bytes.is_empty() && !ended && transport == Transport::Stream {
            return News::None;
        }
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
                self.place.answer_end = self.pipe.as_ref().map_or(0, |pipe| pipe.received);
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

/// The server ended the connection where its part of a session was due.
fn no_session() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it ended the connection before its first word")
}
