//! One piece, in the guest.

use std::fs;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use model::Failure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::chance::Chance;
use crate::judge::{Bounds, Judge};
use crate::pieces::{self, PIECES, Piece, Stage};
use crate::{Args, Fault, worker};
use torture::scheduler::Scheduler;

/// A thread that sleeps for moments waits at most so long, among dozens of others and their processes.
const BEAT: Duration = Duration::from_secs(2);
/// A spinning thread waits longer where others have more weight: `starvation_limit` (policies.md) is 5 s,
/// then each waits for its turn.
const WAIT: Duration = Duration::from_secs(12);
/// What a piece may need beyond its time: workers that end, groups that go.
const GRACE: Duration = Duration::from_secs(300);

/// Runs it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let name = args.pieces.first().map(String::as_str).unwrap_or_default();
    let piece = PIECES.iter().find(|piece| piece.name == name);
    let piece = piece.ok_or_else(|| Failure::Input(format!("no piece `{name}`")))?;
    perform(piece, args).map_err(Failure::Run)
}

fn perform(piece: &Piece, args: &Args) -> Result<(), String> {
    worker::prepare().map_err(|error| error.to_string())?;
    let time = Duration::from_secs(args.seconds);
    let mut scheduler = Scheduler::start(args.load.clone())?;
    let bounds = Bounds { beat: BEAT + piece.holds, wait: WAIT + piece.holds, end: time + GRACE };
    let judge =
        Judge::start(bounds, args.cpus as usize).map_err(|error| format!("the judge: {error}"))?;
    plant(args, &scheduler)?;
    let mut stage = Stage {
        chance: Chance::new(args.seed),
        cpus: args.cpus as usize,
        end: Instant::now() + time,
        scheduler: &mut scheduler,
    };
    let did = (piece.perform)(&mut stage);
    let (mut faults, seen) = judge.finish();
    faults.extend(scheduler.faults());
    let events = scheduler.events();
    faults.extend(scheduler.unload().err());
    match did {
        Ok(did) if faults.is_empty() => {
            println!("{}: {did}; {seen}; events: {events}", piece.name);
            Ok(())
        }
        Ok(did) => Err(format!("{did}; {seen}; {}", faults.join("\n"))),
        Err(fault) => Err(format!("{fault}\n{seen}; {}", faults.join("\n"))),
    }
}

/// Plants the fault that the judge must find.
fn plant(args: &Args, scheduler: &Scheduler) -> Result<(), String> {
    match args.fault {
        None => {}
        Some(Fault::Starved) => starve(args.cpus as usize),
        Some(Fault::Warning) => fs::write("/dev/kmsg", "WARNING: planted\n")
            .map_err(|error| format!("/dev/kmsg: {error}"))?,
        Some(Fault::Killed) => {
            let loader =
                scheduler.loader().ok_or("there is no loader to kill: choose a --policy")?;
            kill(Pid::from_raw(loader as i32), Signal::SIGKILL)
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// A thread that may run on the last CPU alone, which a real-time hog has.
fn starve(cpus: usize) {
    pieces::starve(cpus - 1, cpus);
    thread::spawn(move || {
        pieces::bind(cpus - 1);
        loop {
            std::hint::spin_loop();
        }
    });
    sleep(Duration::from_millis(100));
}
