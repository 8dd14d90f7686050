//! The pieces from outside: a guest each.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use lab::{Job, Lab, RealTime, Stream, Watcher};
use model::Failure;
use model::scenario::Machine;

use crate::pieces::{PIECES, Piece};
use torture::scheduler;

use crate::Args;

/// Beyond its time: to boot on a busy machine, and to end, which the guest bounds itself.
const AROUND: Duration = Duration::from_secs(600);
/// What the kernel says of QEMU's fault, see [`RealTime::Parallel`].
const EMULATOR_FELL: &str = "Oops: int3";
const MEMORY_MIB: u32 = 2048;

/// Runs the chosen pieces, one after the other; goes on after a fault, and fails at the end.
pub fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        PIECES.iter().for_each(|piece| println!("{:<10} {}", piece.name, piece.about));
        return Ok(());
    }
    let chosen = choose(args)?;
    let lab = Lab::of_user()?;
    let mut fallen = Vec::new();
    for (piece, seed) in chosen.iter().zip(args.seed..) {
        let begin = Instant::now();
        let stood = one(&lab, piece, &Args { seed, ..args.clone() })?;
        let how = if stood { "stood" } else { "FELL" };
        println!("{how}: {} under {} in {:.0?}", piece.name, args.policy, begin.elapsed());
        if !stood {
            println!("  again: {}", again(piece, seed, args));
            fallen.push(piece.name);
        }
    }
    if fallen.is_empty() {
        Ok(())
    } else {
        Err(Failure::Run(format!("fell: {}", fallen.join(", "))))
    }
}

fn choose(args: &Args) -> Result<Vec<&'static Piece>, Failure> {
    let unknown = args.pieces.iter().find(|name| !PIECES.iter().any(|piece| piece.name == **name));
    if let Some(name) = unknown {
        return Err(Failure::Input(format!("no piece `{name}`: --list names them")));
    }
    if args.cpus == 0 || !args.cpus.is_multiple_of(2) {
        return Err(Failure::Input(format!("--cpus {}: expected an even number", args.cpus)));
    }
    let named = |piece: &&Piece| {
        args.pieces.is_empty() || args.pieces.iter().any(|name| name == piece.name)
    };
    let can = |piece: &&Piece| !piece.loads || args.policy != scheduler::DEFAULT;
    let chosen = PIECES.iter().filter(named).filter(can).filter(|p| p.short || !args.short);
    let chosen: Vec<&Piece> = chosen.collect();
    if chosen.is_empty() {
        let message = "nothing to do: these pieces need a --policy that can be loaded";
        return Err(Failure::Input(message.into()));
    }
    Ok(chosen)
}

/// Runs one in a guest of its own; whether the scheduler stood it. What the machine lacks ends the whole run.
fn one(lab: &Lab, piece: &Piece, args: &Args) -> Result<bool, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::Run(error.to_string()))?;
    let loader = args.loader.clone().unwrap_or_else(|| own.with_file_name("scx_rearguard"));
    let mut command = vec![own.to_string_lossy().into_owned(), piece.name.into()];
    let mut word = |key: &str, value: String| command.extend([format!("--{key}"), value]);
    word("seed", args.seed.to_string());
    word("seconds", args.seconds.to_string());
    word("cpus", args.cpus.to_string());
    if let Some(fault) = args.fault {
        word("fault", fault.to_possible_value().expect("none is skipped").get_name().into());
    }
    let load = scheduler::command(&args.policy, &loader);
    let put: Vec<PathBuf> = load.first().map(PathBuf::from).into_iter().collect();
    command.extend(["--in-guest".into(), "--".into()]);
    command.extend(load);
    let job = Job {
        kernel: lab.find("newest")?,
        machine: Machine { cpus: args.cpus, smt: 1, llcs: 2, nodes: 1 },
        apart: false,
        counting: None,
        real_time: Some(if piece.by_turns { RealTime::ByTurns } else { RealTime::Parallel }),
        memory_mib: MEMORY_MIB,
        timeout: AROUND + Duration::from_secs(args.seconds),
        put,
        files: Vec::new(),
        get: Vec::new(),
        command,
    };
    judge(lab, &job)
}

/// Runs a guest; once more where the emulator fell.
fn judge(lab: &Lab, job: &Job) -> Result<bool, Failure> {
    for last in [false, true] {
        match lab.run(job, &mut Console) {
            Ok(outcome) => return Ok(outcome.code == 0),
            Err(Failure::Run(message)) if message.contains(EMULATOR_FELL) && !last => {
                println!("QEMU executed code that the guest had just patched; once more");
            }
            Err(Failure::Run(message)) => {
                println!("{message}");
                return Ok(false);
            }
            Err(other) => return Err(other),
        }
    }
    Ok(false)
}

fn again(piece: &Piece, seed: u64, args: &Args) -> String {
    let Args { policy, seconds, cpus, .. } = args;
    format!(
        "cargo run -p torture -- {} --policy {policy} --seed {seed} --seconds {seconds} --cpus {cpus}",
        piece.name
    )
}

struct Console;

impl Watcher for Console {
    fn output(&mut self, _: Stream, bytes: &[u8]) -> Result<(), Failure> {
        let written = std::io::stdout().write_all(bytes);
        written.map_err(|error| Failure::Run(format!("stdout: {error}")))
    }

    fn booted(&mut self, _: Duration, _: &str) {}

    fn cancelled(&self) -> bool {
        false
    }
}
