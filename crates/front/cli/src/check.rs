//! `rearguard check`: validates a scenario and says what it holds.

use std::path::PathBuf;

use model::Failure;

use crate::files::read_scenario;

/// Validate a scenario file and describe it
#[derive(clap::Args)]
pub struct Args {
    /// The scenario (TOML)
    file: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let read = read_scenario(&args.file)?;
    stdout::write(read.scenario.describe())
}
