//! Protocols of real servers, a file each.

mod cursor;
pub mod http;
pub mod http2;
pub mod key_value;
pub mod memcached;
pub mod mix;
pub mod postgresql;
pub mod redis;
pub mod template;
pub mod thrift;

use generator::Verdict;

/// Why bytes could not be read to their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More will be needed, so many bytes in all at least.
    More(usize),
    /// They are not of this protocol.
    Garbage,
}

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Verdict {
        match stop {
            Stop::More(total) => Verdict::More(total),
            Stop::Garbage => Verdict::Garbage,
        }
    }
}
