//! The one thread that sends all requests of its clients and takes all responses, on a CPU of its own.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Nanos;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event};

use crate::client::{Client, Peer, Plan, Tally};
use crate::clock;
use crate::desk::Desk;
use crate::record::Record;

/// At most so long before a deadline the sleep ends and watching begins. A timer's wake-up takes this long on
/// a machine that has to leave an idle state first.
const LONGEST_WATCH: Nanos = Nanos::from_micros(100);
/// Nor does watching take more than this part of the mean gap: a generator with real-time priority that never
/// slept would be throttled by the kernel, 50 ms in each second.
const WATCH_PART_OF_GAP: u64 = 2;
/// The longest sleep without a look at whether the run was cancelled.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(50);

/// Sends every request of every client at its intended moment.
pub struct Generator {
    clients: Vec<Client>,
    epoll: Arc<OwnedFd>,
    watch: Nanos,
    desk: Desk,
}

/// A request's turn.
#[derive(Clone, Copy)]
struct Due {
    at: Nanos,
    client: usize,
    request: usize,
}

impl Generator {
    /// A generator without clients yet.
    pub fn new() -> io::Result<Generator> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        Ok(Generator { clients: Vec::new(), epoll, watch: LONGEST_WATCH, desk: Desk::default() })
    }

    /// Adds a client whose connections there are already, in the order in which the server accepted them.
    pub fn adopt(&mut self, plan: Plan, sockets: Vec<OwnedFd>) -> io::Result<()> {
        let number = self.clients.len() as u64;
        self.clients.push(Client::adopting(plan, sockets, Arc::clone(&self.epoll), number)?);
        Ok(())
    }

    /// Adds a client that opens its connections, and opens them again when they end.
    pub fn add(&mut self, plan: Plan, peer: Peer) {
        let number = self.clients.len() as u64;
        self.clients.push(Client::opening(plan, peer, Arc::clone(&self.epoll), number));
    }

    /// Opens all connections, before the run; how many of them there are not when `deadline` is past, and the
    /// last error.
    pub fn connect(
        &mut self,
        deadline: Nanos,
        stop: &AtomicBool,
    ) -> Result<(), (usize, Option<io::Error>)> {
        self.watch = Nanos::ZERO;
        while clock::now() < deadline && !stop.load(Ordering::Relaxed) {
            self.do_chores();
            if self.missing() == 0 {
                return Ok(());
            }
            self.attend(deadline);
        }
        Err((self.missing(), self.clients.iter_mut().find_map(|client| client.trouble.take())))
    }

    fn missing(&self) -> usize {
        self.clients.iter().map(Client::missing).sum()
    }

    /// Sends everything, from `start` on, and waits for what is outstanding until `deadline` or until told to
    /// stop.
    pub fn run(&mut self, start: Nanos, deadline: Nanos, stop: &AtomicBool) {
        self.clients.iter_mut().for_each(|client| client.start = start);
        let turns = self.turns(start);
        self.watch = watch_before(&turns);
        let mut next = 0;
        while !stop.load(Ordering::Relaxed) && clock::now() < deadline {
            next += self.offer_due(&turns[next..]);
            self.do_chores();
            match turns.get(next) {
                None if self.outstanding() == 0 => break,
                turn => self.attend(turn.map_or(deadline, |turn| turn.at)),
            }
        }
        let end = clock::now();
        self.clients.iter_mut().for_each(|client| client.end = end);
    }

    /// What became of the requests of each client, in the order in which they were added, counted from the
    /// start of the run. This closes the connections, at which a server's threads end.
    pub fn finish(self) -> Vec<(Vec<Record>, Tally)> {
        self.clients.into_iter().map(Client::finish).collect()
    }

    fn outstanding(&self) -> usize {
        self.clients.iter().map(|client| client.outstanding).sum()
    }

    /// All requests of all clients in the order of their moments.
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
        let turns = turns.iter().take_while(due);
        turns.map(|turn| self.clients[turn.client].offer(turn.request, turn.at)).count()
    }

    fn do_chores(&mut self) {
        let now = clock::now();
        self.clients.iter_mut().for_each(|client| client.do_chores(now));
    }

    /// Takes responses as they come, until `until` at most: asleep at first, watching at the end.
    fn attend(&mut self, until: Nanos) {
        let chore = self.clients.iter().map(Client::next_chore).min().unwrap_or(Nanos::NEVER);
        let asleep = until.min(chore).saturating_sub(self.watch).saturating_sub(clock::now());
        let nanos = asleep.min(LONGEST_SLEEP).0;
        let timeout = Timespec { tv_sec: 0, tv_nsec: nanos as i64 };
        let mut room = [MaybeUninit::<Event>::uninit(); 64];
        // Only a signal makes it fail; then the caller's loop asks again.
        let Ok((events, _)) = epoll::wait(&*self.epoll, &mut room, Some(&timeout)) else { return };
        if events.is_empty() {
            return;
        }
        self.desk.realtime_lead = clock::realtime_lead();
        for event in events {
            let (place, flags) = (event.data.u64(), event.flags);
            let (client, link) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
            self.clients[client].attend(link, flags, &mut self.desk);
        }
    }
}

/// How long before a deadline to begin watching for it.
fn watch_before(turns: &[Due]) -> Nanos {
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return LONGEST_WATCH };
    let gap = Nanos((last.at - first.at).0 / turns.len() as u64);
    LONGEST_WATCH.min(Nanos(gap.0 / WATCH_PART_OF_GAP))
}
