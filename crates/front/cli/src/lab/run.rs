//! `rearguard lab run`: one command under one kernel.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::lab::{Counting, Entry, Job, Lab, Outcome, Stream, Watcher};
use model::scenario::Machine;
use model::{Failure, Nanos, units};

use crate::terminal::computing_flag;

/// Below this QEMU does little else than to change turns.
const SHORTEST_TURN: Nanos = Nanos::from_micros(10);

/// Boot a kernel in QEMU and run a command of this machine under it
///
/// The command's executable and its libraries come along; stdout, stderr and the exit code are the command's
/// own.
#[derive(clap::Args)]
pub struct Args {
    /// A kernel of `lab list`: 6.1, 7.2, a full release, or newest
    kernel: String,
    /// Virtual CPUs
    #[arg(long, value_name = "N", default_value_t = 1)]
    cpus: u32,
    /// CPUs a core
    #[arg(long, value_name = "N", default_value_t = 1)]
    smt: u32,
    /// Last-level caches, a multiple of the nodes [default: one a node]
    #[arg(long, value_name = "N")]
    llcs: Option<u32>,
    /// NUMA nodes
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,
    /// Count instructions, whether or not KVM boots here, and let a virtual CPU run for so long before it is
    /// the next one's turn: for measuring delays between CPUs [default, where instructions are counted: 50us
    /// with up to 16 CPUs, else until the guest's next timer]
    #[arg(long, value_name = "DURATION", value_parser = turn)]
    turns: Option<Nanos>,
    /// The guest's memory, in MiB or GiB; it gets more where its files need it
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = memory_mib)]
    memory: u32,
    /// Real time until the command's end, at most
    #[arg(long, value_name = "DURATION", default_value = "5min", value_parser = units::duration)]
    timeout: Nanos,
    /// Take a file, folder or command along, to the place that it has here (repeatable)
    #[arg(long, value_name = "PATH")]
    put: Vec<PathBuf>,
    /// Bring a file or folder of the guest back (repeatable)
    #[arg(long, value_name = "GUEST_PATH")]
    get: Vec<String>,
    /// The folder for what is brought back
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    into: PathBuf,
    /// Say on stderr how the guest was booted
    #[arg(long, short)]
    verbose: bool,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn memory_mib(text: &str) -> Result<u32, String> {
    let (number, factor) = match (text.strip_suffix('G'), text.strip_suffix('M')) {
        (Some(number), _) => (number, 1024),
        (_, Some(number)) => (number, 1),
        _ => (text, 0),
    };
    let mib = number.parse().ok().and_then(|number: u32| number.checked_mul(factor));
    mib.filter(|mib| *mib > 0).ok_or_else(|| "expected whole MiB or GiB such as 512M or 2G".into())
}

fn turn(text: &str) -> Result<Nanos, String> {
    let turn = units::duration(text)?;
    let fits = turn >= SHORTEST_TURN && turn.0 % 1_000 == 0;
    fits.then_some(turn).ok_or_else(|| "expected whole microseconds, 10us or more".into())
}

/// Runs the command.
pub fn run(lab: &Lab, args: &Args) -> Result<ExitCode, Failure> {
    let job = args.job(lab)?;
    if !args.into.is_dir() {
        return Err(Failure::Input(format!("--into {}: no such folder", args.into.display())));
    }
    let mut terminal = Terminal { stop: computing_flag(), verbose: args.verbose };
    let outcome = lab.run(&job, &mut terminal)?;
    args.keep(&outcome.files)?;
    finish(&outcome)
}

impl Args {
    fn job(&self, lab: &Lab) -> Result<Job, Failure> {
        let llcs = self.llcs.unwrap_or(self.nodes);
        let machine = Machine { cpus: self.cpus, smt: self.smt, llcs, nodes: self.nodes };
        Ok(Job {
            kernel: lab.find(&self.kernel)?,
            machine,
            apart: false,
            counting: self.counting(),
            real_time: None,
            memory_mib: self.memory,
            timeout: Duration::from_nanos(self.timeout.0),
            put: self.put.clone(),
            files: Vec::new(),
            get: self.get.clone(),
            command: self.command.clone(),
        })
    }

    /// A single CPU takes no turns.
    fn counting(&self) -> Option<Counting> {
        let turns = self.turns?;
        Some(Counting { shift: 0, turn: (self.cpus > 1).then_some(turns) })
    }

    fn keep(&self, files: &[Entry]) -> Result<(), Failure> {
        files.iter().try_for_each(|file| {
            write(&self.into, file).map_err(|error| {
                Failure::Run(format!("{}: {error}", self.into.join(&file.name).display()))
            })
        })
    }
}

/// Links in the folder may lead elsewhere, and the guest chooses the name.
fn write(into: &Path, file: &Entry) -> io::Result<()> {
    fileio::replace_below(into, Path::new(&file.name), file.mode, &file.content)
}

/// A command that failed explains a missing file; one that did not must not hide it.
fn finish(outcome: &Outcome) -> Result<ExitCode, Failure> {
    let absent = outcome.absent.join("; ");
    match (absent.is_empty(), outcome.code) {
        (false, 0) => return Err(Failure::Run(format!("--get {absent}"))),
        (false, _) => anstream::eprintln!("rearguard: --get {absent}"),
        (true, _) => {}
    }
    Ok(ExitCode::from(outcome.code))
}

struct Terminal {
    stop: Arc<AtomicBool>,
    verbose: bool,
}

impl Watcher for Terminal {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Failure> {
        match stream {
            Stream::Stdout => stdout::bytes(bytes),
            Stream::Stderr => io::stderr()
                .write_all(bytes)
                .map_err(|error| Failure::Run(format!("the command's errors: {error}"))),
        }
    }

    fn booted(&mut self, after: Duration, accelerator: &str) {
        if self.verbose {
            anstream::eprintln!(
                "rearguard: booted in {:.1} s under {accelerator}",
                after.as_secs_f64()
            );
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_guest_sends_follows_no_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let sent = |name: &str| {
            let entry = Entry { name: name.into(), mode: 0o600, content: b"new".to_vec() };
            write(&at("into"), &entry)
        };
        ["into", "others"].iter().for_each(|name| fs::create_dir(at(name)).expect("a folder"));
        fs::write(at("victim"), "kept").expect("a file");
        symlink(at("victim"), at("into/out")).expect("a link");
        symlink(at("others"), at("into/results")).expect("a link");
        sent("out").expect("room");
        assert_eq!(fs::read(at("victim")).expect("there"), b"kept");
        assert_eq!(fs::read(at("into/out")).expect("there"), b"new");
        let why = sent("results/1.json").expect_err("a link").to_string();
        assert!(why.contains("symbolic link"), "{why}");
        assert_eq!(fs::read_dir(at("others")).expect("there").count(), 0);
        sent("own/deep/1.json").expect("the control");
        assert_eq!(fs::read(at("into/own/deep/1.json")).expect("there"), b"new");
    }

    #[test]
    fn memory_is_read_with_its_unit_or_not_at_all() {
        assert_eq!(memory_mib("512M"), Ok(512));
        assert_eq!(memory_mib("2G"), Ok(2048));
        for bad in ["512", "0M", "1.5G", "G", "-1M", "9999999G"] {
            memory_mib(bad).unwrap_err();
        }
    }

    #[test]
    fn a_missing_file_fails_a_command_that_succeeded_and_no_other() {
        let outcome = |code, absent: &[&str]| Outcome {
            code,
            files: Vec::new(),
            absent: absent.iter().map(|text| (*text).to_string()).collect(),
            cost: lab::Cost::default(),
        };
        assert_eq!(finish(&outcome(0, &["/x: none"])).unwrap_err().exit_code(), 1);
        assert_eq!(finish(&outcome(7, &["/x: none"])).unwrap(), ExitCode::from(7));
        assert_eq!(finish(&outcome(0, &[])).unwrap(), ExitCode::SUCCESS);
    }
}
