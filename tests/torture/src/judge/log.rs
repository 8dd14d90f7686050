//! The kernel's log since the piece began.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;

const LOG: &str = "/dev/kmsg";

/// Words of the kernel that nothing under test may cause.
const FAULTS: [&str; 12] = [
    "WARNING:",
    "BUG:",
    "Oops",
    "Call Trace",
    "stall",
    "LOCKUP",
    "lockup",
    "blocked for more than",
    "general protection fault",
    "Kernel panic",
    "scheduling while atomic",
    "UBSAN",
];

/// What the kernel says about schedulers that it ends: these are reasons of ours, others are faults.
const ENDINGS: [&str; 3] =
    ["unregistered from user space", "unregistered from BPF", "unregistered from the main kernel"];

/// The log from a moment on.
pub struct Log(File);

impl Log {
    /// From now on.
    pub fn from_now() -> io::Result<Log> {
        let mut file = open()?;
        file.seek(SeekFrom::End(0))?;
        Ok(Log(file))
    }

    /// The lines that must not be there.
    pub fn faults(mut self) -> Vec<String> {
        let lines = lines(&mut self.0);
        let faults = lines.iter().filter(|line| is_fault(line)).take(20);
        faults.map(|line| format!("the kernel said: {line}")).collect()
    }

    /// The last lines of all.
    pub fn tail() -> io::Result<String> {
        let lines = lines(&mut open()?);
        Ok(lines[lines.len().saturating_sub(40)..].join("\n"))
    }
}

fn open() -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(LOG)
}

/// Every read gives one record; one that was overwritten before it was read is an error to go past.
fn lines(file: &mut File) -> Vec<String> {
    let mut record = vec![0; 8192];
    let mut lines = Vec::new();
    loop {
        match file.read(&mut record) {
            Ok(0) => return lines,
            Ok(length) => lines.push(text(&String::from_utf8_lossy(&record[..length]))),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(_) => return lines,
        }
    }
}

/// A record is `priority,sequence,time,flags;text`, and lines of details.
fn text(record: &str) -> String {
    let text = record.split_once(';').map_or(record, |(_, text)| text);
    text.lines().next().unwrap_or_default().to_string()
}

fn is_fault(line: &str) -> bool {
    let ended = line.contains("sched_ext:") && line.contains(" disabled (");
    let for_cause = ended && !ENDINGS.iter().any(|ending| line.contains(ending));
    // Going offline ends a scheduler, which then starts anew.
    let hotplug = line.contains("online") || line.contains("offline") || line.contains("hotplug");
    let error = line.contains("sched_ext:") && line.to_lowercase().contains("error");
    (for_cause && !hotplug) || error || FAULTS.iter().any(|fault| line.contains(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_from_what_must_be() {
        for good in [
            "sched_ext: BPF scheduler \"cts\" enabled",
            "sched_ext: BPF scheduler \"cts\" disabled (unregistered from user space)",
            "sched_ext: BPF scheduler \"cts\" disabled (cpu 2 going offline, exiting scheduler)",
            "smpboot: CPU 3 is now offline",
        ] {
            assert!(!is_fault(good), "{good}");
        }
        for bad in [
            "WARNING: kernel/sched/ext.c:1 at scx_x+0x1, CPU#1: swapper/0",
            "sched_ext: BPF scheduler \"cts\" disabled (runtime error)",
            "sched_ext: BPF scheduler \"cts\" disabled (runnable task stall)",
            "sched_ext: cts: scx_bpf_error (out of slots)",
            "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            "watchdog: BUG: soft lockup - CPU#0 stuck for 26s!",
        ] {
            assert!(is_fault(bad), "{bad}");
        }
    }

    #[test]
    fn records_lose_their_head_and_their_details() {
        assert_eq!(text("6,1,2,-;hello; there\n SUBSYSTEM=cpu\n"), "hello; there");
    }
}
