//! One connection.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use generator::{Ask, End, Loss, Session};
use h2::client::{self, SendRequest};

use super::Said;
use super::buffers::Buffers;
use super::stream::Stream;

/// What a server may send before it is told that the client has read: of one answer, and of all.
const WINDOW: u32 = 1 << 20;
const ALL_WINDOWS: u32 = 16 << 20;
/// Headers of an answer at most, decoded: a few bytes can stand for many (RFC 9113, section 10.5.1).
const LONGEST_HEAD: u32 = 256 << 10;

type Driver = client::Connection<Buffers, Bytes>;
type Handshake =
    Pin<Box<dyn Future<Output = Result<(SendRequest<Bytes>, Driver), h2::Error>> + Send>>;

/// A client's side of it.
pub struct Connection {
    said: Said,
    buffers: Buffers,
    stage: Stage,
    streams: Vec<(u64, Stream)>,
}

enum Stage {
    Greets(Handshake),
    Open(SendRequest<Bytes>, Box<Driver>),
    /// It takes no more: the server has said so, or it is wrong.
    Ended,
}

impl Connection {
    /// Before the first byte.
    pub fn new(said: Said) -> Connection {
        let buffers = Buffers::default();
        let mut builder = client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(ALL_WINDOWS);
        builder.max_header_list_size(LONGEST_HEAD);
        // None before the server has said how many it takes.
        builder.enable_push(false).initial_max_send_streams(0);
        let (io, stage) = (buffers.clone(), builder);
        let handshake = async move { stage.handshake::<_, Bytes>(io).await };
        Connection { said, buffers, stage: Stage::Greets(Box::pin(handshake)), streams: Vec::new() }
    }

    /// Does whatever can be done with what has come.
    fn drive(&mut self) -> Result<(), h2::Error> {
        let cx = &mut Context::from_waker(Waker::noop());
        if let Stage::Greets(handshake) = &mut self.stage {
            match handshake.as_mut().poll(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => {
                    self.stage = Stage::Ended;
                    return Err(error);
                }
                Poll::Ready(Ok((send, driver))) => {
                    self.stage = Stage::Open(send, Box::new(driver));
                }
            }
        }
        let Stage::Open(_, driver) = &mut self.stage else { return Ok(()) };
        match Pin::new(driver).poll(cx) {
            Poll::Pending => Ok(()),
            Poll::Ready(end) => {
                self.stage = Stage::Ended;
                end
            }
        }
    }
}

impl Session for Connection {
    fn receive(&mut self, came: &[u8], say: &mut Vec<u8>, ends: &mut Vec<End>) -> io::Result<()> {
        self.buffers.come(came);
        let driven = self.drive();
        let cx = &mut Context::from_waker(Waker::noop());
        self.streams.retain_mut(|(id, stream)| match stream.poll(cx) {
            Poll::Pending => true,
            Poll::Ready(end) => {
                ends.push((*id, end));
                false
            }
        });
        // What was read makes room, which the server is told.
        let told = self.drive();
        self.buffers.take(say);
        driven.and(told).map_err(|error| io::Error::new(kind(&error), error))
    }

    fn ask(&mut self, ask: &Ask, say: &mut Vec<u8>) -> Result<(), Loss> {
        let Stage::Open(send, _) = &mut self.stage else { return Err(Loss::Closed) };
        let is_bare = self.said.body.is_empty();
        let sent = send.send_request(self.said.head.clone(), is_bare);
        let (response, mut body) = sent.map_err(|_| Loss::Closed)?;
        if !is_bare {
            body.send_data(self.said.body.clone(), true).map_err(|_| Loss::Reset)?;
        }
        let stream = Stream::new(response, body, &self.said);
        self.streams.push((ask.id, stream));
        let driven = self.drive();
        self.buffers.take(say);
        driven.map_err(|_| Loss::Reset)
    }

    fn give_up(&mut self, id: u64, say: &mut Vec<u8>) -> bool {
        let Some(at) = self.streams.iter().position(|(one, _)| *one == id) else { return false };
        let (_, stream) = self.streams.swap_remove(at);
        let has_begun = stream.has_begun();
        stream.cancel();
        // An error is told when more comes.
        let _ = self.drive();
        self.buffers.take(say);
        has_begun
    }

    fn room(&self) -> Option<usize> {
        match &self.stage {
            Stage::Greets(_) => None,
            Stage::Ended => Some(0),
            Stage::Open(send, _) => {
                let is_over = matches!(
                    send.clone().poll_ready(&mut Context::from_waker(Waker::noop())),
                    Poll::Ready(Err(_))
                );
                match send.current_max_send_streams() {
                    _ if is_over => Some(0),
                    0 => None,
                    most => Some(most),
                }
            }
        }
    }
}

/// Garbage, or the server's own word.
fn kind(error: &h2::Error) -> ErrorKind {
    let is_theirs = error.is_remote() || error.is_io();
    if is_theirs { ErrorKind::ConnectionReset } else { ErrorKind::InvalidData }
}
