//! This executable in a guest: boots one, and plays what a test asks for inside.

use std::fmt::Debug;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use lab::{Counting, Job, Lab, Stream, Watcher};
use model::scenario::Machine;
use model::{Failure, Nanos, PolicySpec};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::life::warnings;

/// What a test plays in the guest: lines to print.
pub type Play = fn() -> Result<Vec<String>, Failure>;

const ROLE: &str = "__kernel_guest";
const PLAYS: [(&str, Play); 12] = [
    ("costs", crate::costs::play),
    ("faulty", crate::faulty::play),
    ("hotplug", crate::hotplug::play),
    ("life", crate::life::play),
    ("parity", crate::parity::play),
    ("pipes", crate::pipes::play),
    ("promise", crate::promise::play),
    ("promise_live", crate::promise_live::play),
    ("quota", crate::quota::play),
    ("requests", crate::requests::play),
    ("spin", crate::groups::play),
    ("yields", crate::yields::play),
];

/// Plays if the arguments ask for it.
pub fn play(args: impl IntoIterator<Item = String>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    args.next().filter(|role| role == ROLE)?;
    let wanted = args.next()?;
    let (_, play) = PLAYS.iter().find(|(name, _)| *name == wanted)?;
    Some(match play() {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    })
}

struct GuestOutput {
    lines: Vec<u8>,
    errors: Vec<u8>,
}

impl Watcher for GuestOutput {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Failure> {
        match stream {
            Stream::Stdout => self.lines.extend(bytes),
            Stream::Stderr => self.errors.extend(bytes),
        }
        Ok(())
    }

    fn booted(&mut self, _: Duration, _: &str) {}

    fn cancelled(&self) -> bool {
        false
    }
}

/// Without turns a virtual CPU that waits for a spin lock of another may never see it free: it runs where the
/// other programs its timer, which the kernel does with that lock taken.
const FAIR: Counting = Counting { shift: 0, turn: Some(Nanos::from_micros(50)) };

/// Shows what a play told, and holds that it ended well, with more than so many lines and nothing WRONG in
/// them.
pub fn right((lines, code, errors): (Vec<String>, u8, String), most: usize) -> Vec<String> {
    eprintln!("{}\n{errors}", lines.join("\n"));
    assert_eq!(code, 0, "{errors}");
    let faults: Vec<_> = lines.iter().filter(|line| line.ends_with("WRONG")).collect();
    assert!(lines.len() > most && faults.is_empty(), "{faults:?}");
    lines
}

/// Shows what a play told, and holds that it ended well and that the kernel had nothing against it.
pub fn told(kernel: &str, cpus: u32, play: &str) -> Vec<String> {
    let (lines, code, errors) = under(kernel, cpus, play);
    assert_eq!(code, 0, "{errors}");
    println!("{}", lines.join("\n"));
    assert!(lines.contains(&"kernel's warnings: []".to_string()), "{lines:?}");
    lines
}

/// The numbers of the line that begins so.
pub fn numbers<T: FromStr<Err: Debug>>(lines: &[String], what: &str) -> Vec<T> {
    let line = lines.iter().find_map(|line| line.strip_prefix(what)).expect("a line");
    line.split_whitespace().map(|number| number.parse().expect("a number")).collect()
}

/// What a line begins with, and what counts its numbers.
pub type Measure = (&'static str, fn() -> u32);

/// In the guest: a line for each measure, with a number for each policy; `None`: the default class.
pub fn under_each(policies: &[Option<&str>], measures: &[Measure]) -> Result<Vec<String>, Failure> {
    let mut lines: Vec<String> = measures.iter().map(|(what, _)| what.to_string()).collect();
    for policy in policies {
        let spec = policy.map(PolicySpec::parse).transpose()?;
        let loaded = spec.map(|spec| scx::load(&spec)).transpose()?;
        for (line, (_, count)) in lines.iter_mut().zip(measures) {
            *line += &format!(" {}", count());
        }
        drop(loaded);
    }
    lines.push(format!("kernel's warnings: {:?}", warnings()?));
    Ok(lines)
}

/// On these CPUs from now on.
pub fn stay(cpus: &[usize]) {
    let mut only = CpuSet::new();
    cpus.iter().for_each(|&cpu| only.set(cpu).expect("a number that fits"));
    sched_setaffinity(Pid::from_raw(0), &only).expect("a guest with these CPUs");
}

/// The lines that a play prints under a kernel, and its exit code and errors.
pub fn under(kernel: &str, cpus: u32, play: &str) -> (Vec<String>, u8, String) {
    under_with(kernel, cpus, play, None)
}

/// [`under`] with a file taken along, whose path the play gets as an argument of its own.
pub fn under_with(
    kernel: &str,
    cpus: u32,
    play: &str,
    file: Option<&Path>,
) -> (Vec<String>, u8, String) {
    let lab = Lab::of_user().expect("a lab");
    let kernel = lab.find(kernel).unwrap_or_else(|failure| panic!("{failure}"));
    let words = [lab::OWN_PROGRAM, ROLE, play].map(str::to_string).into_iter();
    let job = Job {
        kernel,
        machine: Machine { cpus, ..Machine::ONE_CPU },
        apart: false,
        real_time: None,
        counting: (cpus > 1).then_some(FAIR),
        memory_mib: 1024,
        timeout: Duration::from_secs(900),
        put: file.map(Path::to_path_buf).into_iter().collect(),
        files: Vec::new(),
        get: Vec::new(),
        command: words.chain(file.map(|file| file.display().to_string())).collect(),
    };
    let mut output = GuestOutput { lines: Vec::new(), errors: Vec::new() };
    let outcome = lab.run(&job, &mut output).unwrap_or_else(|failure| panic!("{failure}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.lines).lines().map(str::to_string).collect(), outcome.code, text(&output.errors))
}

/// Computes for so much CPU time of this thread.
pub fn compute(span: Duration) {
    let used = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock"));
    let until = used() + span;
    while used() < until {}
}
