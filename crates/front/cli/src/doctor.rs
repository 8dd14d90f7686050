//! `rearguard doctor`: what this machine supports.

use lab::Lab;
use machine::doctor::{Examination, Item, examine};
use machine::platform::Live;
use model::Failure;

/// Say what this machine supports, and the remedy for each thing that it does not
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let path = std::env::var("PATH").unwrap_or_default();
    // It only looks: nothing is started that would say anything.
    let kvm = Lab::of_user().map_err(|failure| failure.to_string()).and_then(|lab| lab.kvm());
    let examination = examine(&Live::new(""), &path, kvm);
    stdout::write(if args.json { report::json(&examination) } else { table(&examination) })
}

fn table(examination: &Examination) -> String {
    let item = |item: &Item| {
        let mark = if item.supported { "yes" } else { "no" };
        let more = item
            .remedy
            .as_ref()
            .map_or_else(|| format!("found: {}", item.found), |remedy| format!("remedy: {remedy}"));
        let (name, needed_for) = (item.name, item.needed_for);
        format!("{name:<15} {mark:<4} for {needed_for}\n{:<20} {more}\n", "")
    };
    let items: String = examination.items.iter().map(item).collect();
    format!("Linux {}\n\n{items}", examination.kernel)
}
