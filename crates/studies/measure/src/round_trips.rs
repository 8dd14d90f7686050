//! What a null RPC costs client and server together, request after request over one connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use generator::{NullAsk, clock};
use model::{Failure, Nanos};
use nix::time::ClockId;
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

use crate::local::{Local, numbers};
use crate::target::Target;

/// A server that does not answer for so long never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client of a null RPC server on this machine, which asks for no work.
pub struct RoundTrips {
    connection: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    server: Local,
    counters: Option<Vec<Counter>>,
}

/// What requests cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time a request, of client and server.
    pub cpu_ns: f64,
    /// Instructions a request, the kernel's included; `None`: this machine does not count them.
    pub instructions: Option<f64>,
}

impl RoundTrips {
    /// Connects to a server at this machine's loopback address, from the calling thread.
    pub fn connect(target: &Target) -> Result<RoundTrips, Failure> {
        let address = target.address.ip();
        let address = address.ok_or_else(|| broken(&"the server is not in the network"))?;
        let server = Local::find(&target.address, target.transport());
        let server = server.ok_or_else(|| broken(&"the server is not this user's"))?;
        // Before the connection: the thread that will serve it is counted because the one that starts it is.
        let counters = counters(&server).ok();
        let connection = TcpStream::connect(address).map_err(|error| broken(&error))?;
        let ready = connection.set_nodelay(true);
        ready.and_then(|()| connection.set_read_timeout(Some(PATIENCE))).map_err(|e| broken(&e))?;
        let lengths =
            target.lengths().ok_or_else(|| broken(&"the server speaks something else"))?;
        let [request, response] =
            [lengths.request_bytes, lengths.response_bytes].map(|bytes| vec![0; bytes]);
        Ok(RoundTrips { connection, request, response, server, counters })
    }

    /// Asks again and again for a while.
    pub fn run(&mut self, span: Nanos) -> Result<Cost, Failure> {
        let (cpu, instructions) = (self.cpu()?, self.instructions());
        let (end, mut requests) = (clock::now() + span, 0u64);
        while clock::now() < end {
            NullAsk { id: requests, service: Nanos::ZERO }.encode(&mut self.request);
            let asked = self.connection.write_all(&self.request);
            let answered = asked.and_then(|()| self.connection.read_exact(&mut self.response));
            answered.map_err(|error| broken(&error))?;
            requests += 1;
        }
        let a_request = |total: u64| total as f64 / requests as f64;
        let spent = self.instructions().zip(instructions).map(|(after, before)| after - before);
        let cpu_ns = a_request((self.cpu()? - cpu).0);
        Ok(Cost { cpu_ns, instructions: spent.map(a_request) })
    }

    fn cpu(&self) -> Result<Nanos, Failure> {
        let own = ClockId::CLOCK_THREAD_CPUTIME_ID.now().map(clock::from_timespec);
        let server = self.server.cpu().ok_or_else(|| broken(&"the server has ended"))?;
        Ok(own.unwrap_or(Nanos::ZERO) + server)
    }

    fn instructions(&mut self) -> Option<u64> {
        let mut counters = self.counters.as_mut()?.iter_mut();
        counters.try_fold(0, |sum, counter| Some(sum + counter.read().ok()?))
    }
}

/// Counters of this thread, and of all of the server's and those that they will start.
fn counters(server: &Local) -> io::Result<Vec<Counter>> {
    let mut all = vec![counter(0, false)?];
    for process in &server.processes {
        for thread in numbers(&format!("/proc/{process}/task")) {
            all.push(counter(thread, true)?);
        }
    }
    Ok(all)
}

fn counter(thread: i32, with_those_it_starts: bool) -> io::Result<Counter> {
    let mut builder = Builder::new(Hardware::INSTRUCTIONS);
    builder.observe_pid(thread).any_cpu().inherit(with_those_it_starts).exclude_kernel(false);
    let mut counter = builder.build()?;
    counter.enable()?;
    Ok(counter)
}

fn broken(why: &dyn std::fmt::Display) -> Failure {
    Failure::Run(format!("the null RPC broke off: {why}"))
}
