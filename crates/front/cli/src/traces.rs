//! `rearguard trace`: what a trace holds, and its export to other tools.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use model::{Failure, Nanos};
use trace::Recorded;

use crate::files::{check_apart, check_writable};

/// Show a trace that `--trace` wrote, or export it
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Say where a trace is from and what it holds
    Show {
        /// The trace
        file: PathBuf,
    },
    /// Write a trace for another tool
    Export {
        /// The trace
        file: PathBuf,
        /// For what
        #[arg(long, value_enum)]
        to: Format,
        /// The file to write; for tables a folder, which gets a file a table
        out: PathBuf,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A file for ui.perfetto.dev and trace_processor
    Perfetto,
    /// Tables for pandas, DuckDB, Arrow: events, requests, threads, usage
    Parquet,
    /// The same as Arrow files
    Arrow,
    /// The same as comma-separated text
    Csv,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Show { file } => stdout::write(shown(&read(file)?)),
        Command::Export { file, to, out } => {
            check_apart(out, &[file])?;
            export(&read(file)?, *to, out)
        }
    }
}

/// Writes a trace for Perfetto.
pub fn export_perfetto(recorded: &Recorded, out: &Path) -> Result<(), Failure> {
    export(recorded, Format::Perfetto, out)
}

/// Reads a trace file.
pub fn read(path: &Path) -> Result<Recorded, Failure> {
    parsed(path, &bytes(path)?)
}

/// What is in a file that may be a trace.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    told(path, fileio::whole(path, fileio::LONGEST_TRACE))
}

/// Reads a trace in a folder of kept requests, which may be another user's.
pub fn read_kept(path: &Path) -> Result<Recorded, Failure> {
    parsed(path, &told(path, fileio::regular(path, fileio::LONGEST_TRACE))?)
}

/// The trace that was read from a file.
pub fn parsed(path: &Path, bytes: &[u8]) -> Result<Recorded, Failure> {
    trace::read(bytes, &path.display().to_string())
}

fn told(path: &Path, read: io::Result<Vec<u8>>) -> Result<Vec<u8>, Failure> {
    read.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

fn export(recorded: &Recorded, to: Format, out: &Path) -> Result<(), Failure> {
    let written = match to {
        Format::Perfetto => {
            check_writable(out)?;
            fileio::replace(out, &trace::perfetto::encode(recorded))
        }
        Format::Parquet => export_tables(recorded, columnar::Format::Parquet, out)?,
        Format::Arrow => export_tables(recorded, columnar::Format::Arrow, out)?,
        Format::Csv => export_tables(recorded, columnar::Format::Csv, out)?,
    };
    written.map_err(|error| Failure::Run(format!("{}: {error}", out.display())))
}

fn export_tables(
    recorded: &Recorded,
    format: columnar::Format,
    folder: &Path,
) -> Result<io::Result<()>, Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::Input(format!("{}: a folder is needed: {error}", folder.display()))
    })?;
    Ok(trace::tables::export(recorded, format, folder))
}

fn shown(recorded: &Recorded) -> String {
    let Recorded { header, trace } = recorded;
    let events = trace.events.as_ref().map_or("none recorded".to_string(), |e| e.len().to_string());
    let requests: usize = trace.programs.iter().map(|program| program.requests.len()).sum();
    let kernel = header.kernel.as_deref().unwrap_or("unknown");
    let machine = header.cpus;
    let lines = [
        ("scenario", header.scenario.clone()),
        ("policy", format!("{}, seed {}", header.policy, header.seed)),
        ("arm", format!("{}: {}", header.arm, header.machine)),
        ("kernel", kernel.to_string()),
        (
            "CPUs",
            format!(
                "{}, {} a core, {} caches, {} nodes",
                machine.cpus, machine.smt, machine.llcs, machine.nodes
            ),
        ),
        (
            "measured",
            format!("from {} to {}", Nanos(header.window_start_ns), Nanos(header.window_end_ns)),
        ),
        (
            "programs",
            header
                .programs
                .iter()
                .map(|program| program.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ),
        ("threads", header.threads.len().to_string()),
        ("requests", requests.to_string()),
        ("events", events),
        ("again", header.replay.clone()),
    ];
    lines.iter().map(|(what, value)| format!("{what:10}{value}\n")).collect()
}
