//! How requests reach the threads of a service, by how these took them up.

use std::collections::BTreeSet;

use model::event::{Event, What};
use model::trace::Request;
use model::{Nanos, ThreadId};

/// More threads than this are taken for one a connection, if they sleep between requests.
const MANY: usize = 8;
/// Connections of a service whose number of threads does not say it.
const CONNECTIONS: usize = 1_024;

/// See [`model::scenario::Architecture`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    ThreadPerConnection,
    SharedQueue,
    Partitioned,
}

impl Architecture {
    /// The word of scenarios.
    pub fn word(self) -> &'static str {
        match self {
            Architecture::ThreadPerConnection => "thread-per-connection",
            Architecture::SharedQueue => "shared-queue",
            Architecture::Partitioned => "partitioned",
        }
    }

    /// The keys beside it, for so many threads.
    pub fn counts(self, threads: usize) -> String {
        match self {
            Architecture::ThreadPerConnection => format!("connections = {threads}\n"),
            _ => format!("workers = {threads}\nconnections = {}\n", CONNECTIONS.max(threads)),
        }
    }
}

/// How threads came to requests.
#[derive(Default)]
struct Seen {
    begun: u32,
    /// Begun without going to sleep after the one before.
    at_once: u32,
    /// Requests that came while a thread slept.
    beside_sleepers: u32,
    /// Those of them after which no thread woke up.
    woke_none: u32,
}

/// From the arrival of a request to the wake-up that it causes, at most: the softirq between them.
const WAKES_WITHIN: Nanos = Nanos::from_micros(50);

/// A request that leaves sleeping threads asleep is one of a certain thread, which is busy. Where requests
/// wake any thread, many threads that sleep after each request have a connection each.
pub fn architecture(
    requests: &[Request],
    events: &[Event],
    workers: &BTreeSet<ThreadId>,
) -> Architecture {
    let Seen { begun, at_once, beside_sleepers, woke_none } = seen(requests, events, workers);
    if workers.len() > 1 && 20 * woke_none > beside_sleepers {
        Architecture::Partitioned
    } else if workers.len() > MANY && 20 * at_once < begun {
        Architecture::ThreadPerConnection
    } else {
        Architecture::SharedQueue
    }
}

fn seen(requests: &[Request], events: &[Event], workers: &BTreeSet<ThreadId>) -> Seen {
    let (mut seen, mut done, mut asleep) = (Seen::default(), BTreeSet::new(), BTreeSet::new());
    let wakes: Vec<Nanos> = events.iter().filter_map(|event| wake_of(event, workers)).collect();
    let mut sent: Vec<Nanos> = requests.iter().map(|request| request.sent).collect();
    sent.sort_unstable();
    let mut coming = sent.into_iter().peekable();
    for event in events {
        while let Some(at) = coming.next_if(|at| *at <= event.at) {
            let next_wake = wakes[wakes.partition_point(|wake| *wake < at)..].first();
            let woke = next_wake.is_some_and(|wake| *wake <= at + WAKES_WITHIN);
            seen.beside_sleepers += u32::from(!asleep.is_empty());
            seen.woke_none += u32::from(!asleep.is_empty() && !woke);
        }
        match event.what {
            What::Start { thread, .. } if workers.contains(&thread) => {
                seen.begun += 1;
                seen.at_once += u32::from(done.remove(&thread));
            }
            What::Finish { thread, .. } if workers.contains(&thread) => {
                done.insert(thread);
            }
            What::Block { thread, .. } if workers.contains(&thread) => {
                done.remove(&thread);
                asleep.insert(thread);
            }
            What::Wake { thread, .. } => {
                asleep.remove(&thread);
            }
            _ => {}
        }
    }
    seen
}

fn wake_of(event: &Event, workers: &BTreeSet<ThreadId>) -> Option<Nanos> {
    matches!(event.what, What::Wake { thread, .. } if workers.contains(&thread)).then_some(event.at)
}
