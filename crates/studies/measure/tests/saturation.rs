//! What bounds a server's throughput: the server, or the connections that the client has. The service time is
//! of throughput only where it is the server.
//!
//! The server is this executable in another role, as its CPU time is known only of another process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use generator::Limits;
use libtest_mimic::{Arguments, Failed, Trial};
use measure::{Saturation, ServiceTime, Setup, Target, saturate};
use model::{Nanos, Silent};

const CONNECTIONS: u32 = 32;
/// The argument of the process that serves; behind it how.
const SERVE: &str = "__serve";
/// Each request waits beside the others.
const PARALLEL: (&str, Duration) = ("parallel", Duration::from_millis(20));
/// One at a time.
const SERIAL: (&str, Duration) = ("serial", Duration::from_millis(5));

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [SERVE, manner] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        serve(manner == SERIAL.0);
        return ExitCode::SUCCESS;
    }
    let name = "connections_are_not_taken_for_the_servers_limit";
    let trials = vec![Trial::test(name, connections_and_the_control)];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn connections_and_the_control() -> Result<(), Failed> {
    let bounded = found(PARALLEL.0)?;
    let (last, _) = bounded.steps[bounded.steps.len() - 1];
    assert!(bounded.connections_limited && last == CONNECTIONS, "{bounded:?}");
    assert_eq!(bounded.service_time.source, ServiceTime::CPU_TIME, "{bounded:?}");
    // The control: more connections bring a serial server nothing.
    let busy = found(SERIAL.0)?;
    assert!(!busy.connections_limited && !busy.generator_limited, "{busy:?}");
    assert_eq!(busy.service_time.source, "saturation", "{busy:?}");
    assert!(u128::from(busy.service_time.value.0) >= SERIAL.1.as_nanos(), "{busy:?}");
    Ok(())
}

fn found(manner: &str) -> Result<Saturation, Failed> {
    let server = Server::start(manner)?;
    let target = Target::parse(&format!("http://127.0.0.1:{}/", server.port), None)?;
    let limits = Limits { timeout: Nanos::from_secs(20), requests_per_connection: None };
    let cpus = vec![host::cpus().first().map_or(0, |cpu| cpu.id)];
    let setup = Setup { connections: CONNECTIONS, cpus, limits, socket_timestamps: false };
    Ok(saturate(&target, &setup, Some(1), &Silent)?)
}

/// A process that serves until it is dropped.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(manner: &str) -> Result<Server, Failed> {
        let mut command = Command::new("/proc/self/exe");
        command.args([SERVE, manner]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line)?;
        Ok(Server { process, port: line.trim().parse()? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input is its end.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Serves, a thread a connection, until the input ends.
fn serve(is_serial: bool) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("its address").port());
    let turn = is_serial.then(|| Arc::new(Mutex::new(())));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let turn = turn.clone();
            // A client that is gone ends it.
            thread::spawn(move || while answer(&stream, turn.as_deref()).is_ok() {});
        }
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Reads a request without a body, waits and answers.
fn answer(mut stream: &TcpStream, turn: Option<&Mutex<()>>) -> std::io::Result<()> {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut bytes = [0; 1_024];
        match stream.read(&mut bytes)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => asked.extend_from_slice(&bytes[..count]),
        }
    }
    match turn.map(|turn| turn.lock().expect("no thread panics")) {
        Some(_turn) => thread::sleep(SERIAL.1),
        None => thread::sleep(PARALLEL.1),
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}
