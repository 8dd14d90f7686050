//! What is said on a new connection before it can carry requests: who asks, and for which database.

use std::io::{self, ErrorKind};

/// Bytes that a server's side of it has at most.
const LONGEST: usize = 64 << 10;

/// A client's side, for one connection.
pub trait Greeting: Send {
    /// Reads `came`, which is all that was not used before and nothing at first, and appends what is to be
    /// said next. It must survive any bytes.
    fn go_on(&mut self, came: &[u8], say: &mut Vec<u8>) -> Greeted;
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Greeted {
    /// It goes on when more comes; so many bytes were used.
    Waits(usize),
    /// The connection can carry requests; all bytes were used.
    Done,
    /// The server does not want this client, in its own words.
    Refused(String),
    /// What came is none of this protocol.
    Garbage,
}

/// A greeting on its way.
pub struct Underway {
    greeting: Box<dyn Greeting>,
    came: Vec<u8>,
}

impl Underway {
    /// It begins.
    pub fn new(greeting: Box<dyn Greeting>) -> Underway {
        Underway { greeting, came: Vec::new() }
    }

    /// Takes what has come; whether it is done.
    pub fn go_on(&mut self, bytes: &[u8], say: &mut Vec<u8>) -> io::Result<bool> {
        self.came.extend_from_slice(bytes);
        let garbage = || io::Error::new(ErrorKind::InvalidData, "no greeting of this protocol");
        match self.greeting.go_on(&self.came, say) {
            Greeted::Waits(used) if self.came.len() - used <= LONGEST => {
                self.came.drain(..used);
                Ok(false)
            }
            Greeted::Done => Ok(true),
            Greeted::Refused(why) => Err(io::Error::new(ErrorKind::PermissionDenied, why)),
            Greeted::Waits(_) | Greeted::Garbage => Err(garbage()),
        }
    }
}
