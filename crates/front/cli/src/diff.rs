//! `rearguard diff`: where two traces part.

use std::path::PathBuf;
use std::process::ExitCode;

use model::Failure;
use trace::diff::{diff, tables, text};

use crate::tables::TableFiles;
use crate::traces::read;

/// Say where two traces part, and what became of the latencies
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 the same; 1 they differ; 2 bad input.")]
pub struct Args {
    /// A trace that `--trace` wrote
    a: PathBuf,
    /// Another
    b: PathBuf,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.tables.check()?;
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let found = diff(&a, &b);
    let names = [args.a.display().to_string(), args.b.display().to_string()];
    let names = [&*names[0], &*names[1]];
    args.tables.write_all(&tables(&found, names))?;
    stdout::write(text(&found, &a, &b, names))?;
    Ok(if found.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
