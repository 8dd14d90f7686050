//! The process that keeps a server and ends it, however the measurement ends.
//!
//! It is this executable in another role, told what to do by a line on its stdin. When that ends, because the
//! measurement did or was killed, it kills the server's process group and removes the server's folder.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::Failure;
use model::role::Role;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::wait;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// The argument that makes an executable the guard of a server.
const ROLE: &str = "__server";
/// How often to look whether the server has ended.
const LOOK: Duration = Duration::from_millis(50);

/// What to run where.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The server's CPUs.
    pub cpus: Vec<usize>,
    /// The server.
    pub work: Work,
}

/// A server.
#[derive(Debug, Serialize, Deserialize)]
pub enum Work {
    /// A program, started in a new folder with these files in it. `{folder}` in arguments and files is that
    /// folder.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Path in the folder and content.
        files: Vec<(String, String)>,
        /// The user that it runs as, where root starts it and it does not give root's rights up by itself.
        user: Option<u32>,
    },
    /// The null RPC server, in the guard itself.
    NullRpc {
        /// Its port on the loopback address.
        port: u16,
        /// Bytes of a request.
        request_bytes: usize,
        /// Bytes of a response.
        response_bytes: usize,
    },
}

/// The guard, seen from the measurement.
pub struct Guard {
    name: &'static str,
    child: Child,
    orders: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
}

impl Guard {
    /// Posts a guard and gives it its orders.
    pub fn post(name: &'static str, orders: Orders) -> Result<Guard, Failure> {
        let post = || -> io::Result<Guard> {
            let mut child = Command::new("/proc/self/exe")
                .arg(ROLE)
                // Signals to the measurement's group are not for the guard.
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut pipe = child.stdin.take().expect("piped");
            let said = BufReader::new(child.stdout.take().expect("piped"));
            let line = serde_json::to_string(&orders)?;
            let told = writeln!(pipe, "{line}");
            let guard = Guard { name, child, orders: Some(pipe), said };
            told.map(|()| guard)
        };
        post().map_err(|error| Failure::Run(format!("{name} could not be started: {error}")))
    }

    /// Its number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Fails with the server's own words if it has ended.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        if !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            return Ok(());
        }
        let mut words = String::new();
        // Whatever it said before it ended.
        let _ = self.said.read_to_string(&mut words);
        let name = self.name;
        Err(Failure::Run(format!("{name} has ended: {}", words.trim())))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.orders.take());
        // It fails only when the guard is gone and reaped already.
        let _ = self.child.wait();
    }
}

/// The guard of a server.
pub const ROLES: &[Role] = &[(ROLE, play)];

fn play(_: &[String]) -> ExitCode {
    match stand() {
        Ok(code) => code,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn stand() -> io::Result<ExitCode> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let orders: Orders = serde_json::from_str(&line)?;
    generator::thread::bind(&orders.cpus)?;
    let (tell, end) = mpsc::channel();
    thread::spawn(move || {
        // Nothing more comes: the end is the measurement's.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = tell.send(());
    });
    match orders.work {
        Work::NullRpc { port, request_bytes, response_bytes } => {
            let listener = TcpListener::bind(("127.0.0.1", port))?;
            thread::spawn(move || {
                host::serve_until_killed(&listener, request_bytes, response_bytes)
            });
            let _ = end.recv();
            Ok(ExitCode::SUCCESS)
        }
        Work::Program { command, files, user } => keep((&command, user), &files, &end),
    }
}

/// Runs the program until the end of the measurement, or its own.
fn keep(
    (command, user): (&[String], Option<u32>),
    files: &[(String, String)],
    end: &mpsc::Receiver<()>,
) -> io::Result<ExitCode> {
    // What the server leaves behind becomes this process's, which waits for its end.
    set_child_subreaper(true)?;
    let folder = furnish(files)?;
    let here = folder.path().display().to_string();
    let words = command.iter().map(|word| word.replace("{folder}", &here));
    let words: Vec<String> = words.collect();
    let log = std::fs::File::create(folder.path().join("said"))?;
    let mut server = Command::new(&words[0]);
    if let Some(user) = user {
        server.uid(user).gid(user);
    }
    let mut server = server
        .args(&words[1..])
        .current_dir(folder.path())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    let ended = loop {
        match end.recv_timeout(LOOK) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            _ => break None,
        }
        if let Some(status) = server.try_wait()? {
            break Some(status);
        }
    };
    // Its workers, too; where all are gone there is no group.
    let _ = killpg(Pid::from_raw(server.id() as i32), Signal::SIGKILL);
    while wait().is_ok() {}
    let Some(status) = ended else { return Ok(ExitCode::SUCCESS) };
    let words = std::fs::read_to_string(folder.path().join("said")).unwrap_or_default();
    println!("{status}: {}", words.trim());
    Ok(ExitCode::FAILURE)
}

/// A folder with these files; dropping it removes it.
fn furnish(files: &[(String, String)]) -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("rearguard-server-").tempdir()?;
    // Servers that give up root's rights must still find their files.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    let here = folder.path().display().to_string();
    for (path, content) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        std::fs::write(path, content.replace("{folder}", &here))?;
    }
    Ok(folder)
}
