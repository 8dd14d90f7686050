//! `rearguard diff`: two traces, or two results, held against each other.

mod results;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use model::Failure;
use trace::Recorded;
use trace::diff::{diff, tables, text};

use crate::output::Output;
use crate::tables::TableFiles;
use crate::traces;

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
    let inputs: Vec<&Path> = args.before.iter().chain(&args.after).map(PathBuf::as_path).collect();
    args.output.check(&["html", "md"], &inputs)?;
    args.tables.check(&inputs)?;
    if let ([before], [after]) = (&args.before[..], &args.after[..]) {
        // Read once: it may be a pipe.
        let bytes = traces::bytes(before)?;
        if !is_text(&bytes) {
            return of_traces([before, after], traces::parsed(before, &bytes)?, args);
        }
        return of_results(vec![results::text(before, bytes)?], args);
    }
    of_results(results::texts(&args.before)?, args)
}

fn of_results(before: Vec<(String, String)>, args: &Args) -> Result<ExitCode, Failure> {
    results::run(&before, &results::texts(&args.after)?, &args.output, &args.tables)
}

fn of_traces(paths: [&PathBuf; 2], a: Recorded, args: &Args) -> Result<ExitCode, Failure> {
    args.output.refuse("of two traces")?;
    let b = traces::read(paths[1])?;
    let names = paths.map(|path| path.display().to_string());
    let names = [&*names[0], &*names[1]];
    let found = diff(&a, &b);
    args.tables.write_all(&tables(&found, names))?;
    stdout::write(text(&found, &a, &b, names))?;
    Ok(if found.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a file begins as JSON does.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().take(64).find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}
