//! Requests as they end, from records that go on for days.

use std::collections::BTreeMap;

use model::Nanos;
use model::trace::Stages;

use super::connection::{Connection, Connections, Datagrams};
use super::exchange::Exchange;
use super::recording::{Peer, Recording};

/// An answer whose connection was silent for so long is over.
const QUIET: Nanos = Nanos::from_secs(1);
/// A connection that was silent for so long is forgotten; a request that is older has no answer.
const IDLE: Nanos = Nanos::from_secs(60);
/// T3 of a request whose answer takes longer after its read is told as T2.
const REMEMBERED: Nanos = Nanos::from_secs(10);
/// Connections that are followed; of more, the longest silent ones are forgotten.
const MOST_CONNECTIONS: usize = 65_536;

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its moments, by CLOCK_MONOTONIC.
    pub stages: Stages,
    /// The thread that read it, by the kernel's id.
    pub thread: u32,
}

/// Follows the TCP connections of a server. Datagrams have no numbers: after one that was lost they could not
/// be told apart.
#[derive(Default)]
pub struct Follower {
    connections: Connections,
    /// By peer, its last record and whether all before it was harvested.
    touched: BTreeMap<Peer, Touched>,
    /// Requests without an answer that were forgotten.
    pub unanswered: u64,
    /// Requests of which a moment is missing.
    pub incomplete: u64,
}

struct Touched {
    last: Nanos,
    is_settled: bool,
}

impl Follower {
    /// Takes up records, in order of time, and tells the requests that have ended since the last time.
    /// `until` is the moment up to which all was seen.
    pub fn follow(&mut self, records: &Recording, until: Nanos) -> Vec<Ended> {
        self.take_up(records, until, QUIET)
    }

    /// The same at the end: what was transmitted is over.
    pub fn finish(&mut self, records: &Recording, until: Nanos) -> Vec<Ended> {
        self.take_up(records, until, Nanos::ZERO)
    }

    fn take_up(&mut self, records: &Recording, until: Nanos, quiet: Nanos) -> Vec<Ended> {
        let mut datagrams = Datagrams::default();
        for seen in &records.seen {
            self.connections.threads.follow(seen);
            if let Some(peer) = seen.kind.peer().filter(|peer| !peer.is_udp) {
                self.connections.follow(seen, &mut datagrams);
                self.touched.insert(peer, Touched { last: seen.at, is_settled: false });
            }
        }
        let due: Vec<(Peer, bool)> = (self.touched.iter().filter(|(_, one)| !one.is_settled))
            .map(|(peer, one)| (*peer, one.last.saturating_add(quiet) <= until))
            .collect();
        let ended =
            due.iter().flat_map(|(peer, is_quiet)| self.harvest(*peer, *is_quiet)).collect();
        self.forget(until);
        ended
    }

    fn harvest(&mut self, peer: Peer, is_quiet: bool) -> Vec<Ended> {
        let own = self.connections.by_peer.get(&peer).map_or(&[][..], Vec::as_slice);
        let last = own.len().saturating_sub(1);
        let over = |(at, one): (usize, &Connection)| over(one, is_quiet || at < last);
        let over: Vec<Vec<Exchange>> = own.iter().enumerate().map(over).collect();
        let mut ended = Vec::new();
        for (connection, exchanges) in own.iter().zip(&over) {
            for one in exchanges {
                let answer = one.answer.clone();
                let (stages, thread) = self.connections.stages(connection, one.request_end, answer);
                ended.push(Ended { stages, thread });
            }
        }
        for (connection, exchanges) in
            self.connections.by_peer.get_mut(&peer).into_iter().flatten().zip(&over)
        {
            for one in exchanges {
                connection.forget(one.request_end, one.answer.end);
            }
        }
        if let Some(touched) = self.touched.get_mut(&peer) {
            touched.is_settled = is_quiet;
        }
        // What arrived before it was followed has no first moment and is no loss.
        ended.retain(|one| one.stages.arrived != Nanos::NEVER);
        self.incomplete += ended.iter().filter(|one| !one.stages.is_complete()).count() as u64;
        ended.retain(|one| one.stages.is_complete());
        ended
    }

    fn forget(&mut self, until: Nanos) {
        self.connections.threads.forget_before(until.saturating_sub(REMEMBERED));
        let mut idle: Vec<(Nanos, Peer)> =
            self.touched.iter().map(|(p, one)| (one.last, *p)).collect();
        let excess = idle.len().saturating_sub(MOST_CONNECTIONS);
        idle.sort_unstable();
        for (at, (last, peer)) in idle.into_iter().enumerate() {
            if at >= excess && last.saturating_add(IDLE) > until {
                break;
            }
            self.touched.remove(&peer);
            let gone = self.connections.by_peer.remove(&peer).unwrap_or_default();
            self.unanswered += gone.iter().filter(|one| one.is_pending()).count() as u64;
        }
        for all in self.connections.by_peer.values_mut().filter(|all| all.len() > 1) {
            let last = all.len() - 1;
            self.unanswered += all.drain(..last).filter(Connection::is_pending).count() as u64;
        }
    }
}

/// The exchanges of a connection that are over: all of their answer has gone out, and another one has begun
/// or nothing more came.
fn over(own: &Connection, is_quiet: bool) -> Vec<Exchange> {
    let mut exchanges = own.exchanges();
    let sent = own.transmitted.last().map_or(0, |last| last.bytes);
    let is_last = |at: usize, all: usize| at + 1 == all;
    let count = exchanges.len();
    // An exchange that has sent nothing yet is not among them, but its read says that another has begun.
    let read = own.read.last().map_or(0, |last| last.bytes);
    let mut at = 0;
    exchanges.retain(|one| {
        let is_last = is_last(at, count) && read <= one.request_end;
        at += 1;
        one.answer.end <= sent && (is_quiet || !is_last)
    });
    exchanges
}

impl Connection {
    /// Whether something was read and not answered.
    fn is_pending(&self) -> bool {
        let answered = self.sends.last().map(|last| last.at);
        self.read.last().is_some_and(|read| answered.is_none_or(|at| at < read.at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::{Kind, Seen};
    use super::*;

    const PEER: Peer = Peer { address: 1, port: 2, is_udp: false };

    fn seen(at: u64, kind: Kind) -> Seen {
        Seen { at: Nanos(at), cpu: 0, thread: 7, kind }
    }

    /// Request `n` of 10 bytes at a moment, answered by 20 bytes in two pieces.
    fn request(n: u32, at: u64) -> Vec<Seen> {
        let (from, to) = (PEER, PEER);
        vec![
            seen(at, Kind::Arrived { from, number: 10 * (n + 1), bytes: 10 }),
            seen(at + 1, Kind::Ready { from, number: 10 * (n + 1) }),
            seen(at + 3, Kind::Read { from, number: 10 * (n + 1), bytes: 10 }),
            seen(at + 5, Kind::Sends { to, number: 20 * n }),
            seen(at + 6, Kind::Transmitted { to, number: 20 * n + 10 }),
            seen(at + 8, Kind::Sends { to, number: 20 * n + 10 }),
            seen(at + 9, Kind::Transmitted { to, number: 20 * n + 20 }),
        ]
    }

    fn records(seen: &[Seen]) -> Recording {
        Recording { seen: seen.to_vec(), ..Recording::default() }
    }

    /// Whatever the pieces in which records come, each request is told once, with all of its moments.
    #[test]
    fn every_request_is_told_once_whatever_the_pieces() {
        let all: Vec<Seen> = (0..40).flat_map(|n| request(n, 100 * u64::from(n) + 100)).collect();
        let whole = Connections::new(&records(&all));
        let own = &whole.of(PEER)[0];
        let stages = |one: &Exchange| whole.stages(own, one.request_end, one.answer.clone()).0;
        let expected: Vec<Stages> = own.exchanges().iter().map(stages).collect();
        assert_eq!(expected.len(), 40);
        for piece in [1, 2, 3, 5, 7, 8, 13, 280] {
            let mut follower = Follower::default();
            let mut told = Vec::new();
            for some in all.chunks(piece) {
                told.extend(follower.follow(&records(some), some[some.len() - 1].at));
            }
            told.extend(follower.follow(&Recording::default(), Nanos::from_secs(2)));
            let told: Vec<Stages> = told.iter().map(|one| one.stages).collect();
            assert_eq!(told, expected, "in pieces of {piece}");
            assert_eq!((follower.incomplete, follower.unanswered), (0, 0));
            let kept = &follower.connections.by_peer[&PEER][0];
            let left = kept.arrived.len() + kept.read.len() + kept.sends.len();
            assert!(left <= 2, "{left} stamps are left of 40 requests");
        }
    }

    #[test]
    fn an_answer_is_over_when_its_connection_was_silent_and_not_before() {
        let mut follower = Follower::default();
        assert_eq!(follower.follow(&records(&request(0, 100)), Nanos(200)), []);
        assert_eq!(follower.follow(&Recording::default(), Nanos::from_millis(900)), []);
        let told = follower.follow(&Recording::default(), Nanos::from_millis(1_100));
        assert_eq!((told.len(), told[0].stages.transmitted), (1, Nanos(109)));
        assert_eq!(follower.follow(&Recording::default(), Nanos::from_secs(9)), []);
        let mut stopped = Follower::default();
        assert_eq!(stopped.finish(&records(&request(0, 100)), Nanos(200)).len(), 1);
    }

    #[test]
    fn what_is_never_answered_is_forgotten_and_counted() {
        let mut follower = Follower::default();
        assert_eq!(follower.follow(&records(&request(0, 100)[..3]), Nanos(200)), []);
        follower.follow(&Recording::default(), Nanos::from_secs(30));
        assert_eq!((follower.unanswered, follower.touched.len()), (0, 1));
        follower.follow(&Recording::default(), Nanos::from_secs(61));
        assert_eq!((follower.unanswered, follower.touched.len()), (1, 0));
        assert!(follower.connections.by_peer.is_empty());
    }
}
