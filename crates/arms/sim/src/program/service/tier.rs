//! A service of several behind one another: what it is done with goes on, and the last of them answers.

use model::Nanos;

use super::Service;

/// What such a service keeps of its requests.
pub struct Tier {
    place: Place,
    /// The request that a thread is done with, until the kernel takes it on.
    done: Option<u32>,
}

enum Place {
    /// Clients send to it. The connection of each request.
    First(Vec<u32>),
    /// Behind another.
    Behind(Handed),
}

/// Moments for `order=arrival`; as in kernels, the lowest bit says that one was handed on.
struct Handed {
    /// Since when each request counts.
    requests: Vec<Nanos>,
    /// That of the request for which each thread was woken last. What it takes from the queue until it sleeps
    /// no kernel sees: services hand work on in their own memory.
    threads: Vec<Option<Nanos>>,
}

impl Tier {
    /// A request is sent on a connection.
    pub fn note(&mut self, request: usize, connection: u32) {
        if let Place::First(connections) = &mut self.place {
            connections[request] = connection;
        }
    }

    /// Since when a request counts here, if that is not since it was sent.
    fn moment(&self, request: usize) -> Option<Nanos> {
        match &self.place {
            Place::First(_) => None,
            Place::Behind(handed) => Some(handed.requests[request]),
        }
    }

    /// Since when what a thread serves counts, if that is not since its request was sent.
    pub fn woken_for(&self, own: u32) -> Option<Nanos> {
        match &self.place {
            Place::First(_) => None,
            Place::Behind(handed) => handed.threads[own as usize],
        }
    }
}

impl Service {
    /// With all of its requests drawn, as one of several behind one another.
    pub fn in_chain(mut self, is_first: bool) -> Service {
        let requests = self.requests.len();
        let place = if is_first {
            Place::First(vec![0; requests])
        } else {
            // It has no client, who would have to send them or waits for them.
            (self.due, self.received) = (requests, requests as u64);
            let threads = vec![None; self.serving.len()];
            Place::Behind(Handed { requests: vec![Nanos::NEVER; requests], threads })
        };
        self.tier = Some(Tier { place, done: None });
        self
    }

    /// A thread is done with a request. On connections between services the next one can be sent at once;
    /// those of clients wait for the answer.
    pub(super) fn pass_on(&mut self, now: Nanos, connection: u32) {
        let request = self.request_on[connection as usize];
        let Some(tier) = &mut self.tier else { return };
        tier.done = Some(request);
        if let Place::Behind(_) = tier.place {
            self.requests[request as usize].received = now;
            self.idle.give_back(connection);
        }
    }

    pub fn take_done(&mut self) -> Option<u32> {
        self.tier.as_mut()?.done.take()
    }

    /// Since when a request that is sent on counts at the next service: since it came to the machine, which
    /// is handed on once, as `requests.bpf.h` does. Then since it is sent.
    pub fn handed_on(&self, now: Nanos, request: u32) -> Nanos {
        let own = self.tier.as_ref().and_then(|tier| tier.moment(request as usize));
        match own {
            Some(Nanos(at)) if at & 1 == 1 => Nanos(now.0 & !1),
            Some(Nanos(at)) => Nanos(at | 1),
            None => Nanos(self.requests[request as usize].sent.0 | 1),
        }
    }

    /// The service before sends a request. There is a connection for each that can be under way.
    pub fn forward(&mut self, now: Nanos, request: u32, at: Nanos, wake: &mut impl FnMut(u32)) {
        let number = request as usize;
        let idle = self.idle.take(self.random_draws[number]);
        let connection = idle.expect("as many connections as clients have to the first service");
        self.requests[number].sent = now;
        self.request_on[connection as usize] = request;
        let mut woken = None;
        self.deliver(connection, &mut |thread| {
            woken = Some(thread);
            wake(thread);
        });
        let Some(Tier { place: Place::Behind(handed), .. }) = &mut self.tier else { return };
        handed.requests[number] = at;
        if let Some(thread) = woken {
            handed.threads[thread as usize] = Some(at);
        }
    }

    /// The last service is done with a request: its client has the answer.
    pub fn answered(&mut self, now: Nanos, request: u32, wake: &mut impl FnMut(u32)) {
        if let Some(Tier { place: Place::First(connections), .. }) = &self.tier {
            self.answer(now, connections[request as usize], wake);
        }
    }
}
