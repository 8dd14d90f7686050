//! A server of HTTP/2, with whims where they are wanted.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::net::{TcpListener, TcpStream};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Whim {
    /// A body of so many bytes.
    Body(usize),
    /// HTTP/2's own end of one request.
    Reset,
    Silent,
    /// A head, and nothing more.
    Half,
    Status(u16),
    /// So many headers of 3 kB.
    Headers(usize),
    /// gRPC's trailers, behind a message or without.
    Call(Option<&'static str>),
}

/// How it serves.
#[derive(Clone)]
pub struct Manner {
    /// By the number of the request among all.
    pub whim: fn(u64) -> Whim,
    pub most_streams: Option<u32>,
    /// Requests after which it says that it ends a connection.
    pub ends_after: Option<u64>,
    pub pause: Duration,
}

impl Default for Manner {
    fn default() -> Manner {
        let whim = |_| Whim::Body(10);
        Manner { whim, most_streams: None, ends_after: None, pause: Duration::ZERO }
    }
}

/// What it saw.
#[derive(Default)]
pub struct Seen {
    pub requests: AtomicU64,
    pub connections: AtomicU64,
    pub body_bytes: AtomicU64,
    /// Requests of one connection at a time, at most.
    pub most_at_a_time: AtomicU64,
    /// Requests that the client gave up.
    pub cancelled: AtomicU64,
}

pub fn serve(manner: &Manner) -> (SocketAddr, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    listener.set_nonblocking(true).expect("a listener");
    let (manner, told) = (manner.clone(), Arc::clone(&seen));
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                told.connections.fetch_add(1, Relaxed);
                tokio::spawn(connection(stream, manner.clone(), Arc::clone(&told)));
            }
        });
    });
    (address, seen)
}

async fn connection(stream: TcpStream, manner: Manner, seen: Arc<Seen>) -> Result<(), h2::Error> {
    let mut builder = Builder::new();
    if let Some(most) = manner.most_streams {
        builder.max_concurrent_streams(most);
    }
    let mut connection = builder.handshake::<_, Bytes>(stream).await?;
    let at_a_time = Arc::new(AtomicU64::new(0));
    let mut accepted = 0;
    while let Some(request) = connection.accept().await {
        let (request, respond) = request?;
        let number = seen.requests.fetch_add(1, Relaxed);
        let (whim, pause) = ((manner.whim)(number), manner.pause);
        let (seen, at_a_time) = (Arc::clone(&seen), Arc::clone(&at_a_time));
        seen.most_at_a_time.fetch_max(at_a_time.fetch_add(1, Relaxed) + 1, Relaxed);
        tokio::spawn(async move {
            let _ = answer(request, respond, (whim, pause), &seen).await;
            at_a_time.fetch_sub(1, Relaxed);
        });
        accepted += 1;
        if manner.ends_after == Some(accepted) {
            connection.graceful_shutdown();
        }
    }
    Ok(())
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    (whim, pause): (Whim, Duration),
    seen: &Seen,
) -> Result<(), h2::Error> {
    let mut body = request.into_body();
    while let Some(data) = body.data().await {
        let count = data?.len();
        body.flow_control().release_capacity(count)?;
        seen.body_bytes.fetch_add(count as u64, Relaxed);
    }
    tokio::time::sleep(pause).await;
    let head = |status: u16| Response::builder().status(status).body(()).expect("a head");
    match whim {
        Whim::Status(status) => {
            respond.send_response(head(status), true)?;
        }
        Whim::Headers(count) => {
            let mut head = head(200);
            for _ in 0..count {
                head.headers_mut().append("x-long", "x".repeat(3_000).parse().expect("a value"));
            }
            respond.send_response(head, true)?;
        }
        Whim::Body(bytes) => {
            let mut sending = respond.send_response(head(200), false)?;
            sending.send_data(vec![b'x'; bytes].into(), true)?;
        }
        Whim::Call(status) => {
            let mut sending = respond.send_response(head(200), false)?;
            if status == Some("0") {
                sending.send_data(Bytes::from_static(b"\0\0\0\0\x01x"), false)?;
            }
            let status = status.map(|status| ("grpc-status", status));
            let trailers = status.into_iter().map(|(name, value)| {
                (name.parse().expect("a name"), value.parse().expect("a value"))
            });
            sending.send_trailers(trailers.collect::<HeaderMap>())?;
        }
        Whim::Reset => respond.send_reset(Reason::INTERNAL_ERROR),
        Whim::Silent => {
            let cancelled = poll_fn(|cx| respond.poll_reset(cx)).await? == Reason::CANCEL;
            seen.cancelled.fetch_add(u64::from(cancelled), Relaxed);
        }
        Whim::Half => {
            let mut sending = respond.send_response(head(200), false)?;
            let cancelled = poll_fn(|cx| sending.poll_reset(cx)).await? == Reason::CANCEL;
            seen.cancelled.fetch_add(u64::from(cancelled), Relaxed);
        }
    }
    Ok(())
}
