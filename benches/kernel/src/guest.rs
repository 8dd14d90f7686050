//! The measurement, in the guest.

use std::fs;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::Failure;
use nix::sys::resource::{Resource, setrlimit};
use serde::{Deserialize, Serialize};
use torture::scheduler::Scheduler;

use crate::profile::{Callback, Profile};
use crate::shape::Shape;
use crate::{Args, pairs};

/// The first seconds after a boot are dirty. Idle time costs the host nothing.
const SETTLING: Duration = Duration::from_secs(12);
/// Threads that have just started still have to fall asleep.
const FALLING_ASLEEP: Duration = Duration::from_secs(1);

/// Two pipes a pair.
const DESCRIPTORS: u64 = 65_536;

/// One measurement.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// What was measured.
    pub shape: Shape,
    /// Instructions a round trip: all that the machine executed, for any thread.
    pub instructions: f64,
    /// Where the scheduler's own went; empty without a profile.
    pub callbacks: Vec<Callback>,
}

/// Measures each shape; a line of JSON each.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut scheduler = Scheduler::start(args.load.clone()).map_err(Failure::Run)?;
    sleep(SETTLING);
    if args.profile {
        Profile::enable().map_err(|error| Failure::Run(format!("BPF statistics: {error}")))?;
    }
    for shape in &args.shapes {
        let measured = measure(*shape, args.profile)
            .map_err(|error| Failure::Run(format!("{shape}: {error}")))?;
        let faults = scheduler.faults();
        if !faults.is_empty() {
            return Err(Failure::Run(format!("{shape}: {}", faults.join("; "))));
        }
        println!("{}", serde_json::to_string(&measured).expect("finite numbers"));
    }
    scheduler.unload().map_err(Failure::Run)
}

fn measure(shape: Shape, profile: bool) -> std::io::Result<Measurement> {
    raise_limits()?;
    let (mut done, finish) = std::io::pipe()?;
    let mut children = (0..shape.processes)
        .map(|_| spawn(shape, &finish))
        .collect::<std::io::Result<Vec<Child>>>()?;
    drop(finish);
    done.read_exact(&mut vec![0; children.len()])?;
    round(&mut children, &mut done)?;
    let before = profile.then(Profile::read);
    let taken = round(&mut children, &mut done)?;
    let trips = f64::from(shape.queued()) * f64::from(shape.trips());
    let callbacks = before.map_or_else(Vec::new, |before| Profile::read().since(&before, trips));
    // `wait` closes their stdin first, which ends them.
    children.iter_mut().try_for_each(|child| child.wait().map(drop))?;
    Ok(Measurement { shape, instructions: taken.as_nanos() as f64 / trips, callbacks })
}

/// Lets all pairs make their round trips once. Every process has a pipe of its own: readers of one would be
/// woken one after the other.
fn round(children: &mut [Child], done: &mut PipeReader) -> std::io::Result<Duration> {
    sleep(FALLING_ASLEEP);
    let begin = Instant::now();
    for child in &mut *children {
        child.stdin.as_mut().expect("piped").write_all(b"+")?;
    }
    done.read_exact(&mut vec![0; children.len()])?;
    Ok(begin.elapsed())
}

fn spawn(shape: Shape, finish: &PipeWriter) -> std::io::Result<Child> {
    Command::new("/proc/self/exe")
        .args([pairs::ROLE, &shape.pairs.to_string(), &shape.trips().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::from(finish.try_clone()?))
        .spawn()
}

/// Threads and descriptors enough for the largest shape.
fn raise_limits() -> std::io::Result<()> {
    fs::write("/proc/sys/kernel/threads-max", "60000")?;
    fs::write("/proc/sys/vm/max_map_count", "200000")?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS, DESCRIPTORS)?)
}
