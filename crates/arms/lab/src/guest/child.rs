//! The command as a child of init.

use std::fs::File;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;

use crate::wire::{Frame, Stream};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the command to its end and passes its output on; the code that a shell would give.
pub fn run(program: &str, args: &[String], port: &mut File) -> io::Result<u8> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs([("PATH", PATH), ("HOME", "/root"), ("LANG", "C.UTF-8")]);
    command.current_dir("/root").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    let (stdout, stderr) =
        (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let port = Mutex::new(port);
    thread::scope(|scope| {
        let passing = [
            scope.spawn(|| pass(stdout, Stream::Stdout, &port)),
            scope.spawn(|| pass(stderr, Stream::Stderr, &port)),
        ];
        let code = reap(Pid::from_raw(child.id() as i32))?;
        // What it left behind would keep its output open for ever.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        passing.into_iter().try_for_each(|thread| thread.join().expect("no panic"))?;
        Ok(code)
    })
}

/// Waits for the command, and as the first process for every orphan that ends before it.
fn reap(command: Pid) -> io::Result<u8> {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == command => return Ok(code as u8),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == command => {
                return Ok(128 + signal as u8);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn pass(mut from: impl Read, stream: Stream, port: &Mutex<&mut File>) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        let frame = Frame::Output(stream, piece[..length].to_vec());
        frame.write(&mut **port.lock().expect("no panic"))?;
    }
}
