//! Several requests at a time over one connection: HTTP/2.

use std::io;

use crate::protocol::{Answer, Ask};
use crate::record::Loss;

/// What became of a request, by its identity.
pub type End = (u64, Result<Answer, Loss>);

/// A client's side of one connection.
///
/// An error ends the connection. [`InvalidData`](io::ErrorKind::InvalidData): what came is not of the
/// protocol.
pub trait Session: Send {
    /// Takes what has come, nothing at first. Appends what is to be said, and the requests that have ended.
    /// It must survive any bytes.
    fn receive(&mut self, came: &[u8], say: &mut Vec<u8>, ends: &mut Vec<End>) -> io::Result<()>;
    /// Begins a request.
    fn ask(&mut self, ask: &Ask, say: &mut Vec<u8>) -> Result<(), Loss>;
    /// Ends a request that has waited too long; whether a part of its response has come.
    fn give_up(&mut self, id: u64, say: &mut Vec<u8>) -> bool;
    /// How many requests it takes at a time. `None`: the server has not said so yet; 0: it takes no more.
    fn room(&self) -> Option<usize>;
}
