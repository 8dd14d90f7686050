//! The one thread that sends all requests and takes all responses, on a CPU of its own.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Nanos;
use model::scenario::Service;
use model::workload::{IdleConnections, Planned};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::Record;
use super::link::Link;
use crate::clock;

/// At most so long before a deadline the sleep ends and watching begins. A timer's wake-up takes this long on a
/// machine that has to leave an idle state first.
const LONGEST_WATCH: Nanos = Nanos::from_micros(100);
/// Nor does watching take more than this part of the mean gap: a generator with real-time priority that never
/// slept would be throttled by the kernel, 50 ms in each second.
const WATCH_PART_OF_GAP: u64 = 4;
/// The longest sleep without a look at whether the run was cancelled.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(50);

/// Sends every request of every service at its intended moment.
pub struct Generator {
    clients: Vec<Client>,
    epoll: OwnedFd,
    watch: Nanos,
    outstanding: usize,
}

/// The client of one service.
struct Client {
    links: Vec<Link>,
    idle: IdleConnections,
    /// Requests whose moment has come while no connection was idle, first come, first served.
    held: VecDeque<usize>,
    records: Vec<Record>,
}

/// A request's turn.
#[derive(Clone, Copy)]
struct Due {
    at: Nanos,
    client: usize,
    request: usize,
}

impl Generator {
    /// A generator without services yet.
    pub fn new() -> io::Result<Generator> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Generator { clients: Vec::new(), epoll, watch: LONGEST_WATCH, outstanding: 0 })
    }

    /// Adds a service with its connections, in the order in which the server accepted them, and its requests.
    pub fn add(&mut self, service: &Service, links: Vec<Link>, plan: &[Planned]) -> io::Result<()> {
        for (i, link) in links.iter().enumerate() {
            let place = EventData::new_u64((self.clients.len() as u64) << 32 | i as u64);
            epoll::add(&self.epoll, link.socket(), place, EventFlags::IN)?;
        }
        let idle = IdleConnections::new(service);
        let records = plan.iter().copied().map(Record::new).collect();
        self.clients.push(Client { links, idle, held: VecDeque::new(), records });
        Ok(())
    }

    /// Sends everything, from `start` on, and waits for what is outstanding until `deadline` or until told to stop.
    pub fn run(&mut self, start: Nanos, deadline: Nanos, stop: &AtomicBool) {
        let turns = self.turns(start);
        self.watch = watch_before(&turns);
        let mut next = 0;
        while !stop.load(Ordering::Relaxed) && clock::now() < deadline {
            next += self.offer_due(&turns[next..]);
            match turns.get(next) {
                None if self.outstanding == 0 => break,
                turn => self.attend(turn.map_or(deadline, |turn| turn.at)),
            }
        }
    }

    /// The records of each service, in the order of [`Generator::add`], counted from `start`. This closes the connections, at which
    /// a server's threads end.
    pub fn into_records(self, start: Nanos) -> Vec<Vec<Record>> {
        let since_start =
            |client: Client| client.records.into_iter().map(|r| r.since(start)).collect();
        self.clients.into_iter().map(since_start).collect()
    }

    /// All requests of all services in the order of their moments.
    fn turns(&self, start: Nanos) -> Vec<Due> {
        let mut turns: Vec<Due> = Vec::new();
        for (client, Client { records, .. }) in self.clients.iter().enumerate() {
            turns.extend(records.iter().enumerate().map(|(request, record)| Due {
                at: start + record.planned.intended,
                client,
                request,
            }));
        }
        turns.sort_by_key(|turn| turn.at);
        turns
    }

    /// Sends, or holds, every request whose moment has come; how many.
    fn offer_due(&mut self, turns: &[Due]) -> usize {
        let due = |turn: &&Due| turn.at <= clock::now();
        turns.iter().take_while(due).map(|turn| self.offer(turn)).count()
    }

    fn offer(&mut self, turn: &Due) {
        self.outstanding += 1;
        let client = &mut self.clients[turn.client];
        let record = &mut client.records[turn.request];
        record.ready = turn.at;
        match client.idle.take(record.planned.lot) {
            Some(link) => client.send(link as usize, turn.request),
            None => client.held.push_back(turn.request),
        }
    }

    /// Takes responses as they come, until `until` at most: asleep at first, watching at the end.
    fn attend(&mut self, until: Nanos) {
        let asleep = until.saturating_sub(self.watch).saturating_sub(clock::now());
        let nanos = asleep.min(LONGEST_SLEEP).0;
        let timeout = Timespec { tv_sec: 0, tv_nsec: nanos as i64 };
        let mut room = [MaybeUninit::<Event>::uninit(); 64];
        // Only a signal makes it fail; then the caller's loop asks again.
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut room, Some(&timeout)) else { return };
        if events.is_empty() {
            return;
        }
        let lead = clock::realtime_lead();
        for event in events {
            let place = event.data.u64();
            self.take(((place >> 32) as usize, (place & 0xffff_ffff) as usize), lead);
        }
    }

    fn take(&mut self, (client, link): (usize, usize), realtime_lead: Nanos) {
        let client = &mut self.clients[client];
        match client.links[link].receive(realtime_lead) {
            Ok(None) => {}
            Ok(Some(response)) => {
                let Some(request) = client.links[link].request.take() else { return };
                client.records[request].received = response.received;
                client.records[request].stamps = Some(response.stamps);
                self.outstanding -= 1;
                client.free(link, response.received);
            }
            // The server has hung up: its requests stay lost, and nothing is sent here again.
            Err(_) => drop(epoll::delete(&self.epoll, client.links[link].socket())),
        }
    }
}

impl Client {
    /// Gives a connection that has just become free to the request that has been held longest.
    fn free(&mut self, link: usize, at: Nanos) {
        match self.held.pop_front() {
            Some(request) => {
                let ready = &mut self.records[request].ready;
                *ready = at.max(*ready);
                self.send(link, request);
            }
            None => self.idle.give_back(link as u32),
        }
    }

    /// Sends; a request that cannot be sent any more, because the server is gone, stays lost.
    fn send(&mut self, link: usize, request: usize) {
        let service = self.records[request].planned.service;
        if let Ok(sent) = self.links[link].send(request, service) {
            self.records[request].sent = sent;
        }
    }
}

/// How long before a deadline to begin watching for it.
fn watch_before(turns: &[Due]) -> Nanos {
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return LONGEST_WATCH };
    let gap = Nanos((last.at - first.at).0 / turns.len() as u64);
    LONGEST_WATCH.min(Nanos(gap.0 / WATCH_PART_OF_GAP))
}
