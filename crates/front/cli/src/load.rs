//! `rearguard load`: becomes the program that puts a policy into this machine's kernel (crate `loader`).

use std::os::unix::process::CommandExt;
use std::process::Command;

use model::Failure;

/// Put a scheduler into the running kernel, until Ctrl-C
///
/// Becomes scx_rearguard, which is a program of its own: options are its options.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// What scx_rearguard gets: a policy and options, --help among them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "POLICY|OPTION")]
    words: Vec<String>,
}

/// Runs the command; comes back only if it could not.
pub fn run(args: &Args) -> Result<(), Failure> {
    let program = loader::find()?;
    let error = Command::new(&program).args(&args.words).exec();
    Err(Failure::Run(format!("{}: {error}", program.display())))
}
