//! Random inputs for every reader of files and addresses: none may panic, take five seconds for a small
//! input, or take more memory than [`ROOM_BYTES`]. Servers' answers have their own test,
//! `crates/studies/measure/tests/replies`.
//!
//! The same seed gives the same inputs. An input that fails is kept in a file, whose name is printed.
#![forbid(unsafe_code)]

mod mutate;
mod readers;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use readers::Reader;

/// Address space of a reader's process: an input of a few kilobytes needs far less.
const ROOM_BYTES: u64 = 2 << 30;
/// What an input may take, on a busy machine.
const SLOW: Duration = Duration::from_secs(5);
/// Inputs that are kept because they were read: what comes after is made of them, too.
const POOL: usize = 200;
/// The longest input.
const LONGEST: usize = 16 << 10;

/// Random inputs for every reader
#[derive(Parser)]
struct Args {
    /// Seconds for each reader
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One reader alone, in this process
    #[arg(long)]
    reader: Option<String>,
    /// Where inputs that fail are kept
    #[arg(long, default_value = "target/fuzz")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let readers = readers::all();
    if let Some(name) = &args.reader {
        let reader = readers.iter().find(|reader| reader.name == name).expect("a reader's name");
        return run(reader, &args);
    }
    let failed: Vec<&str> =
        readers.iter().map(|reader| reader.name).filter(|name| !passes(name, &args)).collect();
    if !failed.is_empty() {
        eprintln!("failed: {}", failed.join(", "));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs a reader in a process of its own, which may run out of memory or be ended by a signal.
fn passes(name: &str, args: &Args) -> bool {
    let own = std::env::current_exe().expect("/proc is mounted");
    let limit = format!("ulimit -v {}; exec \"$@\"", ROOM_BYTES >> 10);
    let numbers = [args.seconds.to_string(), args.seed.to_string()];
    let mut command = Command::new("sh");
    command.args(["-c", &limit, "sh"]).arg(own).args(["--reader", name]);
    command.args(["--seconds", &numbers[0], "--seed", &numbers[1], "--folder"]).arg(&args.folder);
    command.status().is_ok_and(|status| status.success())
}

fn run(reader: &Reader, args: &Args) -> ExitCode {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let mut pool = reader.corpus.clone();
    let corpus = pool.len();
    let file = args.folder.join(format!("{}-{}", reader.name, args.seed));
    fs::create_dir_all(&args.folder).expect("a folder for inputs");
    let kept = File::create(&file).expect("a file in it");
    let (begin, mut inputs, mut read) = (Instant::now(), 0_u64, 0_u64);
    while begin.elapsed().as_secs() < args.seconds {
        let input = mutate::one(&pool, LONGEST, &mut rng);
        // A process that is ended leaves the input that did it.
        kept.write_all_at(&input, 0).expect("room for an input");
        kept.set_len(input.len() as u64).expect("it is open");
        let at = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (reader.read)(&input)));
        inputs += 1;
        match outcome {
            Ok(understood) if at.elapsed() < SLOW => {
                read += u64::from(understood);
                if understood && pool.len() < corpus + POOL {
                    pool.push(input);
                }
            }
            outcome => {
                let what = if outcome.is_ok() { "it took too long" } else { "it panicked" };
                eprintln!("{}: {what}: {}", reader.name, file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    fs::remove_file(&file).expect("it was written");
    println!("{:<12} {inputs:>9} inputs, {read} understood", reader.name);
    // The control: mutations leave some inputs whole.
    if read == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
