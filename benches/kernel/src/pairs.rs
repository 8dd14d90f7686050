//! A process of pairs that play ping-pong through two pipes, the load of `perf bench sched pipe`.
//!
//! A byte on stdin lets every pair make its round trips once; a byte on stdout says that all have. The end of
//! stdin ends it.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// The argument that makes this executable such a process: `PAIRS TRIPS` follow.
pub const ROLE: &str = "__pairs";

const STACK: usize = 64 * 1024;

/// Plays the role if the arguments ask for it.
pub fn role_main() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [ROLE, pairs, trips] => {
            let played = play(pairs.parse().ok()?, trips.parse().ok()?);
            Some(if played.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        _ => None,
    }
}

fn play(pairs: usize, trips: u32) -> std::io::Result<()> {
    let (gate, stop) = (Arc::new(Barrier::new(pairs + 1)), Arc::new(AtomicBool::new(false)));
    for _ in 0..pairs {
        let ((near, far), (other, back)) = (std::io::pipe()?, std::io::pipe()?);
        start(move || echo(other, far))?;
        let (gate, stop) = (Arc::clone(&gate), Arc::clone(&stop));
        start(move || lead(near, back, trips, &gate, &stop))?;
    }
    let (mut stdin, mut stdout) = (std::io::stdin(), std::io::stdout());
    loop {
        stdout.write_all(b"+")?;
        stdout.flush()?;
        let ended = stdin.read(&mut [0])? == 0;
        stop.store(ended, Ordering::Relaxed);
        gate.wait();
        if ended {
            return Ok(());
        }
        gate.wait();
    }
}

fn start(body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(body).map(drop)
}

fn lead(mut from: PipeReader, mut to: PipeWriter, trips: u32, gate: &Barrier, stop: &AtomicBool) {
    loop {
        gate.wait();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        for _ in 0..trips {
            to.write_all(b".").and_then(|()| from.read_exact(&mut [0])).expect("the other end");
        }
        gate.wait();
    }
}

fn echo(mut from: PipeReader, mut to: PipeWriter) {
    let mut ball = [0];
    while from.read_exact(&mut ball).is_ok() && to.write_all(&ball).is_ok() {}
}
