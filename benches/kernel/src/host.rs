//! The host's half: boots a guest for each scheduler and number of CPUs, where `guest` counts instructions a
//! pipe round trip, and prints the figures.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use lab::{Counting, Entry, Job, Kernel, Lab, Stream, Watcher};
use model::scenario::Machine;
use model::{Failure, Nanos};
use torture::scheduler;

use crate::Args;
use crate::guest::Measurement;
use crate::shape::Shape;
use crate::table::{self, Row};

/// One, 4, 32 and 1,000 queued in processes of their own; 10 to 10,000 queued in few processes.
const SHAPES: [&str; 8] = ["1x1", "4x1", "32x1", "1000x1", "1x10", "1x100", "1x1000", "10x1000"];
/// On several CPUs: so many processes, each with one pair a CPU.
const PAIRS_A_CPU: u32 = 4;

/// Fine turns of virtual CPUs.
const TURN: Nanos = Nanos::from_micros(50);

const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// 20,000 threads with their stacks and pipes.
const MEMORY_MIB: u32 = 4096;

/// Measures all, and prints them side by side.
pub fn run(args: &Args) -> Result<(), Failure> {
    let lab = Lab::of_user()?;
    let kernel = lab.find("newest")?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for cpus in &args.cpus {
        let shapes = shapes(args, *cpus);
        for policy in &args.policy {
            eprintln!("{policy} on {cpus} CPUs ...");
            let measured = match guest(&lab, &kernel, policy, *cpus, &shapes, args) {
                Ok(measured) => measured,
                Err(Failure::Run(why)) => {
                    failed.push(why);
                    continue;
                }
                Err(other) => return Err(other),
            };
            if args.json {
                measured.iter().for_each(|one| table::json(policy, *cpus, one));
            }
            rows.extend(measured.into_iter().map(|one| Row {
                policy: policy.clone(),
                cpus: *cpus,
                one,
            }));
        }
    }
    if !args.json {
        table::print(&args.policy, &rows);
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Run(failed.join("\n"))) }
}

fn shapes(args: &Args, cpus: u32) -> Vec<Shape> {
    if !args.shapes.is_empty() {
        return args.shapes.clone();
    }
    if cpus > 1 {
        return vec![Shape { processes: PAIRS_A_CPU, pairs: cpus }];
    }
    SHAPES.iter().map(|shape| shape.parse().expect("well formed")).collect()
}

fn guest(
    lab: &Lab,
    kernel: &Kernel,
    policy: &str,
    cpus: u32,
    shapes: &[Shape],
    args: &Args,
) -> Result<Vec<Measurement>, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::Run(error.to_string()))?;
    let loader = args.loader.clone().unwrap_or_else(|| own.with_file_name("scx_rearguard"));
    let load = scheduler::command(policy, &loader);
    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    let mut command = vec![own.to_string_lossy().into_owned(), "--in-guest".into()];
    command.extend(["--shapes".into(), shapes.join(",")]);
    command.extend(args.profile.then(|| "--profile".to_string()));
    command.push("--".into());
    command.extend(load.iter().cloned());
    let job = Job {
        kernel: kernel.clone(),
        machine: Machine { cpus, ..Machine::ONE_CPU },
        apart: false,
        counting: Some(Counting { shift: 0, turn: (cpus > 1).then_some(TURN) }),
        real_time: None,
        memory_mib: MEMORY_MIB,
        timeout: TIMEOUT,
        put: load.first().map(PathBuf::from).into_iter().collect(),
        files: vec![configuration(kernel)?],
        get: Vec::new(),
        command,
    };
    let mut output = GuestOutput::default();
    let outcome = lab.run(&job, &mut output)?;
    if outcome.code != 0 {
        return Err(Failure::Run(format!("{policy} on {cpus} CPUs: {}", output.complaints.trim())));
    }
    let read = |line: &str| serde_json::from_str(line).ok();
    Ok(output.said.lines().filter_map(read).collect())
}

/// The kernel's configuration, where some rivals read it.
fn configuration(kernel: &Kernel) -> Result<Entry, Failure> {
    let path = kernel.modules().with_file_name("config");
    let content = fs::read(&path)
        .map_err(|error| Failure::Machine(format!("{}: {error}", path.display())))?;
    Ok(Entry { name: format!("/boot/config-{}", kernel.release), mode: 0o644, content })
}

#[derive(Default)]
struct GuestOutput {
    said: String,
    complaints: String,
}

impl Watcher for GuestOutput {
    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Result<(), Failure> {
        let text = String::from_utf8_lossy(bytes);
        match stream {
            Stream::Stdout => self.said.push_str(&text),
            Stream::Stderr => self.complaints.push_str(&text),
        }
        Ok(())
    }

    fn booted(&mut self, _: Duration, _: &str) {}

    fn cancelled(&self) -> bool {
        false
    }
}
