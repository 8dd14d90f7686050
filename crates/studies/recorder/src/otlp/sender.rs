//! Messages sent by a thread of its own: what offers them never waits for the receiver.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime};

use model::Failure;
use ureq::Agent;
use ureq::http::HeaderMap;

use super::endpoint::{Endpoint, Signal};
use super::post::{Outcome, post};
use super::queue::{Deliveries, Queue, Waiting};

/// The greatest nice value: to send must not be what makes requests slow.
const NICEST: i32 = 19;
/// Requests that wait, a few KB each.
const TRACES: usize = 64;
/// Each message of metrics has all that those before it had.
const METRICS: usize = 1;

/// How long it takes until something is done.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The receiver has this long for an answer.
    pub timeout: Duration,
    /// Until the second try. It doubles with each.
    pub first: Duration,
    /// Between two tries at most.
    pub longest: Duration,
    /// A message that waits for longer is given up.
    pub patience: Duration,
}

impl Default for Pace {
    /// As collectors have it.
    fn default() -> Pace {
        let [timeout, first, longest, patience] = [10, 1, 30, 300].map(Duration::from_secs);
        Pace { timeout, first, longest, patience }
    }
}

/// What is said to the user, a line at a time.
pub type Say = Box<dyn Fn(&str) + Send>;

/// A receiver's address for one signal, with what waits for it.
pub struct Sender {
    queue: Arc<Queue>,
    done: Receiver<()>,
}

impl Sender {
    /// Starts the thread.
    pub fn start(to: &Endpoint, signal: Signal, pace: Pace, say: Say) -> Result<Sender, Failure> {
        let queue = Arc::new(Queue::new(match signal {
            Signal::Traces => TRACES,
            Signal::Metrics => METRICS,
        }));
        let (ends, done) = channel();
        let (client, url, headers) =
            (to.client(pace.timeout)?, to.url(signal), to.headers().clone());
        let own = Arc::clone(&queue);
        let (tries, told) = (0, 0);
        let mut worker =
            Worker { queue: own, signal, client, url, headers, pace, say, tries, told };
        thread::Builder::new()
            .name(format!("otlp-{}", signal.name()))
            .spawn(move || {
                // This thread alone steps back.
                let _ = rustix::process::nice(NICEST);
                worker.work();
                drop(ends);
            })
            .map_err(|error| Failure::Run(format!("no thread to send: {error}")))?;
        Ok(Sender { queue, done })
    }

    /// Hands a message over. Where there is no room the oldest is dropped.
    pub fn offer(&self, message: Vec<u8>) {
        self.queue.push(message);
    }

    /// What became of those that were handed over.
    pub fn counts(&self) -> Deliveries {
        self.queue.counts()
    }

    /// Waits until all is sent, each message tried once more at most, and for no longer than this.
    pub fn finish(&self, within: Duration) {
        self.queue.close();
        let _ = self.done.recv_timeout(within);
        self.queue.give_up();
    }
}

/// What the thread has.
struct Worker {
    queue: Arc<Queue>,
    signal: Signal,
    client: Agent,
    url: String,
    headers: HeaderMap,
    pace: Pace,
    say: Say,
    /// That have failed since the last one that did not.
    tries: u32,
    /// How many dropped ones were told.
    told: u64,
}

impl Worker {
    fn work(&mut self) {
        while let Some(oldest) = self.queue.pop() {
            match post(&self.client, &self.url, &self.headers, &oldest.message) {
                Outcome::Taken => {
                    self.queue.count(|all| all.sent += 1);
                    self.recover();
                }
                Outcome::Refused(why) => {
                    self.queue.count(|all| all.refused += 1);
                    self.trouble(&format!("{why}; what it refuses is dropped"));
                }
                Outcome::Later(why, wait) => self.try_again(oldest, &why, wait),
            }
        }
    }

    fn try_again(&mut self, oldest: Waiting, why: &str, wait: Option<Duration>) {
        let given_up = self.queue.is_closed() || oldest.since.elapsed() > self.pace.patience;
        if given_up {
            self.queue.count(|all| all.not_taken += 1);
            self.trouble(&format!("{why}; what has waited for too long is dropped"));
        } else {
            self.queue.put_back(oldest);
            self.trouble(&format!("{why}; it is tried again"));
        }
        if self.queue.is_closed() {
            return self.queue.give_up();
        }
        self.queue.pause(wait.unwrap_or_else(|| self.back_off()).min(self.pace.patience));
    }

    /// Twice the last one, less a random half: not all recorders of a cluster come back at once.
    fn back_off(&self) -> Duration {
        let doubled = self.pace.first.saturating_mul(1 << self.tries.saturating_sub(1).min(16));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        doubled.min(self.pace.longest).mul_f64(0.5 + f64::from(now.subsec_nanos()) / 2e9)
    }

    /// Says it once, until the receiver is well again.
    fn trouble(&mut self, what: &str) {
        self.tries += 1;
        if self.tries == 1 {
            (self.say)(&format!("{}: {what}", self.url));
        }
    }

    /// Says how many were dropped, as soon as some are taken again. Metrics that gave way to younger ones are
    /// no loss, unless it was said that there is trouble.
    fn recover(&mut self) {
        let dropped = self.queue.counts().dropped();
        if self.tries > 0 || self.signal == Signal::Traces && dropped > self.told {
            let new = dropped - self.told;
            (self.say)(&format!("{}: it takes what is sent; {new} were dropped", self.url));
        }
        (self.tries, self.told) = (0, dropped);
    }
}
