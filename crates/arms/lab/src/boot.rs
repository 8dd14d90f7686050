//! Booting: a QEMU process that dies with this one, its console, and the frames that its guest sends.

mod accelerator;
mod machine;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::scenario::Machine;
use model::{Failure, Nanos};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};

use crate::store::Kernel;
use crate::tools;
use crate::wire::Frame;
pub use accelerator::{Accelerator, RealTime, choose};
pub use machine::check;

/// The argument that makes an executable start QEMU bound to its parent's life.
pub const ROLE: &str = "__lab_boot";

const QEMU: &str = "qemu-system-x86_64";
const REMEDY: &str = "apt-get install qemu-system-x86";

/// Bytes of the console that are kept for a failure's message.
const CONSOLE_TAIL: usize = 64 * 1024;
/// Frames that wait to be taken, each of 1 MiB at most: a guest that says more waits.
const FRAMES: usize = 16;

/// How guest time is made out of instructions.
///
/// Virtual CPUs take turns on one host CPU. Without `turn` one lasts until the guest's next timer, often for
/// milliseconds, in which a CPU that should wake up does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// An instruction takes 2^`shift` ns.
    pub shift: u8,
    /// How long a turn lasts at most: whole microseconds.
    pub turn: Option<Nanos>,
}

/// A machine to boot.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its kernel.
    pub kernel: Kernel,
    /// Its CPUs.
    pub machine: Machine,
    /// Whether it has one CPU more, in a socket of its own after the others.
    pub apart: bool,
    /// Where instructions are counted: how long a turn of a CPU lasts at most, see [`Counting`].
    pub turn: Option<Nanos>,
    /// Its memory.
    pub memory_mib: u32,
}

/// A booted machine. Dropping it kills the process and waits for its end.
pub struct Running {
    child: Child,
    console: Option<JoinHandle<String>>,
    /// Its frames; the channel closes when the machine is gone.
    pub frames: Receiver<io::Result<Frame>>,
}

impl Guest {
    /// How many CPUs the guest's kernel has.
    pub fn cpus(&self) -> u32 {
        self.machine.cpus + u32::from(self.apart)
    }
}

/// QEMU's first line about itself; the failure says how to install it.
pub fn version() -> Result<String, Failure> {
    let text = tools::text(Command::new(QEMU).arg("--version"), REMEDY)?;
    Ok(text.lines().next().unwrap_or_default().to_string())
}

/// The arguments that confine QEMU; none where it was built without seccomp.
fn sandbox() -> Vec<String> {
    let sandbox = machine::words(machine::SANDBOX);
    let asked = Command::new(QEMU).args(&sandbox).arg("--version").output();
    if asked.is_ok_and(|output| output.status.success()) { sandbox } else { Vec::new() }
}

impl Running {
    /// Starts the machine. The initramfs is QEMU's stdin, the frames its stdout, console and QEMU's own words
    /// its stderr: no file has a name that could be left. The calling thread must live as long as the
    /// machine, which the kernel kills with it.
    pub fn start(
        guest: &Guest,
        accelerator: Accelerator,
        initramfs: &File,
    ) -> Result<Running, Failure> {
        let failed =
            |error: io::Error| Failure::Run(format!("`{QEMU}` could not be started: {error}"));
        let mut child = Command::new("/proc/self/exe")
            .args([ROLE, &std::process::id().to_string(), QEMU])
            .args(sandbox())
            .args(machine::arguments(guest, accelerator))
            // A process group of its own: Ctrl-C on the terminal is for the parent, which then ends the
            // machine.
            .process_group(0)
            .stdin(initramfs.try_clone().map_err(failed)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (stdout, stderr) =
            (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let (sender, frames) = sync_channel(FRAMES);
        thread::spawn(move || forward(stdout, &sender));
        Ok(Running { child, console: Some(thread::spawn(move || tail(stderr))), frames })
    }

    /// Ends the machine; the last lines of its console, from the kernel's own fault on if it had one.
    pub fn last_words(mut self, lines: usize) -> String {
        self.end();
        let text = self.console.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        last_words(&text, lines)
    }

    /// CPU time that the machine has taken so far; zero where this kernel does not tell.
    pub fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        stat.ok().and_then(|stat| cpu_time(&stat)).unwrap_or_default()
    }

    fn end(&mut self) {
        // Both fail only when the child is gone and reaped already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a kernel names a fault of its own, before it prints two pages of registers.
const FAULT: &str = "Oops: ";

fn last_words(console: &str, lines: usize) -> String {
    let printed: Vec<&str> =
        console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = printed.len().saturating_sub(lines);
    let fault = printed.iter().position(|line| line.contains(FAULT));
    printed[fault.unwrap_or(last).min(last)..].join("\n")
}

/// User and system time: the twelfth and thirteenth field behind the name, in hundredths of a second on every
/// Linux.
fn cpu_time(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(Duration::from_millis(ticks * 10))
}

fn forward(stdout: ChildStdout, frames: &SyncSender<io::Result<Frame>>) {
    let mut stdout = BufReader::new(stdout);
    // An end without a frame closes the channel; so does a receiver that needs no more.
    while let Some(frame) = Frame::read(&mut stdout).transpose() {
        let broken = frame.is_err();
        if frames.send(frame).is_err() || broken {
            return;
        }
    }
}

fn tail(mut stderr: ChildStderr) -> String {
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        kept.extend_from_slice(&piece[..length]);
        let surplus = kept.len().saturating_sub(CONSOLE_TAIL);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Becomes the program in the arguments, which the kernel kills when the parent, named before it, dies.
pub fn exec_bound(args: &[String]) -> ExitCode {
    let mut args = args.iter();
    let parent = args.next().and_then(|parent| parent.parse().ok()).map(Pid::from_raw);
    let bound = set_pdeathsig(Signal::SIGKILL).is_ok() && parent == Some(getppid());
    if let (true, Some(program)) = (bound, args.next()) {
        let error = Command::new(program).args(args).exec();
        eprintln!("{program}: {error}");
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control's kernel is well: then the last lines are what a reader needs.
    #[test]
    fn a_kernels_fault_is_shown_from_its_name_on() {
        let registers = "RAX: 0\n".repeat(60);
        let fell = format!("booted\n[    1.0] Oops: int3: 0000\n{registers}\nend\n");
        let shown = last_words(&fell, 5);
        assert!(shown.starts_with("[    1.0] Oops: int3") && shown.ends_with("end"), "{shown}");
        let well = last_words(&format!("booted\n{registers}\nend\n"), 5);
        assert_eq!(well, "RAX: 0\nRAX: 0\nRAX: 0\nRAX: 0\nend");
    }

    /// Where QEMU is installed: a process of it under these arguments has the kernel's filter.
    #[test]
    fn qemu_runs_in_its_sandbox() {
        let Ok(help) = Command::new(QEMU).arg("--help").output() else { return };
        let can = String::from_utf8_lossy(&help.stdout).contains("-sandbox on");
        assert_eq!(!sandbox().is_empty(), can);
        let filtered = |arguments: &[String]| {
            let mut idle = Command::new(QEMU)
                .args(["-machine", "none", "-nodefaults", "-display", "none", "-monitor", "none"])
                .args(arguments)
                .spawn()
                .expect("it is installed");
            let status = || std::fs::read_to_string(format!("/proc/{}/status", idle.id()));
            let seccomp = || status().is_ok_and(|text| text.contains("Seccomp:\t2"));
            // It takes a moment to set itself up.
            let found = (0..500).any(|_| {
                thread::sleep(Duration::from_millis(10));
                seccomp()
            });
            idle.kill().expect("it lives");
            idle.wait().expect("a child");
            found
        };
        if can {
            assert!(filtered(&sandbox()));
        }
    }

    #[test]
    fn cpu_time_is_read_behind_any_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 1";
        assert_eq!(cpu_time(stat), Some(Duration::from_millis(1_750)));
        assert_eq!(cpu_time("7 (a) S 1 2"), None);
    }
}
