//! Requests as they end, from records that go on for days.

use std::collections::BTreeMap;

use model::Nanos;
use model::trace::Stages;

use super::connection::{Connection, Connections, Datagrams};
use super::exchange::Exchange;
use super::recording::{Peer, Recording, Seen};

/// An answer whose connection was silent for so long is over.
const QUIET: Nanos = Nanos::from_secs(1);
/// A connection that was silent for so long is forgotten; a request that is older has no answer.
const IDLE: Nanos = Nanos::from_secs(60);
/// Bytes of the connections that are followed; of more, the longest silent ones are forgotten.
const MOST_BYTES: usize = 6 << 20;
/// What a connection takes in the two tables of peers, about.
const IN_TABLES: usize = 128;
/// A connection with more stamps is looked through for those that it needs no longer.
const MANY_STAMPS: usize = 32;
/// With more, what is under way is given up: its requests are read and not answered, by hundreds.
const MOST_STAMPS: usize = 1_024;

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its moments, by CLOCK_MONOTONIC.
    pub stages: Stages,
    /// The thread that read it, by the kernel's id.
    pub thread: u32,
    /// The service, by its place among those that are followed.
    pub service: u8,
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
        self.connect(&records.seen);
        let due: Vec<(Peer, bool)> = (self.touched.iter().filter(|(_, one)| !one.is_settled))
            .map(|(peer, one)| (*peer, one.last.saturating_add(quiet) <= until))
            .collect();
        let ended =
            due.iter().flat_map(|(peer, is_quiet)| self.harvest(*peer, *is_quiet)).collect();
        self.forget(until);
        ended
    }

    fn connect(&mut self, all: &[Seen]) {
        let mut datagrams = Datagrams::default();
        for seen in all {
            let peer = seen.kind.peer();
            if peer.is_some_and(|peer| peer.is_udp) {
                continue;
            }
            self.connections.follow(seen, &mut datagrams);
            let touched = Touched { last: seen.at, is_settled: false };
            peer.map(|peer| self.touched.insert(peer, touched));
        }
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
                ended.push(Ended { stages, thread, service: peer.service });
            }
        }
        self.settle(peer, &over, is_quiet);
        // What arrived before it was followed has no first moment and is no loss.
        ended.retain(|one| one.stages.arrived != Nanos::NEVER);
        self.incomplete += ended.iter().filter(|one| !one.stages.is_complete()).count() as u64;
        ended.retain(|one| one.stages.is_complete());
        ended
    }

    /// Lets go what is over, and all of a peer that was silent and has nothing under way.
    fn settle(&mut self, peer: Peer, over: &[Vec<Exchange>], is_quiet: bool) {
        let Some(own) = self.connections.by_peer.get_mut(&peer) else { return };
        for (connection, exchanges) in own.iter_mut().zip(over) {
            exchanges.iter().for_each(|one| connection.forget(one.request_end, one.answer.end));
        }
        let older = own.drain(..own.len().saturating_sub(1));
        self.unanswered += older.filter(Connection::is_pending).count() as u64;
        own.shrink_to_fit();
        let Some(last) = own.last_mut() else { return };
        if last.stamps() > MANY_STAMPS {
            last.compact();
        }
        if last.stamps() > MOST_STAMPS {
            last.forget(u64::MAX, u64::MAX);
            self.incomplete += 1;
        }
        if is_quiet && !last.is_busy() {
            self.connections.by_peer.remove(&peer);
            self.touched.remove(&peer);
        } else if let Some(touched) = self.touched.get_mut(&peer) {
            touched.is_settled = is_quiet;
        }
    }

    fn forget(&mut self, until: Nanos) {
        self.connections.threads.forget(until);
        let idle = |one: &Touched| one.last.saturating_add(IDLE) <= until;
        let idle: Vec<Peer> =
            self.touched.iter().filter(|(_, one)| idle(one)).map(|(peer, _)| *peer).collect();
        idle.into_iter().for_each(|peer| self.give_up(peer));
        let mut held = self.held_bytes();
        if held <= MOST_BYTES {
            return;
        }
        let mut all: Vec<(Nanos, Peer)> =
            self.touched.iter().map(|(peer, one)| (one.last, *peer)).collect();
        all.sort_unstable();
        for (_, peer) in all {
            if held <= MOST_BYTES {
                break;
            }
            held -= self.held_by(peer);
            self.give_up(peer);
        }
    }

    fn give_up(&mut self, peer: Peer) {
        self.touched.remove(&peer);
        let gone = self.connections.by_peer.remove(&peer).unwrap_or_default();
        self.unanswered += gone.iter().filter(|one| one.is_pending()).count() as u64;
    }

    fn held_by(&self, peer: Peer) -> usize {
        self.connections.by_peer.get(&peer).map_or(0, |own| held(own))
    }

    /// The bytes that its connections take.
    pub fn held_bytes(&self) -> usize {
        self.connections.by_peer.values().map(|own| held(own)).sum()
    }
}

fn held(own: &[Connection]) -> usize {
    IN_TABLES + own.iter().map(Connection::held_bytes).sum::<usize>()
}

/// The exchanges of a connection that are over: all of their answer has gone out, and another one has begun
/// or nothing more came.
fn over(own: &Connection, is_quiet: bool) -> Vec<Exchange> {
    let mut exchanges = own.exchanges();
    let sent = own.transmitted.last().map_or(0, |last| last.bytes);
    let is_last = |at: usize, all: usize| at + 1 == all;
    let count = exchanges.len();
    // An exchange that has sent nothing yet is not among them, but its read says that another has begun.
    let read = own.read.last().map_or(0, |last| last.passed.bytes);
    let mut at = 0;
    exchanges.retain(|one| {
        let is_last = is_last(at, count) && read <= one.request_end;
        at += 1;
        one.answer.end <= sent && (is_quiet || !is_last)
    });
    exchanges
}

#[cfg(test)]
mod tests {
    use super::super::recording::Kind;
    use super::*;

    const PEER: Peer = Peer { address: 1, port: 2, is_udp: false, service: 0 };

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
            assert_eq!(follower.held_bytes(), 0, "nothing is under way");
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

    fn of(peer: u32, seen: &[Seen]) -> Vec<Seen> {
        let peer = Peer { address: peer, port: 2, is_udp: false, service: 0 };
        let own = |one: &Seen| {
            let kind = match one.kind {
                Kind::Arrived { number, bytes, .. } => Kind::Arrived { from: peer, number, bytes },
                Kind::Ready { number, .. } => Kind::Ready { from: peer, number },
                Kind::Read { number, bytes, .. } => Kind::Read { from: peer, number, bytes },
                Kind::Sends { number, .. } => Kind::Sends { to: peer, number },
                Kind::Transmitted { number, .. } => Kind::Transmitted { to: peer, number },
                kind => kind,
            };
            Seen { kind, ..*one }
        };
        seen.iter().map(own).collect()
    }

    /// Requests that are never answered, on connection after connection: the longest silent are given up.
    #[test]
    fn what_is_held_is_bounded_and_what_is_given_up_is_counted() {
        let mut follower = Follower::default();
        let (mut held, mut last) = (0, Nanos::ZERO);
        for n in 0..40_000 {
            last = Nanos(u64::from(n) * 1_000);
            follower.connect(&of(n, &request(0, last.0)[..3]));
            held += follower.held_by(Peer { address: n, port: 2, is_udp: false, service: 0 });
            if n % 4_000 == 0 {
                follower.forget(last);
            }
        }
        follower.forget(last);
        assert!(held > 2 * MOST_BYTES, "the control: {held} would be held");
        assert!(follower.held_bytes() <= MOST_BYTES);
        let left = follower.connections.by_peer.len() as u64;
        assert_eq!((follower.unanswered, left > 1_000), (40_000 - left, true));
        // The last ones are still followed.
        let answered = of(39_999, &request(0, last.0)[3..]);
        assert_eq!(follower.finish(&records(&answered), Nanos::from_secs(9)).len(), 1);
    }

    /// An upload in a thousand reads and an answer in a thousand writes are one request.
    #[test]
    fn a_long_request_takes_few_stamps_and_loses_none_of_its_moments() {
        let (from, to) = (PEER, PEER);
        let up = |n: u32| {
            let (at, number) = (1_000 * u64::from(n) + 100, 10 * (n + 1));
            vec![
                seen(at, Kind::Arrived { from, number, bytes: 10 }),
                seen(at + 1, Kind::Ready { from, number }),
                seen(at + 2, Kind::Read { from, number, bytes: 10 }),
            ]
        };
        let down = |n: u32| {
            let at = 1_000 * u64::from(n) + 9_000_000;
            vec![
                seen(at, Kind::Sends { to, number: 20 * n }),
                seen(at + 1, Kind::Transmitted { to, number: 20 * n + 20 }),
            ]
        };
        let pieces: Vec<Vec<Seen>> = (0..3_000).map(up).chain((0..3_000).map(down)).collect();
        let mut follower = Follower::default();
        let mut most = 0;
        for piece in &pieces {
            assert_eq!(follower.follow(&records(piece), piece[0].at), []);
            most = most.max(follower.held_bytes());
        }
        let told = follower.finish(&Recording::default(), Nanos::from_secs(1));
        let whole = Connections::new(&records(&pieces.concat()));
        let own = &whole.of(PEER)[0];
        let stages = |one: &Exchange| whole.stages(own, one.request_end, one.answer.clone()).0;
        let expected: Vec<Stages> = own.exchanges().iter().map(stages).collect();
        assert_eq!(told.iter().map(|one| one.stages).collect::<Vec<_>>(), expected);
        assert!(most < 8_192 && own.held_bytes() > 20 * most, "{most} {}", own.held_bytes());
    }

    /// A server that reads by turns, and whose client takes no answers, holds no more than so many stamps.
    #[test]
    fn answers_that_do_not_go_out_are_given_up() {
        let mut follower = Follower::default();
        for n in 0..3_000 {
            let piece = &request(n, 100 * u64::from(n) + 100)[..4];
            assert_eq!(follower.follow(&records(piece), piece[0].at), []);
        }
        let stamps = follower.connections.by_peer[&PEER][0].stamps();
        assert!(stamps <= MOST_STAMPS && follower.incomplete > 0, "{stamps}");
    }
}
