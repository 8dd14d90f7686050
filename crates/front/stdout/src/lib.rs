//! Standard output, which may be full or have lost its reader.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use model::Failure;

/// Writes a line.
///
/// [`Failure::ClosedOutput`] where its reader is gone, [`Failure::Run`] where it cannot be written.
pub fn line(text: impl Display) -> Result<(), Failure> {
    write(format!("{text}\n"))
}

/// Writes what has its own line ends; fails as [`line`] does.
pub fn write(text: impl Display) -> Result<(), Failure> {
    let mut out = anstream::stdout();
    // What is still in the buffer at the process's end fails without a word.
    told(write!(out, "{text}").and_then(|()| out.flush()))
}

/// Writes another program's output as it is; fails as [`line`] does.
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout();
    told(out.write_all(bytes).and_then(|()| out.flush()))
}

fn told(written: io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ClosedOutput,
        _ => {
            Failure::Run(format!("standard output: {error}: free some space, or send it elsewhere"))
        }
    })
}
