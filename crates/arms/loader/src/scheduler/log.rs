//! What the kernel said last.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;

/// Messages of the kernel that a failure shows.
const MESSAGES: usize = 20;

/// The kernel's last messages.
pub fn kernel_messages() -> String {
    let open =
        OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open("/dev/kmsg");
    let messages = open.map(all_messages).unwrap_or_default();
    messages[messages.len().saturating_sub(MESSAGES)..].join("\n")
}

/// One message a read: numbers, a semicolon, and the text, which other lines may follow.
fn all_messages(mut log: File) -> Vec<String> {
    let mut messages = Vec::new();
    let mut record = [0; 8192];
    while let Ok(length @ 1..) = log.read(&mut record) {
        let text = String::from_utf8_lossy(&record[..length]).into_owned();
        let line = text.split_once(';').map_or("", |(_, rest)| rest.lines().next().unwrap_or(""));
        messages.push(line.to_string());
    }
    messages
}
