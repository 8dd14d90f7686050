//! What the guest says while it runs.

use std::time::Duration;

use lab::{Stream, Watcher};
use model::{Failure, Watch};

use crate::order::PROGRESS;

/// The boot's part of a run's progress: a guess.
const BOOT_SHARE: f64 = 0.1;

/// Passes progress on and keeps complaints.
pub struct GuestOutput<'a> {
    watch: &'a dyn Watch,
    line: Vec<u8>,
    complaint: Vec<u8>,
}

impl GuestOutput<'_> {
    /// No output yet.
    pub fn new(watch: &dyn Watch) -> GuestOutput<'_> {
        GuestOutput { watch, line: Vec::new(), complaint: Vec::new() }
    }

    /// What the guest wrote to stderr.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.complaint).trim().to_string()
    }

    fn read_progress(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(&self.line).into_owned();
            let done = line.strip_prefix(PROGRESS).and_then(|done| done.parse::<f64>().ok());
            if let Some(done) = done {
                self.watch.progress(BOOT_SHARE + (1.0 - BOOT_SHARE) * done);
            }
            self.line.clear();
        }
    }
}

impl Watcher for GuestOutput<'_> {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Failure> {
        match stream {
            Stream::Stdout => self.read_progress(bytes),
            Stream::Stderr => self.complaint.extend_from_slice(bytes),
        }
        Ok(())
    }

    fn booted(&mut self, _after: Duration, _accelerator: &str) {
        self.watch.progress(BOOT_SHARE);
    }

    fn cancelled(&self) -> bool {
        self.watch.cancelled()
    }
}
