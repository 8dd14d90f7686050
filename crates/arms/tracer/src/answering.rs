//! What a thread's waits for sockets are for, told by the answers that it is at.
//!
//! A thread that waits while bytes of its answer have not gone out waits for the client or the network. One
//! whose request another thread answers has handed it on, and what it waits for then is no part of it.

use std::collections::BTreeMap;
use std::ops::Range;

use model::event::{Cause, Event, What};
use model::{Nanos, ThreadId};

use super::connection::Connection;
use super::scene::Exchanged;

/// How an answer went out; moments count from a beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answering {
    /// The thread that began it; 0: not seen.
    pub thread: u32,
    /// While what was written had not all gone out.
    pub unsent: Vec<(Nanos, Nanos)>,
}

impl Answering {
    /// Of an answer with these bytes of what the server sent.
    pub fn of(own: &Connection, answer: &Range<u64>, begin: Nanos) -> Answering {
        let first = own.sends.partition_point(|one| one.bytes < answer.start);
        let after = own.sends.partition_point(|one| one.bytes < answer.end);
        let sends = &own.sends[first..after.max(first)];
        let unsent = |(at, send): (usize, &super::connection::ByteTimestamp)| {
            let next = sends.get(at + 1);
            let written = next.map_or(answer.end, |next| next.bytes);
            let out = own.transmitted.partition_point(|one| one.bytes < written);
            let out = own.transmitted.get(out).map_or(Nanos::NEVER, |one| one.at);
            let until = next.map_or(out, |next| out.min(next.at));
            (send.at.saturating_sub(begin), until.saturating_sub(begin))
        };
        let unsent = sends.iter().enumerate().map(unsent).collect();
        Answering { thread: sends.first().map_or(0, |first| first.thread), unsent }
    }

    fn is_unsent(&self, now: Nanos) -> bool {
        let next = self.unsent.partition_point(|(from, _)| *from <= now);
        next.checked_sub(1).is_some_and(|last| now < self.unsent[last].1)
    }

    /// What its reader's wait is for that begins now, by this request alone.
    fn meaning(&self, reader: u32, cause: Cause, now: Nanos) -> Cause {
        let is_last = self.unsent.last().is_some_and(|(from, _)| *from <= now);
        match cause {
            Cause::Socket | Cause::Other if self.is_unsent(now) => Cause::Client,
            Cause::Lock if is_last && self.is_unsent(now) => Cause::Client,
            _ if self.thread != 0 && self.thread != reader => Cause::Other,
            _ => cause,
        }
    }
}

impl Exchanged {
    /// What the wait of its thread is for that begins now. One that was handed a request may wait for the
    /// next: threads of Go wait for whatever comes while the request waits for a lock or a server.
    fn meaning(&self, cause: Cause, now: Nanos) -> Cause {
        match self.answering.meaning(self.thread, cause, now) {
            Cause::Lock | Cause::Socket if self.is_handed_over => Cause::Other,
            told => told,
        }
    }
}

/// Whether a wait may be for something else than its system call says.
fn is_open(cause: Cause) -> bool {
    matches!(cause, Cause::Socket | Cause::Lock | Cause::Other)
}

/// Tells the waits of threads that read requests by what those requests say of them. Where they do not agree,
/// it is unknown.
pub(super) fn tell_waits(
    events: &mut [Event],
    exchanged: &[Exchanged],
    numbers: &BTreeMap<u32, ThreadId>,
) {
    let mut of_thread = BTreeMap::<ThreadId, Vec<&Exchanged>>::new();
    for one in exchanged {
        let thread = numbers.get(&one.thread).copied();
        thread.into_iter().for_each(|thread| of_thread.entry(thread).or_default().push(one));
    }
    let mut readers: BTreeMap<ThreadId, Reader> =
        of_thread.into_iter().map(|(thread, all)| (thread, Reader::new(all))).collect();
    for event in events {
        let What::Off { thread, cause } = &mut event.what else { continue };
        if let Some(reader) = readers.get_mut(thread).filter(|_| is_open(*cause)) {
            *cause = reader.meaning(*cause, event.at);
        }
    }
}

/// The requests that a thread read, as far as they have been followed.
struct Reader<'a> {
    /// Those that are still to be read, the last one first.
    later: Vec<&'a Exchanged>,
    open: Vec<&'a Exchanged>,
}

impl Reader<'_> {
    fn new(mut all: Vec<&Exchanged>) -> Reader<'_> {
        all.sort_by_key(|one| std::cmp::Reverse(one.stages.read));
        Reader { later: all, open: Vec::new() }
    }

    /// What a wait is for; moments go forward.
    fn meaning(&mut self, cause: Cause, now: Nanos) -> Cause {
        while let Some(next) = self.later.pop_if(|next| next.stages.read <= now) {
            self.open.push(next);
        }
        self.open.retain(|one| now < one.stages.transmitted);
        let mut all = self.open.iter().map(|one| one.meaning(cause, now));
        let first = all.next().unwrap_or(cause);
        if all.all(|other| other == first) { first } else { Cause::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::super::connection::Connections;
    use super::super::recording::{Kind, Peer, Recording, Seen};
    use super::*;

    const READER: u32 = 7;
    const WORKER: u32 = 8;
    const PEER: Peer = Peer { address: 1, port: 2, is_udp: false, service: 0 };

    /// A request that is read at 10 and answered with 100 bytes from 20 on, by a thread; they have gone out
    /// at these moments, by number.
    fn request(answered_by: u32, out: &[(u64, u32)]) -> Exchanged {
        let (from, to) = (PEER, PEER);
        let seen = |at, thread, kind| Seen { at: Nanos(at), cpu: 0, thread, kind };
        let mut all = vec![
            seen(5, 0, Kind::Arrived { from, number: 10, bytes: 10 }),
            seen(6, 0, Kind::Ready { from, number: 10 }),
            seen(10, READER, Kind::Read { from, number: 10, bytes: 10 }),
            seen(20, answered_by, Kind::Sends { to, number: 0 }),
        ];
        let out = out.iter().map(|(at, number)| (*at, Kind::Transmitted { to, number: *number }));
        all.extend(out.map(|(at, kind)| seen(at, 0, kind)));
        let connections = Connections::new(&Recording { seen: all, ..Recording::default() });
        let own = &connections.of(PEER)[0];
        let exchange = own.exchanges().remove(0);
        let answering = Answering::of(own, &exchange.answer, Nanos::ZERO);
        let (stages, thread) = connections.stages(own, exchange.request_end, exchange.answer);
        Exchanged::new(stages, thread, answering)
    }

    /// What a wait of the reader's is told to be for.
    fn told(all: &[Exchanged], at: u64, cause: Cause) -> Cause {
        let numbers = BTreeMap::from([(READER, ThreadId(0)), (WORKER, ThreadId(1))]);
        let what = What::Off { thread: ThreadId(0), cause };
        let mut events = [Event { at: Nanos(at), what }];
        tell_waits(&mut events, all, &numbers);
        let What::Off { cause, .. } = events[0].what else { panic!("{events:?}") };
        cause
    }

    #[test]
    fn a_wait_while_an_answer_goes_out_is_for_the_client() {
        let slow = [request(READER, &[(21, 40), (500, 100)])];
        for cause in [Cause::Socket, Cause::Other, Cause::Lock] {
            assert_eq!(told(&slow, 30, cause), Cause::Client, "{cause:?}");
        }
        assert_eq!(told(&slow, 30, Cause::Sleep), Cause::Sleep, "it asked to");
        // The controls: before the answer, after it, and where it has gone out at once.
        assert_eq!(told(&slow, 15, Cause::Socket), Cause::Socket);
        assert_eq!(told(&slow, 501, Cause::Socket), Cause::Socket);
        assert_eq!(told(&[request(READER, &[(21, 100)])], 30, Cause::Socket), Cause::Socket);
    }

    /// A server that passes on what comes from another one writes when that comes.
    #[test]
    fn a_wait_between_two_writes_is_for_the_client_only_while_bytes_are_left() {
        let answering = Answering {
            thread: READER,
            unsent: vec![(Nanos(20), Nanos(50)), (Nanos(90), Nanos(95))],
        };
        let at = |now| answering.meaning(READER, Cause::Socket, Nanos(now));
        assert_eq!([30, 60, 92].map(at), [Cause::Client, Cause::Socket, Cause::Client]);
        assert_eq!(answering.meaning(READER, Cause::Lock, Nanos(30)), Cause::Lock, "more follows");
    }

    #[test]
    fn what_a_thread_waits_for_that_was_handed_a_request_may_be_the_next_one() {
        let mut handed = [request(READER, &[(30, 100)])];
        for cause in [Cause::Lock, Cause::Socket] {
            assert_eq!(told(&handed, 12, cause), cause, "the control: it has read it itself");
        }
        handed[0].is_handed_over = true;
        let causes = [Cause::Lock, Cause::Socket, Cause::Sleep, Cause::Disk];
        let all = causes.map(|cause| told(&handed, 12, cause));
        assert_eq!(all, [Cause::Other, Cause::Other, Cause::Sleep, Cause::Disk]);
    }

    #[test]
    fn what_a_thread_waits_for_that_has_handed_its_request_on_is_no_part_of_it() {
        let out = [(30, 100)];
        let handed = request(WORKER, &out);
        assert_eq!(told(&[handed], 12, Cause::Socket), Cause::Other);
        let own = request(READER, &out);
        assert_eq!(told(&[own], 12, Cause::Socket), Cause::Socket, "the control");
        let both = [request(WORKER, &out), request(READER, &out)];
        assert_eq!(told(&both, 12, Cause::Socket), Cause::Other, "it may be for either");
        assert_eq!(told(&both, 31, Cause::Socket), Cause::Socket, "both are over");
    }
}
