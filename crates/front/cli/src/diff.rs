//! `rearguard diff`: two traces, or two results, held against each other.

mod results;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use model::Failure;
use trace::diff::{diff, tables, text};

use crate::output::Output;
use crate::tables::TableFiles;
use crate::traces::read;

/// Hold two results against each other, before and after; of two traces say where they part
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 nothing became worse, or the traces are the same; 1 something became \
                        worse, or they differ; 2 bad input."
)]
pub struct Args {
    /// A result that --json wrote (compare, measure, ideal, capacity), a base of `gate record`, or a trace;
    /// several runs of the same as a.json,b.json,c.json
    #[arg(value_delimiter = ',', num_args = 1, required = true)]
    before: Vec<PathBuf>,
    /// Another
    #[arg(value_delimiter = ',', num_args = 1, required = true)]
    after: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.tables.check()?;
    args.output.check_page()?;
    match (&args.before[..], &args.after[..]) {
        ([before], [after]) if !is_text(before)? => traces(before, after, args),
        (before, after) => results::run(before, after, &args.output, &args.tables),
    }
}

fn traces(a: &Path, b: &Path, args: &Args) -> Result<ExitCode, Failure> {
    args.output.refuse("of two traces")?;
    let names = [a.display().to_string(), b.display().to_string()];
    let names = [&*names[0], &*names[1]];
    let (a, b) = (read(a)?, read(b)?);
    let found = diff(&a, &b);
    args.tables.write_all(&tables(&found, names))?;
    stdout::write(text(&found, &a, &b, names))?;
    Ok(if found.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a file begins as JSON does.
fn is_text(path: &Path) -> Result<bool, Failure> {
    let unreadable = |error| Failure::Input(format!("{}: {error}", path.display()));
    let mut start = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(64).read_to_end(&mut start).map_err(unreadable)?;
    Ok(start.trim_ascii_start().starts_with(b"{"))
}
