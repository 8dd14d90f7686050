//! What decoders make of random replies, in whatever pieces they come.

use generator::{Ask, Protocol, ReceivedBytes, Verdict};

use crate::mangle::{Dice, mangled};
use crate::spoken::{ALL, GREETED, Spoken};
use crate::{number, seed};

/// How bytes that come one by one end: with which of them, and as what.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Answer(usize),
    Garbage(usize),
    Open,
}

/// One reply on its way to a client.
struct Reply {
    protocol: Box<dyn Protocol>,
    ask: Ask,
    bytes: Vec<u8>,
}

impl Reply {
    fn judge(&mut self, length: usize, datagrams: &[usize], ended: bool) -> Verdict {
        let bytes = &self.bytes[..length];
        let verdict = self.protocol.decode(&self.ask, &ReceivedBytes { bytes, datagrams, ended });
        if let Verdict::More(total) = verdict {
            assert!(total > length, "{total} of {length}: it waits for what is there");
        }
        verdict
    }

    /// Byte by byte. `patient`: as a connection does, which asks again only when as much is there as was
    /// wanted.
    fn end(&mut self, patient: bool) -> End {
        let mut wanted = 1;
        for length in 1..=self.bytes.len() {
            if patient && length < wanted {
                continue;
            }
            match self.judge(length, &[], false) {
                Verdict::More(total) => wanted = total,
                Verdict::Whole(_) => return End::Answer(length),
                Verdict::Garbage => return End::Garbage(length),
            }
        }
        End::Open
    }

    /// A stream says the same however it is cut, and no reader waits for more than an answer has.
    fn check_stream(&mut self) {
        let (length, end) = (self.bytes.len(), self.end(false));
        let at_once = self.judge(length, &[], false);
        match end {
            End::Answer(at) if at == length => assert!(matches!(at_once, Verdict::Whole(_))),
            End::Open if length > 0 => assert!(matches!(at_once, Verdict::More(_))),
            End::Open => {}
            _ => assert_eq!(at_once, Verdict::Garbage, "{end:?} of {length}"),
        }
        let patient = self.end(true);
        assert!(patient == end || matches!(end, End::Garbage(_)), "{patient:?} and not {end:?}");
        self.judge(length, &[], true);
    }

    /// Datagrams of any lengths do no harm.
    fn check_datagrams(&mut self, dice: &mut Dice) {
        let length = self.bytes.len();
        let mut ends: Vec<usize> = (0..dice.below(4)).map(|_| dice.below(length + 1)).collect();
        ends.push(length);
        ends.sort_unstable();
        self.judge(length, &ends, false);
    }
}

fn reply(spoken: &Spoken, id: u64, bytes: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Reply {
    let (protocol, ask, request) = spoken.asked(id);
    Reply { protocol, ask, bytes: bytes((spoken.good)(&request)) }
}

#[test]
fn any_reply_is_judged_and_the_same_however_it_is_cut() {
    for nth in 0..number("RG_REPLIES", 20_000) {
        let spoken = *ALL.get(nth as usize % (ALL.len() + 1)).unwrap_or(&GREETED);
        let mut dice = Dice::new(seed(), &[nth]);
        let mut reply = reply(&spoken, nth, |good| mangled(&good, &mut dice));
        let context =
            format!("{}: RG_SEED={} reply {nth}: {:?}", spoken.name(), seed(), reply.bytes);
        let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if spoken.is_udp() { reply.check_datagrams(&mut dice) } else { reply.check_stream() }
        }));
        assert!(judged.is_ok(), "{context}");
    }
}

/// The control: what the faults are put into is an answer.
#[test]
fn good_replies_are_answers_with_their_last_byte() {
    for spoken in ALL.into_iter().chain([GREETED]) {
        let mut reply = reply(&spoken, 70_000, |good| good);
        let length = reply.bytes.len();
        let verdict = reply.judge(length, &[length], false);
        assert!(matches!(verdict, Verdict::Whole(_)), "{}: {verdict:?}", spoken.name());
        assert!(spoken.is_udp() || reply.end(true) == End::Answer(length), "{}", spoken.name());
    }
}
