//! A request-response service and its open-loop client. The network between them takes no time.

use std::collections::VecDeque;

use model::Nanos;
use model::scenario::{self, Architecture};
use model::trace::Request;
use model::workload::Planned;

use super::Next;

/// A place where requests wait for the threads that serve there: the one queue of a worker pool, or a worker's own.
#[derive(Clone, Default)]
struct Station {
    /// Connections with an unread request, first come, first served.
    work: VecDeque<u32>,
    /// Blocked threads; the one that has waited longest is woken first, as by a futex.
    waiting: VecDeque<u32>,
}

pub struct Service {
    /// All requests of the run by intended time. Those before `sent` were sent, those before `due` should have been: the
    /// ones between are held by the client for want of an idle connection.
    requests: Vec<Request>,
    sent: usize,
    due: usize,
    received: u64,
    /// Connections without a request, the longest idle first.
    idle: VecDeque<u32>,
    /// The request on each connection.
    request_on: Vec<u32>,
    stations: Vec<Station>,
    /// The connection that each thread serves.
    serving: Vec<Option<u32>>,
    switch_cost: Nanos,
}

impl Service {
    /// `switch_cost` is the kernel's part of a request: one switch to the thread that serves it (Tales section 3.2).
    pub fn new(service: &scenario::Service, plan: &[Planned], switch_cost: Nanos) -> Service {
        let threads = service.threads() as usize;
        let stations = match service.architecture {
            Architecture::SharedQueue { .. } => 1,
            Architecture::ThreadPerConnection | Architecture::Partitioned { .. } => threads,
        };
        let mut stations = vec![Station::default(); stations];
        let count = stations.len();
        (0..threads).for_each(|thread| stations[thread % count].waiting.push_back(thread as u32));
        let unsent = |planned: &Planned| Request {
            intended: planned.intended,
            sent: Nanos::NEVER,
            started: Nanos::NEVER,
            completed: Nanos::NEVER,
            received: Nanos::NEVER,
            service: planned.service + switch_cost,
        };
        Service {
            requests: plan.iter().map(unsent).collect(),
            sent: 0,
            due: 0,
            received: 0,
            idle: (0..service.connections).collect(),
            request_on: vec![0; service.connections as usize],
            stations,
            serving: vec![None; threads],
            switch_cost,
        }
    }

    fn station_of(&mut self, thread_or_connection: u32) -> &mut Station {
        let count = self.stations.len();
        &mut self.stations[thread_or_connection as usize % count]
    }

    pub fn next_arrival(&self) -> Nanos {
        self.requests.get(self.due).map_or(Nanos::NEVER, |request| request.intended)
    }

    pub fn arrive(&mut self, now: Nanos, wake: &mut impl FnMut(u32)) {
        self.due += 1;
        if let Some(connection) = self.idle.pop_front() {
            self.send(now, connection, wake);
        }
    }

    /// Sends the oldest request not sent yet.
    fn send(&mut self, now: Nanos, connection: u32, wake: &mut impl FnMut(u32)) {
        self.requests[self.sent].sent = now;
        self.request_on[connection as usize] = self.sent as u32;
        self.sent += 1;
        let station = self.station_of(connection);
        station.work.push_back(connection);
        if let Some(thread) = station.waiting.pop_front() {
            wake(thread);
        }
    }

    pub fn ready(&self, own: u32) -> bool {
        !self.stations[own as usize % self.stations.len()].work.is_empty()
    }

    pub fn next(&mut self, now: Nanos, own: u32, wake: &mut impl FnMut(u32)) -> Next {
        if let Some(connection) = self.serving[own as usize].take() {
            self.respond(now, connection, wake);
        }
        let station = self.station_of(own);
        let Some(connection) = station.work.pop_front() else {
            station.waiting.push_back(own);
            return Next::Block;
        };
        self.serving[own as usize] = Some(connection);
        let request = &mut self.requests[self.request_on[connection as usize] as usize];
        request.started = now;
        Next::Run(request.service - self.switch_cost)
    }

    /// The client has the response at once, and sends a held request on the connection that it frees.
    fn respond(&mut self, now: Nanos, connection: u32, wake: &mut impl FnMut(u32)) {
        let request = &mut self.requests[self.request_on[connection as usize] as usize];
        request.completed = now;
        request.received = now;
        self.received += 1;
        if self.sent < self.due {
            self.send(now, connection, wake);
        } else {
            self.idle.push_back(connection);
        }
    }

    pub fn outstanding(&self) -> u64 {
        self.due as u64 - self.received
    }

    pub fn into_requests(self) -> Vec<Request> {
        self.requests
    }
}
