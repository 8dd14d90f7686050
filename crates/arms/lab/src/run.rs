//! One command under one kernel.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use model::scenario::Machine;
use model::{Failure, Nanos};

use crate::boot::{self, Accelerator, Counting, Guest, RealTime, Running};
use crate::guest::order::Order;
use crate::image;
use crate::image::archive::{self, Entry};
use crate::store::{Kernel, Lab};
use crate::wire::{Frame, Stream};

/// How often a run looks whether the user has stopped it.
pub const LOOK: Duration = Duration::from_millis(50);
/// How long a turn of a virtual CPU lasts where instructions are counted, unless it is said.
/// Without turns a CPU that waits runs only where another one programs its timer: kernels stall.
const TURN: Nanos = Nanos::from_micros(50);
/// With 16 CPUs turns make a boot 1.7 times as long, with 64 it takes minutes.
const MOST_BY_TURNS: u32 = 16;
/// Lines of the console that a failure shows: a panic with its registers and stack.
const CONSOLE_LINES: usize = 50;
/// How often a machine is started whose kernel does not come up. By turns, one that patches its own code
/// while it boots at times waits for a CPU that has no turn, and panics.
const BOOTS: u32 = 3;
/// Bytes of the files that a guest sends back: it may be anything that ran there.
const MOST_BYTES: usize = 1 << 30;
/// Files asked for that are not there: each of them is a path of the command line.
const MOST_ABSENT: usize = 1_000;
/// Below this a stock kernel does not fit.
const LEAST_MEMORY_MIB: u32 = 256;
/// How often the guest's files are in its memory while it boots: as they came and unpacked, where what is
/// unpacked may take half of what is left.
const COPIES: u64 = 3;

/// The memory that a guest with this image needs.
fn needed_mib(image: &File) -> Result<u32, Failure> {
    let length = image.metadata().map_err(image::no_room)?.len();
    Ok(LEAST_MEMORY_MIB + (length * COPIES).div_ceil(1 << 20) as u32)
}

/// What to run, and where.
#[derive(Clone, Debug)]
pub struct Job {
    /// The kernel.
    pub kernel: Kernel,
    /// The guest's CPUs, numbered as in a scenario.
    pub machine: Machine,
    /// Whether there is one CPU more, in a socket of its own after the others: for what watches them.
    pub apart: bool,
    /// Some: instructions are counted, whether or not this machine has KVM.
    pub counting: Option<Counting>,
    /// Where instructions are not counted and KVM does not boot: how to emulate in real time. For finding
    /// races, not for measuring.
    pub real_time: Option<RealTime>,
    /// The guest's memory; it gets more where its files need it.
    pub memory_mib: u32,
    /// Real time from the boot's begin to the command's end, at most.
    pub timeout: Duration,
    /// Files, folders and commands to take along, at the places they have here.
    pub put: Vec<PathBuf>,
    /// Files to make in the guest.
    pub files: Vec<Entry>,
    /// Files and folders of the guest to bring back.
    pub get: Vec<String>,
    /// The command and its arguments. [`crate::OWN_PROGRAM`] is this very executable.
    pub command: Vec<String>,
}

impl Job {
    /// How long a turn lasts: as asked for, or where CPUs share one host CPU by counting.
    fn turn(&self, accelerator: Accelerator) -> Option<Nanos> {
        let cpus = self.machine.cpus + u32::from(self.apart);
        match (self.counting, accelerator) {
            (Some(counting), _) => counting.turn,
            (None, Accelerator::Tcg { .. }) => (2..=MOST_BY_TURNS).contains(&cpus).then_some(TURN),
            (None, Accelerator::Kvm | Accelerator::RealTime(_)) => None,
        }
    }

    fn check(&self) -> Result<(), Failure> {
        boot::check(&self.machine, self.apart)?;
        if self.memory_mib < LEAST_MEMORY_MIB {
            return Err(Failure::Input(format!("--memory: expected {LEAST_MEMORY_MIB}M or more")));
        }
        if self.timeout.is_zero() {
            return Err(Failure::Input("--timeout: expected more than 0".to_string()));
        }
        let mut names = BTreeSet::new();
        self.get.iter().try_for_each(|path| {
            let name = Path::new(path).file_name().filter(|_| path.starts_with('/'));
            let name = name.ok_or_else(|| {
                Failure::Input(format!("--get {path}: expected a path from the root, `/tmp/x`"))
            })?;
            let new = names.insert(name);
            let twice =
                || Failure::Input(format!("--get {path}: another one has the same last name"));
            new.then_some(()).ok_or_else(twice)
        })
    }
}

/// The observer of a run.
pub trait Watcher {
    /// A piece of the command's output.
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Failure>;
    /// The guest's kernel is up after so long.
    fn booted(&mut self, after: Duration, accelerator: &str);
    /// Whether to stop.
    fn cancelled(&self) -> bool;
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The command's exit code; 128 and the signal's number if one ended it.
    pub code: u8,
    /// The files brought back, named from the last part of what was asked for.
    pub files: Vec<Entry>,
    /// What was asked for and could not be read: path and reason.
    pub absent: Vec<String>,
    /// What it took.
    pub cost: Cost,
}

/// CPU time of this machine that a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Until the guest's kernel was up.
    pub boot: Duration,
    /// From the start to the end.
    pub whole: Duration,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (whole, boot) = (self.whole.as_secs_f64(), self.boot.as_secs_f64());
        write!(f, "{whole:.1} s of a core, {boot:.1} s of them to boot")
    }
}

impl Lab {
    /// Boots the job's kernel, runs its command and waits for the end of both.
    pub fn run(&self, job: &Job, watcher: &mut dyn Watcher) -> Result<Outcome, Failure> {
        job.check()?;
        boot::version()?;
        let order =
            Order { command: job.command.clone(), get: job.get.clone(), modules: Vec::new() };
        let initramfs = image::build(&job.kernel, order, &job.put, &job.files)?;
        let accelerator = match job.counting {
            Some(Counting { shift, .. }) => Accelerator::Tcg { shift },
            None => match (boot::choose(self, &job.kernel, watcher)?, job.real_time) {
                (Accelerator::Tcg { .. }, Some(real_time)) => Accelerator::RealTime(real_time),
                (chosen, _) => chosen,
            },
        };
        let guest = Guest {
            kernel: job.kernel.clone(),
            machine: job.machine,
            apart: job.apart,
            turn: job.turn(accelerator),
            memory_mib: job.memory_mib.max(needed_mib(&initramfs)?),
        };
        let mut boots = 1;
        loop {
            let running = Running::start(&guest, accelerator, &initramfs)?;
            let mut output = GuestOutput::of(accelerator, watcher);
            match output.listen(&running, job.timeout)? {
                Ending::Exit(code) => return output.outcome(code, &job.get),
                Ending::Gone if !output.booted && boots < BOOTS => boots += 1,
                Ending::Gone => {
                    return Err(broken("the machine ended before the command did", running));
                }
                Ending::Broken(why) => return Err(broken(&why, running)),
            }
        }
    }
}

enum Ending {
    Exit(u8),
    Gone,
    Broken(String),
}

struct GuestOutput<'a> {
    begin: Instant,
    booted: bool,
    accelerator: &'static str,
    archive: Vec<u8>,
    absent: Vec<String>,
    cost: Cost,
    watcher: &'a mut dyn Watcher,
}

impl<'a> GuestOutput<'a> {
    fn of(accelerator: Accelerator, watcher: &'a mut dyn Watcher) -> GuestOutput<'a> {
        GuestOutput {
            begin: Instant::now(),
            booted: false,
            accelerator: accelerator.name(),
            archive: Vec::new(),
            absent: Vec::new(),
            cost: Cost::default(),
            watcher,
        }
    }

    fn listen(&mut self, running: &Running, timeout: Duration) -> Result<Ending, Failure> {
        loop {
            if self.watcher.cancelled() {
                return Err(Failure::Interrupted);
            }
            if self.begin.elapsed() >= timeout {
                return Ok(Ending::Broken(format!(
                    "no end after {timeout:?}: --timeout allows more"
                )));
            }
            let ending = match running.frames.recv_timeout(LOOK) {
                Ok(Ok(frame)) => {
                    match frame {
                        Frame::Booted => self.cost.boot = running.cpu_time(),
                        Frame::Exit(_) => self.cost.whole = running.cpu_time(),
                        _ => {}
                    }
                    self.take(frame)?
                }
                Ok(Err(error)) => {
                    Some(Ending::Broken(format!("the guest's words are broken: {error}")))
                }
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ending::Gone),
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<Option<Ending>, Failure> {
        match frame {
            Frame::Booted => {
                self.booted = true;
                self.watcher.booted(self.begin.elapsed(), self.accelerator);
            }
            Frame::Output(stream, bytes) => self.watcher.output(stream, &bytes)?,
            Frame::Files(bytes) if self.archive.len() + bytes.len() > MOST_BYTES => {
                let what = format!("its files are more than {} MiB", MOST_BYTES >> 20);
                return Ok(Some(Ending::Broken(what)));
            }
            Frame::Files(bytes) => self.archive.extend(bytes),
            Frame::Absent(_) if self.absent.len() == MOST_ABSENT => {
                let what = format!("more than {MOST_ABSENT} files are not there");
                return Ok(Some(Ending::Broken(what)));
            }
            Frame::Absent(what) => self.absent.push(what),
            Frame::Failed(why) => return Ok(Some(Ending::Broken(why))),
            Frame::Exit(code) => return Ok(Some(Ending::Exit(code))),
        }
        Ok(None)
    }

    fn outcome(self, code: u8, asked: &[String]) -> Result<Outcome, Failure> {
        let files = if self.archive.is_empty() {
            Ok(Vec::new())
        } else {
            archive::read(self.archive.as_slice())
        };
        let failed = |what: String| Failure::Run(format!("files of the guest: {what}"));
        let files = files.map_err(|error| failed(error.to_string()))?;
        if let Some(other) = files.iter().find(|file| !is_asked_for(&file.name, asked)) {
            return Err(failed(format!("`{}` was not asked for", other.name.escape_debug())));
        }
        Ok(Outcome { code, files, absent: self.absent, cost: self.cost })
    }
}

/// Whether a file that was brought back is one of those asked for, or lies in a folder that was.
fn is_asked_for(name: &str, asked: &[String]) -> bool {
    let first = Path::new(name).components().next().map(|part| part.as_os_str());
    first.is_some() && asked.iter().any(|path| Path::new(path).file_name() == first)
}

fn broken(why: &str, running: Running) -> Failure {
    let console = running.last_words(CONSOLE_LINES);
    let console = if console.is_empty() { "(nothing)".to_string() } else { console };
    Failure::Run(format!("the guest failed: {why}; the last lines of its console:\n{console}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(memory_mib: u32, get: &[&str]) -> Job {
        Job {
            kernel: Lab::at("/lab".into()).kernel("1.2-x"),
            machine: Machine::ONE_CPU,
            apart: false,
            counting: None,
            real_time: None,
            memory_mib,
            timeout: LOOK,
            put: Vec::new(),
            files: Vec::new(),
            get: get.iter().map(|path| (*path).to_string()).collect(),
            command: vec!["true".into()],
        }
    }

    fn checked(memory_mib: u32, get: &[&str]) -> Result<(), Failure> {
        job(memory_mib, get).check()
    }

    struct Silent;

    impl Watcher for Silent {
        fn output(&mut self, _: Stream, _: &[u8]) -> Result<(), Failure> {
            Ok(())
        }
        fn booted(&mut self, _: Duration, _: &str) {}
        fn cancelled(&self) -> bool {
            false
        }
    }

    /// What becomes of the files that a guest sends when `asked` were asked for.
    fn brought(names: &[&str], asked: &str) -> Result<Outcome, Failure> {
        let mut archive = archive::Archive::new(Vec::new());
        names.iter().for_each(|name| archive.file(name, 0o644, b"x").unwrap());
        let mut watcher = Silent;
        let mut output = GuestOutput::of(Accelerator::Kvm, &mut watcher);
        assert!(output.take(Frame::Files(archive.finish().unwrap())).unwrap().is_none());
        output.outcome(0, &[asked.to_string()])
    }

    #[test]
    fn cpus_that_share_one_take_turns_as_asked_for_or_fairly() {
        let turn = |cpus, counting, accelerator| {
            let machine = Machine { cpus, ..Machine::ONE_CPU };
            Job { machine, counting, ..job(256, &[]) }.turn(accelerator)
        };
        let counted = Accelerator::COUNTED;
        assert_eq!(
            [1, 2, 16, 17].map(|cpus| turn(cpus, None, counted).is_some()),
            [false, true, true, false]
        );
        assert_eq!(turn(2, None, Accelerator::Kvm), None);
        let asked = |turn| Some(Counting { shift: 0, turn });
        assert_eq!(turn(2, asked(None), counted), None);
        assert_eq!(turn(2, asked(Some(Nanos(7_000))), counted), Some(Nanos(7_000)));
    }

    #[test]
    fn a_large_image_needs_more_memory_than_was_asked_for() {
        let image = tempfile::tempfile().unwrap();
        image.set_len(200 << 20).unwrap();
        assert_eq!(needed_mib(&image).unwrap(), 856);
    }

    #[test]
    fn nothing_comes_back_that_was_not_asked_for() {
        assert_eq!(brought(&["out/a", "out/b/c"], "/tmp/out").unwrap().files.len(), 2);
        for names in [&["out/a", ".bashrc"][..], &["outer/a"], &["./.profile"]] {
            let said = brought(names, "/tmp/out").unwrap_err().to_string();
            assert!(said.contains("was not asked for"), "{said}");
        }
    }

    #[test]
    fn a_guest_that_sends_without_end_is_ended() {
        let mut watcher = Silent;
        let mut output = GuestOutput::of(Accelerator::Kvm, &mut watcher);
        let frames = MOST_ABSENT + 1;
        let taken = |_| output.take(Frame::Absent("x".into())).unwrap().is_some();
        assert_eq!((0..frames).map(taken).position(|ended| ended), Some(MOST_ABSENT));
        let piece = || Frame::Files(vec![0; 1 << 20]);
        let pieces = (0..=MOST_BYTES >> 20).map(|_| output.take(piece()).unwrap().is_some());
        assert_eq!(pieces.collect::<Vec<_>>().iter().position(|ended| *ended), Some(1 << 10));
    }

    #[test]
    fn files_to_bring_back_have_a_place_and_a_name_of_their_own() {
        checked(256, &["/tmp/a", "/tmp/b"]).unwrap();
        for bad in [
            checked(256, &["a"]),
            checked(256, &["/"]),
            checked(256, &["/a/x", "/b/x"]),
            checked(255, &[]),
        ] {
            assert_eq!(bad.unwrap_err().exit_code(), 2);
        }
    }
}
