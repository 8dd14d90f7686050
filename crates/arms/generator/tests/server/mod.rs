//! A null RPC server in this process that misbehaves at every n-th request.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use generator::{NullAsk, Stamps};
use model::Nanos;

/// Of a request and of a response.
pub const BYTES: usize = 128;

/// What goes wrong, and at every how many requests (counted over all connections; `u64::MAX`: never).
#[derive(Clone, Copy)]
pub enum Conduct {
    Close(u64),
    Reset(u64),
    Garbage(u64),
    TooMuch(u64),
    HalfAndClose(u64),
    HalfAndSilence(u64),
    Silence(u64),
    Stall(u64, Nanos),
    ByteByByte(u64),
}

impl Conduct {
    fn every(self) -> u64 {
        match self {
            Conduct::Close(n)
            | Conduct::Reset(n)
            | Conduct::Garbage(n)
            | Conduct::TooMuch(n)
            | Conduct::HalfAndClose(n)
            | Conduct::HalfAndSilence(n)
            | Conduct::Silence(n)
            | Conduct::Stall(n, _)
            | Conduct::ByteByByte(n) => n,
        }
    }
}

/// Serves for as long as the test's process lives.
pub fn serve(conduct: Conduct) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || serve_each(listener.incoming().flatten(), conduct));
    address
}

/// The same at a unix socket.
pub fn serve_at(path: &Path, conduct: Conduct) {
    let listener = UnixListener::bind(path).expect("a path that is free");
    thread::spawn(move || serve_each(listener.incoming().flatten(), conduct));
}

fn serve_each(
    streams: impl Iterator<Item = impl Read + Write + AsFd + Send + 'static>,
    conduct: Conduct,
) {
    let count = Arc::new(AtomicU64::default());
    for mut stream in streams {
        let count = Arc::clone(&count);
        // A client that is gone ends it.
        thread::spawn(move || while answer(&mut stream, conduct, &count).is_ok() {});
    }
}

fn answer(
    stream: &mut (impl Read + Write + AsFd),
    conduct: Conduct,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut request = [0; BYTES];
    stream.read_exact(&mut request)?;
    let good = response(&request);
    let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
    if !nth.is_multiple_of(conduct.every()) {
        return stream.write_all(&good);
    }
    let over = || io::Error::other("over");
    match conduct {
        Conduct::Close(_) => Err(over()),
        Conduct::Reset(_) => {
            socket_linger(stream)?;
            Err(over())
        }
        Conduct::Garbage(_) => stream.write_all(&[0xff; BYTES]),
        Conduct::TooMuch(_) => stream.write_all(&[&good[..], b"more"].concat()),
        Conduct::HalfAndClose(_) => stream.write_all(&good[..BYTES / 2]).and(Err(over())),
        Conduct::HalfAndSilence(_) => stream.write_all(&good[..BYTES / 2]),
        Conduct::Silence(_) => Ok(()),
        Conduct::Stall(_, time) => {
            thread::sleep(Duration::from_nanos(time.0));
            stream.write_all(&good)
        }
        Conduct::ByteByByte(_) => good.chunks(1).try_for_each(|byte| stream.write_all(byte)),
    }
}

/// The close becomes a reset.
fn socket_linger(stream: &impl AsFd) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    Ok(setsockopt(stream, sockopt::Linger, &at_once)?)
}

fn response(request: &[u8]) -> [u8; BYTES] {
    let mut response = [0; BYTES];
    let zero = Nanos::ZERO;
    let id = NullAsk::decode(request).id;
    Stamps { id, started: zero, completed: zero, cpu: zero, thread: 0 }.encode(&mut response);
    response
}

/// Answers datagrams, but for every n-th one.
pub fn serve_datagrams(every: u64) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("its address");
    thread::spawn(move || {
        let mut request = [0; BYTES];
        for nth in 1u64.. {
            let Ok((_, from)) = socket.recv_from(&mut request) else { return };
            if !nth.is_multiple_of(every) {
                let _ = socket.send_to(&response(&request), from);
            }
        }
    });
    address
}
