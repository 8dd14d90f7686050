//! A request-response service and its open-loop client. The network between them takes no time, but for a
//! client that waits for a response to send.

mod tier;

use std::collections::VecDeque;

use model::Nanos;
use model::scenario::{self, Architecture};
use model::trace::Request;
use model::workload::{IdleConnections, Planned};

use super::Next;
use super::fast_client::FastClient;
use super::fifo::{Fifo, Links};
use crate::costs::Costs;
use tier::Tier;

/// A place where requests wait for the threads that serve there: the one queue of a worker pool, or a
/// worker's own.
#[derive(Clone, Copy)]
struct Station {
    /// Connections with an unread request, first come, first served.
    work: Fifo,
    /// Blocked threads; the one that has waited longest is woken first, as by a futex.
    waiting: Fifo,
}

pub struct Service {
    /// All requests of the run by intended time. Those before `sent` were sent, those before `due` should
    /// have been: the ones between are held by the client for want of an idle connection.
    requests: Vec<Request>,
    sent: usize,
    due: usize,
    received: u64,
    /// Which connection a request takes is decided by its random number where connections belong to workers.
    random_draws: Vec<u32>,
    idle: IdleConnections,
    /// Connections on which the client has a response and has not sent the held request yet, in the order of
    /// when it does.
    answered: VecDeque<(Nanos, u32)>,
    turnaround: Nanos,
    /// The request on each connection.
    request_on: Vec<u32>,
    /// Queues of connections: the `work` of a station.
    connections: Links,
    /// The station of each connection.
    station_of: Vec<u32>,
    stations: Vec<Station>,
    /// Queues of threads: the `waiting` of a station.
    threads: Links,
    /// The connection that each thread serves.
    serving: Vec<Option<u32>>,
    switch: Nanos,
    /// Connections whose request is sent and not delivered, where interrupts bring them; `None`: it is there
    /// at once.
    wire: Option<Vec<u32>>,
    /// `None`: no worker finds its next request.
    fast_client: Option<FastClient>,
    /// `None`: no service is behind it, nor it behind another.
    tier: Option<Tier>,
}

impl Service {
    /// The kernel's part of a request is one switch to the thread that serves it (Tales section 3.2).
    pub fn new(
        service: &scenario::Service,
        plan: &[Planned],
        costs: &Costs,
        interrupted: bool,
        fast_client: Option<FastClient>,
    ) -> Service {
        let (threads, connections) = (service.threads(), service.connections);
        let stations = match service.architecture {
            Architecture::SharedQueue { .. } => 1,
            Architecture::ThreadPerConnection | Architecture::Partitioned { .. } => threads,
        };
        let mut new = Service {
            requests: plan.iter().map(|planned| unsent(planned, costs.switch)).collect(),
            sent: 0,
            due: 0,
            received: 0,
            random_draws: plan.iter().map(|planned| planned.random).collect(),
            idle: IdleConnections::new(service),
            answered: VecDeque::new(),
            turnaround: costs.turnaround,
            request_on: vec![0; connections as usize],
            connections: Links::new(connections),
            station_of: (0..connections).map(|connection| connection % stations).collect(),
            stations: vec![Station { work: Fifo::EMPTY, waiting: Fifo::EMPTY }; stations as usize],
            threads: Links::new(threads),
            serving: vec![None; threads as usize],
            switch: costs.switch,
            wire: interrupted.then(Vec::new),
            fast_client,
            tier: None,
        };
        (0..threads).for_each(|thread| {
            let station = new.station_of_thread(thread);
            new.stations[station].waiting.push(&mut new.threads, thread);
        });
        new
    }

    /// Either all threads share the one station or each has its own.
    fn station_of_thread(&self, thread: u32) -> usize {
        if self.stations.len() == 1 { 0 } else { thread as usize }
    }

    pub fn plan(&mut self, planned: &Planned) {
        self.requests.push(unsent(planned, self.switch));
        self.random_draws.push(planned.random);
    }

    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    pub fn next_arrival(&self) -> Nanos {
        self.next_intended().min(self.next_answered())
    }

    fn next_intended(&self) -> Nanos {
        self.requests.get(self.due).map_or(Nanos::NEVER, |request| request.intended)
    }

    fn next_answered(&self) -> Nanos {
        self.answered.front().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    pub fn arrive(&mut self, now: Nanos, wake: &mut impl FnMut(u32)) {
        let connection = if self.next_answered() <= self.next_intended() {
            self.answered.pop_front().map(|(_, connection)| connection)
        } else {
            self.due += 1;
            self.idle.take(self.random_draws[self.sent])
        };
        if let Some(connection) = connection {
            self.send(now, connection);
            self.transmit(connection, wake);
        }
    }

    /// Sends the oldest request not sent yet.
    fn send(&mut self, now: Nanos, connection: u32) {
        self.requests[self.sent].sent = now;
        self.request_on[connection as usize] = self.sent as u32;
        if let Some(tier) = &mut self.tier {
            tier.note(self.sent, connection);
        }
        self.sent += 1;
    }

    /// Transmits what was sent on a connection.
    fn transmit(&mut self, connection: u32, wake: &mut impl FnMut(u32)) {
        match &mut self.wire {
            Some(wire) => wire.push(connection),
            None => self.deliver(connection, wake),
        }
    }

    pub fn take_sent(&mut self) -> Vec<u32> {
        self.wire.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn deliver(&mut self, connection: u32, wake: &mut impl FnMut(u32)) {
        let station = &mut self.stations[self.station_of[connection as usize] as usize];
        station.work.push(&mut self.connections, connection);
        if let Some(thread) = station.waiting.pop(&self.threads) {
            wake(thread);
        }
    }

    pub fn ready(&self, own: u32) -> bool {
        !self.stations[self.station_of_thread(own)].work.is_empty()
    }

    pub fn next(&mut self, now: Nanos, own: u32, wake: &mut impl FnMut(u32)) -> Next {
        if let Some(connection) = self.serving[own as usize].take() {
            self.respond(now, connection, wake);
        }
        let station = self.station_of_thread(own);
        let station = &mut self.stations[station];
        let Some(connection) = station.work.pop(&self.connections) else {
            station.waiting.push(&mut self.threads, own);
            return Next::Block;
        };
        self.serving[own as usize] = Some(connection);
        let request = &mut self.requests[self.request_on[connection as usize] as usize];
        request.started = now;
        Next::Run(request.service - self.switch)
    }

    fn respond(&mut self, now: Nanos, connection: u32, wake: &mut impl FnMut(u32)) {
        self.requests[self.request_on[connection as usize] as usize].completed = now;
        if self.tier.is_some() {
            self.pass_on(now, connection);
        } else {
            self.answer(now, connection, wake);
        }
    }

    /// The client has the response at once, and sends a held request on the connection that it frees, rarely
    /// before the worker sleeps.
    fn answer(&mut self, now: Nanos, connection: u32, wake: &mut impl FnMut(u32)) {
        self.requests[self.request_on[connection as usize] as usize].received = now;
        self.received += 1;
        if self.sent + self.answered.len() == self.due {
            self.idle.give_back(connection);
        } else if self.fast_client.as_mut().is_some_and(|fast_client| fast_client.next()) {
            self.send(now, connection);
            self.deliver(connection, wake);
        } else {
            self.answered.push_back((now + self.turnaround, connection));
        }
    }

    pub fn serving(&self, own: u32) -> Option<u32> {
        self.serving[own as usize].map(|connection| self.request_on[connection as usize])
    }

    /// When the request was sent that a thread serves, or would begin with; behind another service, since
    /// when it counts.
    pub fn request_at(&self, own: u32) -> Option<Nanos> {
        let next = self.stations[self.station_of_thread(own)].work.first();
        let connection = self.serving[own as usize].or(next)?;
        let sent = self.requests[self.request_on[connection as usize] as usize].sent;
        Some(self.tier.as_ref().and_then(|tier| tier.woken_for(own)).unwrap_or(sent))
    }

    pub fn outstanding(&self) -> u64 {
        self.due as u64 - self.received
    }

    pub fn into_requests(self) -> Vec<Request> {
        self.requests
    }
}

fn unsent(planned: &Planned, switch_cost: Nanos) -> Request {
    Request {
        intended: planned.intended,
        sent: Nanos::NEVER,
        started: Nanos::NEVER,
        completed: Nanos::NEVER,
        received: Nanos::NEVER,
        service: planned.service + switch_cost,
    }
}
