//! What is under way: requests, their sub-requests, the copies of these.

use std::num::NonZero;

use slotmap::new_key_type;

use crate::redundancy::MOST_COPIES;

new_key_type! {
    /// A request.
    pub(super) struct RequestKey;
    /// A sub-request.
    pub(super) struct TaskKey;
    /// A copy of a sub-request.
    pub(super) struct CopyKey;
    /// Sub-requests that wait for reservations to ask for them.
    pub(super) struct BatchKey;
    /// A request's visit to its root.
    pub(super) struct VisitKey;
}

/// A request that is not answered yet; one that is answered or lost is there no more.
pub(super) struct Request {
    pub arrived: u64,
    /// Sub-requests without an answer.
    pub waiting: u32,
    /// Its root server.
    pub root: u32,
}

/// A sub-request without an answer.
pub(super) struct Task {
    pub request: RequestKey,
    pub shard: u32,
    pub created: u64,
    /// The work that all copies have in common.
    work: Option<NonZero<u64>>,
    /// When the first copy began to be served.
    pub began: u64,
    copies: [CopyKey; MOST_COPIES as usize],
    servers: [u32; MOST_COPIES as usize],
    sent: u8,
    /// Copies that are still somewhere.
    pub live: u8,
}

impl Task {
    /// A task without a copy.
    pub fn new(request: RequestKey, shard: u32, created: u64, work: Option<u64>) -> Task {
        Task {
            request,
            shard,
            created,
            work: work.and_then(NonZero::new),
            began: u64::MAX,
            copies: Default::default(),
            servers: Default::default(),
            sent: 0,
            live: 0,
        }
    }

    /// The work that all copies have in common; none where each server draws its own.
    pub fn work(&self) -> Option<u64> {
        self.work.map(NonZero::get)
    }

    /// Copies sent so far.
    pub fn sent(&self) -> u32 {
        self.sent.into()
    }

    /// The servers that copies were sent to.
    pub fn servers(&self) -> &[u32] {
        &self.servers[..self.sent.into()]
    }

    /// The copies sent so far, and those that are no more.
    pub fn copies(&self) -> ([CopyKey; MOST_COPIES as usize], usize) {
        (self.copies, self.sent.into())
    }

    /// A copy was sent.
    pub fn add(&mut self, copy: CopyKey, server: u32) {
        self.copies[usize::from(self.sent)] = copy;
        self.servers[usize::from(self.sent)] = server;
        self.sent += 1;
        self.live += 1;
    }
}

/// A copy of a sub-request.
pub(super) struct Copy {
    pub task: TaskKey,
    pub server: u32,
    pub place: Place,
}

/// Where a copy is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// On the network or in a queue.
    Waiting,
    /// Served by a worker since a moment. Measured leaves have no workers.
    Served { worker: Option<u32>, since: u64 },
}

/// What waits in a leaf's queue.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Copy(CopyKey),
    /// A reservation for any sub-request of a batch.
    Probe(BatchKey),
}

/// What travels between roots and leaves.
#[derive(Clone, Copy)]
pub(super) enum Mail {
    /// To a leaf's queue.
    Item { server: u32, item: Item },
    /// The answer to a sub-request that was served for so long.
    Answer { task: TaskKey, served_ns: u64 },
    /// This copy is not needed any more.
    Cancel { copy: CopyKey, abort: bool },
    /// A server's worker is free for the central queue.
    Free { server: u32 },
    /// A reservation's turn has come.
    Ask { batch: BatchKey, worker: u32 },
    /// The answer to that: a copy or nothing.
    Bound { worker: u32, copy: Option<CopyKey> },
}

/// What happens by the clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// To send another copy.
    Another(TaskKey),
    /// To answer with what there is.
    Partial(RequestKey),
    /// To give a request up.
    Deadline(RequestKey),
    /// A measured leaf has served a copy.
    Served(CopyKey),
    /// A measured root has served a visit.
    VisitDone(VisitKey),
    /// A server becomes slow or quick, by its slot in the clock.
    Episode(u32),
}

impl From<CopyKey> for Timer {
    fn from(copy: CopyKey) -> Timer {
        Timer::Served(copy)
    }
}

impl From<VisitKey> for Timer {
    fn from(visit: VisitKey) -> Timer {
        Timer::VisitDone(visit)
    }
}
