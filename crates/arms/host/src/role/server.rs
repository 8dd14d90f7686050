//! The null RPC server of Tales section 3.1.1, and its two rivals with worker threads (Tales section 4.3).

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::unistd::gettid;

use super::order::{Reply, Serve};
use super::say;
use super::thread_pool::{Rounds, STACK_BYTES, ThreadPool};
use crate::clock;
use crate::cpu_time::burn;
use generator::{NullAsk, Stamps};

/// What a worker with connections of its own takes from the kernel at once, in the order in which they became
/// readable (Tales section 3.1.3).
const BATCH: usize = 64;

/// Listens, accepts all connections and hires the threads that serve them.
pub fn spawn(serve: &Serve) -> io::Result<ThreadPool> {
    let connections = accept(serve.connections)?;
    match serve.workers {
        None => thread_per_connection(*serve, connections),
        Some(workers) if serve.shared => shared_queue(*serve, connections, workers),
        Some(workers) => partitioned(*serve, connections, workers),
    }
}

fn accept(connections: u32) -> io::Result<Vec<TcpStream>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    say(&Reply::Listening { port: listener.local_addr()?.port() })?;
    (0..connections)
        .map(|_| {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
        .collect()
}

/// One thread a connection: read, serve, write, nothing else (Tales section 3.1.1).
fn thread_per_connection(serve: Serve, connections: Vec<TcpStream>) -> io::Result<ThreadPool> {
    ThreadPool::spawn(connections.into_iter().map(|connection| {
        move |_: &Rounds| {
            let mut desk = Desk::new(serve);
            while desk.answer(&connection).is_ok() {}
        }
    }))
}

/// The same for any client that connects, for as long as the process lives; for messages of these lengths.
pub fn serve_until_killed(listener: &TcpListener, request_bytes: usize, response_bytes: usize) {
    let serve =
        Serve { connections: 0, workers: None, shared: false, request_bytes, response_bytes };
    for connection in listener.incoming().flatten() {
        let _ = connection.set_nodelay(true);
        let work = move || {
            let mut desk = Desk::new(serve);
            while desk.answer(&connection).is_ok() {}
        };
        // Where no thread is to be had the connection closes.
        let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    }
}

/// Workers that take from one queue: the kernel's list of readable connections, one at a time.
fn shared_queue(serve: Serve, connections: Vec<TcpStream>, workers: u32) -> io::Result<ThreadPool> {
    let connections = Arc::new(connections);
    // One-shot: a connection that is being served must not wake a second worker.
    let queue = Arc::new(Queue::of(&connections, EpollFlags::EPOLLONESHOT, |_| true)?);
    ThreadPool::spawn((0..workers).map(|_| {
        let (connections, queue) = (Arc::clone(&connections), Arc::clone(&queue));
        move |_: &Rounds| queue.work::<1>(&connections, &mut Desk::new(serve))
    }))
}

/// Workers with connections of their own: connection i belongs to worker i modulo `workers`.
fn partitioned(serve: Serve, connections: Vec<TcpStream>, workers: u32) -> io::Result<ThreadPool> {
    let connections = Arc::new(connections);
    let count = workers as usize;
    let queues = (0..count)
        .map(|worker| Queue::of(&connections, EpollFlags::empty(), |i| i % count == worker))
        .collect::<io::Result<Vec<_>>>()?;
    ThreadPool::spawn(queues.into_iter().map(|queue| {
        let connections = Arc::clone(&connections);
        move |_: &Rounds| queue.work::<BATCH>(&connections, &mut Desk::new(serve))
    }))
}

/// Readable connections, in the order in which they became so.
struct Queue {
    epoll: Epoll,
    mode: EpollFlags,
}

impl Queue {
    fn of(
        connections: &[TcpStream],
        mode: EpollFlags,
        owns: impl Fn(usize) -> bool,
    ) -> io::Result<Queue> {
        let queue = Queue { epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, mode };
        for (i, connection) in connections.iter().enumerate().filter(|(i, _)| owns(*i)) {
            queue.epoll.add(connection, queue.interest(i))?;
        }
        Ok(queue)
    }

    fn interest(&self, connection: usize) -> EpollEvent {
        EpollEvent::new(EpollFlags::EPOLLIN | self.mode, connection as u64)
    }

    /// Serves for ever, `N` connections a look. A connection that its client has closed leaves the queue.
    fn work<const N: usize>(&self, connections: &[TcpStream], desk: &mut Desk) {
        let mut events = [EpollEvent::empty(); N];
        loop {
            // Only a signal makes it fail; then the look is repeated.
            let ready = self.epoll.wait(&mut events, EpollTimeout::NONE).unwrap_or(0);
            for event in &events[..ready] {
                let i = event.data() as usize;
                let served = desk.answer(&connections[i]);
                let kept = served.and_then(|()| self.rearm(&connections[i], i));
                if kept.is_err() {
                    let _ = self.epoll.delete(&connections[i]);
                }
            }
        }
    }

    fn rearm(&self, connection: &TcpStream, i: usize) -> io::Result<()> {
        if self.mode.contains(EpollFlags::EPOLLONESHOT) {
            self.epoll.modify(connection, &mut self.interest(i))?;
        }
        Ok(())
    }
}

/// The buffers of one thread.
struct Desk {
    thread: u32,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Desk {
    /// Those of the calling thread.
    fn new(serve: Serve) -> Desk {
        let messages = [serve.request_bytes, serve.response_bytes];
        let [request, response] = messages.map(|bytes| vec![0; bytes]);
        Desk { thread: gettid().as_raw().cast_unsigned(), request, response }
    }

    /// Reads one request, works for as long as it asks, and answers it.
    fn answer(&mut self, mut connection: &TcpStream) -> io::Result<()> {
        connection.read_exact(&mut self.request)?;
        let started = clock::now();
        let ask = NullAsk::decode(&self.request);
        let cpu = burn(ask.service);
        let completed = clock::now();
        let stamps = Stamps { id: ask.id, started, completed, cpu, thread: self.thread };
        stamps.encode(&mut self.response);
        connection.write_all(&self.response)
    }
}
