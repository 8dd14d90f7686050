//! `rearguard lab`: stock kernels, and one command under one of them.

mod run;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use ::lab::Lab;
use model::Failure;

/// Bring stock Debian kernels and run commands under them in QEMU
#[derive(clap::Args)]
#[command(
    after_help = "Everything lives in the lab's folder: RG_LAB_DIR, else rearguard/lab in XDG_CACHE_HOME or ~/.cache."
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Fetch(FetchArgs),
    /// Which kernels are there
    List,
    Run(run::Args),
}

/// Bring kernels: newest, a version such as 6.1 or 6.18, or all that Debian has; without one 6.1 and newest
#[derive(clap::Args)]
struct FetchArgs {
    /// Which kernels
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let lab = Lab::of_user()?;
    match &args.action {
        Action::Fetch(args) => fetch(&lab, &args.kernels)?,
        Action::List => list(&lab)?,
        Action::Run(args) => return run::run(&lab, args),
    }
    Ok(ExitCode::SUCCESS)
}

fn fetch(lab: &Lab, wanted: &[String]) -> Result<(), Failure> {
    let wanted = match wanted {
        [] => Lab::usual().map(str::to_string).to_vec(),
        [all] if all == "all" => lab.every()?,
        some => some.to_vec(),
    };
    let mut said = BTreeSet::new();
    for kernel in &wanted {
        let begin = Instant::now();
        let fetched = lab.fetch(kernel)?;
        for word in fetched.passed_over {
            if said.insert(word.clone()) {
                anstream::eprintln!("rearguard: {word}");
            }
        }
        let how = if fetched.was_there { "was there" } else { "fetched" };
        let (name, release) = (fetched.kernel.name(), &fetched.kernel.release);
        stdout::line(format_args!(
            "{name:<8} {release:<32} {how} ({:.1} s)",
            begin.elapsed().as_secs_f64()
        ))?;
    }
    Ok(())
}

fn list(lab: &Lab) -> Result<(), Failure> {
    let kernels = lab.kernels();
    if kernels.is_empty() {
        anstream::eprintln!("no kernels yet: bring some with `rearguard lab fetch`");
        return Ok(());
    }
    let row = |name: &str, release: &str, default: &str, ext: &str| {
        format!("{name:<8} {release:<32} {default:<7} {ext}")
    };
    stdout::line(row("name", "release", "default", "sched_ext"))?;
    for kernel in kernels {
        let (name, release, default) = (kernel.name(), &kernel.release, kernel.default_class());
        let ext = if kernel.has_sched_ext()? { "yes" } else { "no" };
        stdout::line(row(&name, release, default, ext))?;
    }
    Ok(())
}
