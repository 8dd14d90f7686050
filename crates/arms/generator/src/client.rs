//! The client of one service: its connections, its requests, and which goes over which.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::Nanos;
use model::scenario::Service;
use model::seed::derive;
use model::workload::{IdleConnections, Planned};
use rustix::event::epoll::EventFlags;

use crate::address::Address;
use crate::clock;
use crate::desk::Desk;
use crate::incoming::Room;
use crate::link::{Beginning, Link, News, State};
use crate::live_counters::LiveCounters;
use crate::pipe::Watched;
use crate::protocol::{Answer, Protocol};
use crate::record::{Loss, Record};
use crate::socket::Transport;

/// Connections that are being opened at a time: a server's backlog holds hundreds, and what it drops comes
/// back a second later.
const OPENING_AT_ONCE: usize = 128;
/// From the end of a connection to the attempt to open it anew, where it did not end as planned.
const PAUSE: Nanos = Nanos::from_millis(50);

/// Where a client connects to, and again whenever a connection ends.
#[derive(Clone, Debug)]
pub struct Peer {
    /// How bytes travel.
    pub transport: Transport,
    /// To where.
    pub address: Address,
}

/// What a client puts up with.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A request without response for so long is lost, and its connection opened anew. [`Nanos::NEVER`]: no
    /// limit.
    pub timeout: Nanos,
    /// Requests that a connection carries before the client closes it and opens another: least and most,
    /// drawn from the request's random number.
    pub requests_per_connection: Option<(u32, u32)>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { timeout: Nanos::NEVER, requests_per_connection: None }
    }
}

/// What a client is to send, and how.
pub struct Plan<'a> {
    /// The service, for its connections and their owners.
    pub service: &'a Service,
    /// Its requests, in the order of their moments.
    pub requests: &'a [Planned],
    /// What goes over the connections.
    pub protocol: Box<dyn Protocol>,
    /// What the client puts up with.
    pub limits: Limits,
    /// The observer.
    pub live: Option<Arc<LiveCounters>>,
    /// Whether the client's kernel is to stamp what passes it.
    pub socket_timestamps: bool,
}

/// What happened to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections that were opened.
    pub opened: u64,
    /// Attempts that failed.
    pub refused: u64,
    /// Connections that the server closed, or sent bytes on, while they carried no request.
    pub dropped_idle: u64,
}

/// The client of one service, in the care of one thread.
pub struct Client {
    links: Vec<Link>,
    idle: IdleConnections,
    /// Requests whose moment has come while no connection was idle, first come, first served.
    held: VecDeque<usize>,
    pub(crate) records: Vec<Record>,
    protocol: Box<dyn Protocol>,
    peer: Option<Peer>,
    limits: Limits,
    live: Option<Arc<LiveCounters>>,
    epoll: Arc<OwnedFd>,
    number: u64,
    /// (When it is given up, connection, request), in that order.
    patience: VecDeque<(Nanos, usize, usize)>,
    /// Requests that each connection carries at a time, at most. Those of all of them have places: first the
    /// first of each, then the second of each.
    streams: usize,
    /// Which places stand among the idle ones, from where none can be taken when its connection closes.
    in_idle: Vec<bool>,
    /// (When to open it, connection), in that order.
    closed: VecDeque<(Nanos, usize)>,
    opening: usize,
    /// (When it is given up, connection, its attempt), in that order.
    greetings: VecDeque<(Nanos, usize, u64)>,
    pub(crate) outstanding: usize,
    pub(crate) start: Nanos,
    /// When the run ended.
    pub(crate) end: Nanos,
    tally: Tally,
    pub(crate) trouble: Option<io::Error>,
}

impl Client {
    /// A client whose connections there are already, in the order in which the server accepted them; they are
    /// never opened anew.
    pub(crate) fn adopting(
        plan: Plan,
        sockets: Vec<OwnedFd>,
        epoll: Arc<OwnedFd>,
        number: u64,
    ) -> io::Result<Client> {
        let mut client = Client::new(plan, epoll, number);
        for (index, socket) in sockets.into_iter().enumerate() {
            let watched = Watched { epoll: &client.epoll, place: place(number, index) };
            client.links[index].adopt(socket, watched)?;
        }
        Ok(client)
    }

    /// A client that opens its connections itself.
    pub(crate) fn opening(plan: Plan, peer: Peer, epoll: Arc<OwnedFd>, number: u64) -> Client {
        let mut client = Client::new(plan, epoll, number);
        client.peer = Some(peer);
        client.closed.extend((0..client.links.len()).map(|index| (Nanos::ZERO, index)));
        client
    }

    fn new(plan: Plan, epoll: Arc<OwnedFd>, number: u64) -> Client {
        let room = Room::default();
        let links = std::iter::repeat_with(|| Link::new(plan.socket_timestamps, &room));
        let streams = plan.protocol.session().map_or(1, |(streams, _)| streams.max(1));
        let places = plan.service.connections * streams as u32;
        let of_places = Service { connections: places, ..plan.service.clone() };
        Client {
            links: links.take(plan.service.connections as usize).collect(),
            streams,
            in_idle: vec![true; places as usize],
            idle: IdleConnections::new(&of_places),
            held: VecDeque::new(),
            records: Record::numbered(plan.requests),
            protocol: plan.protocol,
            peer: None,
            limits: plan.limits,
            live: plan.live,
            epoll,
            number,
            patience: VecDeque::new(),
            closed: VecDeque::new(),
            opening: 0,
            greetings: VecDeque::new(),
            outstanding: 0,
            start: Nanos::ZERO,
            end: Nanos::ZERO,
            tally: Tally::default(),
            trouble: None,
        }
    }

    /// Connections that cannot carry requests yet.
    pub(crate) fn missing(&self) -> usize {
        self.links.iter().filter(|link| link.state() != State::Open).count()
    }

    /// The next moment at which something is to be done unasked.
    pub(crate) fn next_chore(&self) -> Nanos {
        let patience = self.patience.front().map_or(Nanos::NEVER, |(at, ..)| *at);
        let closed = self.closed.front().filter(|_| self.opening < OPENING_AT_ONCE);
        let greeting = self.greetings.front().map_or(Nanos::NEVER, |(at, ..)| *at);
        patience.min(greeting).min(closed.map_or(Nanos::NEVER, |(at, _)| *at))
    }

    /// Gives up what has waited too long, and opens connections anew.
    pub(crate) fn do_chores(&mut self, now: Nanos) {
        while let Some((_, link, request)) = due(&mut self.patience, |(at, ..)| *at <= now) {
            self.give_up(link, request, now);
        }
        while let Some((_, link, attempt)) = due(&mut self.greetings, |(at, ..)| *at <= now) {
            if self.links[link].is_opening() && self.links[link].attempt() == attempt {
                self.refused(link, io::ErrorKind::TimedOut.into());
            }
        }
        while self.opening < OPENING_AT_ONCE
            && let Some((_, link)) = due(&mut self.closed, |(at, _)| *at <= now)
        {
            self.open(link, now);
        }
    }

    /// A request's moment has come.
    pub(crate) fn offer(&mut self, request: usize, at: Nanos) {
        self.outstanding += 1;
        self.records[request].ready = at;
        match self.take_idle(self.records[request].planned.random) {
            Some(place) => self.send(place, request),
            None => self.held.push_back(request),
        }
    }

    /// The place that has been idle longest and whose connection is still there. One that is not comes back
    /// when that is open again.
    fn take_idle(&mut self, lot: u32) -> Option<usize> {
        while let Some(place) = self.idle.take(lot) {
            let place = place as usize;
            self.in_idle[place] = false;
            if self.can_take(place) {
                return Some(place);
            }
        }
        None
    }

    fn link_of(&self, place: usize) -> usize {
        place % self.links.len()
    }

    fn can_take(&self, place: usize) -> bool {
        self.links[self.link_of(place)].can_take(place / self.links.len())
    }

    /// A request has waited too long. It ends alone where others are on its connection.
    fn give_up(&mut self, link: usize, request: usize, now: Nanos) {
        if self.links[link].request == Some(request) {
            return self.break_off(link, self.overdue(link));
        }
        let watched = Watched { epoll: &self.epoll, place: place(self.number, link) };
        if let Some((place, loss)) = self.links[link].give_up(request, watched) {
            self.lose(request, loss);
            self.release(place, now);
        }
    }

    /// Something happened on a connection.
    pub(crate) fn attend(&mut self, index: usize, events: EventFlags, desk: &mut Desk) {
        let transport = self.transport();
        let link = &mut self.links[index];
        let records = &self.records;
        let ask = |request: usize| records[request].ask();
        let watched = Watched { epoll: &self.epoll, place: place(self.number, index) };
        let news = link.attend(events, (&mut *self.protocol, transport), ask, desk, watched);
        match news {
            News::None => {}
            News::Opened => self.opened(index),
            News::Answer(request, answer, at) => self.answered(index, (request, answer), at),
            News::Ends(ends, at) => self.ended(index, ends, at),
            News::Refused(error) => self.refused(index, error),
            News::Broken(loss) => self.break_off(index, loss),
        }
    }

    fn transport(&self) -> Transport {
        self.peer.as_ref().map_or(Transport::Stream, |peer| peer.transport)
    }

    fn ended(&mut self, index: usize, ends: Vec<(usize, usize, Result<Answer, Loss>)>, at: Nanos) {
        let is_idle = ends.is_empty();
        for (request, place, end) in ends {
            match end {
                Ok(answer) => self.answered(place, (request, answer), at),
                Err(loss) => {
                    self.lose(request, loss);
                    self.release(place, at);
                }
            }
        }
        if is_idle && self.links[index].is_done() {
            self.break_off(index, Loss::Closed);
        }
    }

    fn answered(&mut self, place: usize, (request, answer): (usize, Answer), at: Nanos) {
        let index = self.link_of(place);
        let record = &mut self.records[request];
        (record.received, record.stamps) = (at, answer.stamps);
        record.complaint = answer.complaint;
        record.place = self.links[index].place();
        record.timestamps = self.links[index].timestamps();
        let intended = self.start + record.planned.intended;
        self.outstanding -= 1;
        if let Some(live) = &self.live {
            live.answer(at.saturating_sub(intended));
            if record.timestamps.is_some() {
                live.add_stamped(record);
            }
        }
        let link = &mut self.links[index];
        link.is_leaving |= self.peer.is_some() && (answer.last || link.has_carried_enough());
        self.release(place, at);
    }

    /// A request has left its place.
    fn release(&mut self, place: usize, at: Nanos) {
        let index = self.link_of(place);
        if self.links[index].is_done() {
            self.links[index].close();
            self.closed.push_front((Nanos::ZERO, index));
        } else if self.can_take(place) {
            self.free(place, at);
        }
    }

    fn opened(&mut self, index: usize) {
        self.opening -= 1;
        self.tally.opened += 1;
        let link = &mut self.links[index];
        link.most = self.limits.requests_per_connection.map_or(u32::MAX, |(least, most)| {
            let lot = derive(index as u64, &[self.number, self.tally.opened]);
            least + (lot % u64::from(most - least + 1)) as u32
        });
        let links = self.links.len();
        let places = (0..self.streams).map(|nth| nth * links + index);
        for place in places {
            if !self.in_idle[place] && self.can_take(place) {
                self.free(place, clock::now());
            }
        }
    }

    fn refused(&mut self, index: usize, error: io::Error) {
        self.opening -= 1;
        self.tally.refused += 1;
        self.trouble = Some(error);
        self.links[index].close();
        self.closed.push_back((clock::now() + PAUSE, index));
    }

    fn open(&mut self, index: usize, now: Nanos) {
        let Some(peer) = &self.peer else { return };
        let watched = Watched { epoll: &self.epoll, place: place(self.number, index) };
        let link = &mut self.links[index];
        let (channel, greeting) = (self.protocol.channel(), self.protocol.greeting());
        let session = self.protocol.session().map(|(_, session)| session);
        let is_greeted = channel.is_some() || greeting.is_some() || session.is_some();
        let begin = Beginning { channel, session, greeting };
        self.opening += 1;
        match link.open((peer.transport, &peer.address), begin, watched) {
            Ok(()) if link.state() == State::Open => self.opened(index),
            Ok(()) if is_greeted && self.limits.timeout != Nanos::NEVER => {
                self.greetings.push_back((now + self.limits.timeout, index, link.attempt()));
            }
            Ok(()) => {}
            Err(error) => self.refused(index, error),
        }
    }

    /// Gives a place that has just become free to the request that has been held longest.
    fn free(&mut self, place: usize, at: Nanos) {
        match self.held.pop_front() {
            Some(request) => {
                let ready = &mut self.records[request].ready;
                *ready = at.max(*ready);
                self.send(place, request);
            }
            None => {
                self.in_idle[place] = true;
                self.idle.give_back(place as u32);
            }
        }
    }

    /// Sends; a request that cannot be sent, because the server is gone, is lost.
    fn send(&mut self, at: usize, request: usize) {
        let index = self.link_of(at);
        let ask = self.records[request].ask();
        let watched = Watched { epoll: &self.epoll, place: place(self.number, index) };
        let transport = self.transport();
        match self.links[index].send((&mut *self.protocol, transport), (&ask, at), watched) {
            Ok(sent) => {
                self.records[request].sent = sent;
                if self.limits.timeout != Nanos::NEVER {
                    self.patience.push_back((sent + self.limits.timeout, index, request));
                }
                if let Some(live) = &self.live {
                    live.send();
                }
            }
            Err(loss) => self.break_off(index, loss),
        }
    }

    /// A connection is of no use any more; what it carried is lost.
    fn break_off(&mut self, index: usize, loss: Loss) {
        let waiting = self.links[index].waiting();
        self.tally.dropped_idle += u64::from(waiting.is_empty());
        waiting.into_iter().for_each(|(request, _)| self.lose(request, loss));
        self.links[index].close();
        if self.peer.is_some() {
            self.closed.push_back((clock::now() + PAUSE, index));
        }
    }

    fn lose(&mut self, request: usize, loss: Loss) {
        self.records[request].loss = Some(loss);
        self.outstanding -= 1;
        if let Some(live) = &self.live {
            live.lose();
        }
    }

    /// Why the request of a connection has no response yet.
    fn overdue(&self, index: usize) -> Loss {
        if self.links[index].has_received() { Loss::Half } else { Loss::Silent }
    }

    /// What became of every request and of the connections. This closes them, at which a server's threads
    /// end.
    pub(crate) fn finish(mut self) -> (Vec<Record>, Tally) {
        for index in 0..self.links.len() {
            for (request, loss) in self.links[index].waiting() {
                // By when it could be sent: what was sent late was due before the end all the same.
                let ready = self.records[request].ready;
                let is_due = ready.saturating_add(self.limits.timeout) <= self.end;
                self.records[request].loss = Some(if is_due { loss } else { Loss::InFlight });
            }
            self.links[index].close();
        }
        for record in &mut self.records {
            if record.received == Nanos::NEVER {
                record.loss.get_or_insert(Loss::Unsent);
            }
            *record = record.since(self.start);
        }
        (self.records, self.tally)
    }
}

/// The first of a queue, if it is due.
fn due<T>(queue: &mut VecDeque<T>, is_due: impl Fn(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}

/// The number under which a connection is watched.
fn place(client: u64, link: usize) -> u64 {
    client << 32 | link as u64
}
