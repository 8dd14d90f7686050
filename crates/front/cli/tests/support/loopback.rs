//! A server of a test, at a free port of loopback.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Serves each connection so in a thread of its own, for as long as the test runs. Answers its address.
pub fn serve(each: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (each, stream) = (each.clone(), stream.expect("a client"));
            thread::spawn(move || each(stream));
        }
    });
    address
}
