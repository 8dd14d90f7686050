//! A server of any protocol that answers as dice fall.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

use nix::sys::socket::{setsockopt, sockopt};

use crate::mangle::{Dice, mangled};
use crate::spoken::Spoken;

/// Of a request.
const MOST: usize = 4_096;

/// Serves at a port of the loopback address for as long as the test's process lives. Without a seed it
/// answers well.
pub fn serve(spoken: Spoken, seed: Option<u64>) -> u16 {
    if spoken.is_udp() { serve_datagrams(spoken, seed) } else { serve_streams(spoken, seed) }
}

fn serve_streams(spoken: Spoken, seed: Option<u64>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for (connection, stream) in (0u64..).zip(listener.incoming().flatten()) {
            let mut dice = seed.map(|seed| Dice::new(seed, &[connection]));
            // A client that is gone ends it.
            thread::spawn(move || while answer(&stream, &spoken, dice.as_mut()).is_ok() {});
        }
    });
    port
}

fn answer(mut stream: &TcpStream, spoken: &Spoken, dice: Option<&mut Dice>) -> io::Result<()> {
    let mut request = [0; MOST];
    let length = stream.read(&mut request)?;
    let over = || io::Error::other("over");
    if length == 0 {
        return Err(over());
    }
    let good = (spoken.good)(&request[..length]);
    let Some(dice) = dice else { return stream.write_all(&good) };
    match dice.below(12) {
        0..4 => stream.write_all(&good),
        4 => good.chunks(1).try_for_each(|byte| stream.write_all(byte)),
        5 => stream.write_all(&mangled(&good, dice)),
        6 => stream.write_all(&mangled(&good, dice)).and(Err(over())),
        7 => stream.write_all(&good[..dice.below(good.len())]).and(Err(over())),
        8 => Ok(()),
        9 => Err(over()),
        10 => {
            let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
            setsockopt(stream, sockopt::Linger, &at_once)?;
            Err(over())
        }
        // Unrequested bytes, on a connection that may be idle by then.
        _ => {
            stream.write_all(&good)?;
            thread::yield_now();
            stream.write_all(&good)
        }
    }
}

fn serve_datagrams(spoken: Spoken, seed: Option<u64>) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("its address").port();
    thread::spawn(move || {
        let mut request = [0; MOST];
        for nth in 0u64.. {
            let Ok((length, from)) = socket.recv_from(&mut request) else { return };
            let good = (spoken.good)(&request[..length]);
            let mut dice = Dice::new(seed.unwrap_or_default(), &[nth]);
            let replies = match dice.below(8) {
                _ if seed.is_none() => vec![good],
                0..4 => vec![good],
                4 => vec![],
                5 => vec![mangled(&good, &mut dice)],
                6 => vec![vec![], good],
                _ => vec![good.clone(), mangled(&good, &mut dice), good],
            };
            // A client that is gone gets none.
            replies.iter().for_each(|reply| drop(socket.send_to(reply, from)));
        }
    });
    port
}
