//! A server on the machine's last CPU, and a client.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::child_guard::ChildGuard;

/// How long the end of the first answer is waited for.
const SILENCE: Duration = Duration::from_millis(500);
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(3);

impl ChildGuard {
    pub fn start(command: &str, words: &[&str]) -> ChildGuard {
        let mut command = Command::new(command);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        ChildGuard(command.spawn().expect("it is everywhere"))
    }

    pub fn process(&self) -> String {
        self.0.id().to_string()
    }
}

pub fn last_cpu() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) - 1
}

/// A command on the machine's last CPU.
pub fn on_last_cpu(words: &[&str]) -> ChildGuard {
    ChildGuard::start("taskset", &[&["-c", &last_cpu().to_string()], words].concat())
}

/// The kernel lets a sleeper go before hogs at once, but not one as nice as this.
pub const LAST: [&str; 3] = ["nice", "-n", "19"];
/// Before all but the kernel itself.
pub const FIRST: [&str; 3] = ["chrt", "-f", "10"];

/// A server, for as long as this lives.
pub struct Server {
    _kept: ChildGuard,
    address: SocketAddr,
    /// The process.
    pub process: String,
    request: &'static str,
    /// Bytes of an answer.
    answer: usize,
}

impl Server {
    /// A server that `rearguard serve` knows, scheduled like this and asked for this; `None`, with a word,
    /// where it is not installed, or not to be scheduled so.
    pub fn start(like: [&str; 3], name: &str, request: &'static str) -> Option<Server> {
        let words = [env!("CARGO_BIN_EXE_rearguard"), "serve", name, "--cpus"];
        let mut command = Command::new(like[0]);
        command.args(&like[1..]).args(words).arg(last_cpu().to_string()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it is everywhere");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let kept = ChildGuard(child);
        let said = line.trim().split_once(" process ");
        let Some((url, process)) = said else {
            eprintln!("skipped: no {name} here, or no {}", like[0]);
            return None;
        };
        let address = url.split_once("://").expect("a URL").1.split('/').next().expect("a host");
        let (address, process) = (address.parse().expect("an address"), process.to_string());
        let answer = length(address, request).expect("an answer");
        Some(Server { _kept: kept, address, process, request, answer })
    }

    pub fn port(&self) -> String {
        self.address.port().to_string()
    }

    /// Asks some hundred times, one after the other.
    pub fn ask_until(&self, mut over: impl FnMut() -> bool) {
        let mut connection = connect(self.address).expect("a connection");
        while !over() {
            // Some servers end a connection after a thousand requests.
            if self.ask(&mut connection).is_err() {
                connection = connect(self.address).expect("a connection");
            }
            sleep(PAUSE);
        }
    }

    fn ask(&self, connection: &mut TcpStream) -> io::Result<()> {
        connection.write_all(self.request.as_bytes())?;
        connection.read_exact(&mut vec![0; self.answer])
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// How long an answer is, by what comes before silence.
fn length(address: SocketAddr, request: &str) -> io::Result<usize> {
    let mut connection = connect(address)?;
    connection.write_all(request.as_bytes())?;
    let mut all = vec![0; 1 << 16];
    let mut count = connection.read(&mut all)?;
    connection.set_read_timeout(Some(SILENCE))?;
    while let Ok(more) = connection.read(&mut all) {
        count += more;
    }
    Ok(count)
}
