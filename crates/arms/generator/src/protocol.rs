//! What goes over a connection: a request as bytes, and whether the bytes that came are its response.

use model::workload::Planned;

use crate::greeting::Greeting;
use crate::secure_channel::SecureChannel;
use crate::session::Session;
use crate::wire::Stamps;

/// A request that is to be put into bytes, or whose response has begun to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its place among the requests of its client.
    pub id: u64,
    /// Its moment, its work and its random number, from which a protocol draws what it asks for.
    pub planned: Planned,
}

/// All that has come since a request was sent.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedBytes<'a> {
    /// The bytes, one after the other.
    pub bytes: &'a [u8],
    /// Where each datagram ends in `bytes`; empty on a stream.
    pub datagrams: &'a [usize],
    /// Whether the server has closed the stream: nothing more will come.
    pub ended: bool,
}

/// What is to be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not whole yet: there will be at least so many bytes in all. It is not asked again before they are
    /// there.
    More(usize),
    /// The response is whole, and nothing is left over.
    Whole(Answer),
    /// No response of this protocol begins like this.
    Garbage,
}

/// A whole response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What the server itself stamped: the null RPC server does.
    pub stamps: Option<Stamps>,
    /// Why it is not the response that was wanted: an error, a miss.
    pub complaint: Option<&'static str>,
    /// Whether the server will close the connection after it.
    pub last: bool,
}

/// One protocol, as one client speaks it.
///
/// Decoding must survive any bytes: it never panics, and never waits for more than the longest response that
/// it would accept.
pub trait Protocol: Send {
    /// What hides all that goes over a connection.
    fn channel(&self) -> Option<Box<dyn SecureChannel>> {
        None
    }
    /// What carries several requests at a time over a connection, and how many; then nothing of the rest is
    /// asked.
    fn session(&self) -> Option<(usize, Box<dyn Session>)> {
        None
    }
    /// What a connection begins with.
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        None
    }
    /// Appends the bytes of a request; on datagrams, of one.
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>);
    /// Judges what has come, from its first byte on.
    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict;
}

impl Verdict {
    /// The verdict on a response of `total` bytes that are not more than came: whole, too short or too long.
    pub fn of_length(received: &ReceivedBytes, total: usize, answer: Answer) -> Verdict {
        match received.bytes.len() {
            length if length < total => Verdict::More(total),
            length if length == total => Verdict::Whole(answer),
            _ => Verdict::Garbage,
        }
    }
}
