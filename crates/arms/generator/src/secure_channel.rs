//! What lies between a connection's bytes and what is said over it, where that is hidden from others: TLS.

use std::io;

/// One end of one connection.
///
/// An error ends the connection. [`ConnectionReset`](io::ErrorKind::ConnectionReset) is the server's own.
pub trait SecureChannel: Send {
    /// Takes bytes of the connection, none at first. Appends what they say to `plain`, and to `wire` what is
    /// to be sent at once. It must survive any bytes.
    fn receive(&mut self, came: &[u8], plain: &mut Vec<u8>, wire: &mut Vec<u8>) -> io::Result<()>;
    /// Appends what hides `plain`.
    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()>;
    /// Appends what says that this side has ended.
    fn end(&mut self, wire: &mut Vec<u8>);
    /// Whether it can be spoken over.
    fn is_established(&self) -> bool;
    /// Whether the server has said that nothing more will come.
    fn has_ended(&self) -> bool;
    /// Why the connection's end is none, where the server has not answered yet.
    fn cut_off(&self) -> io::Error;
}
