//! `rearguard doctor`: what this machine supports.

use machine::doctor::{Examination, examine};
use machine::platform::Live;

/// Say what this machine supports, and the remedy for each thing that it does not
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) {
    let path = std::env::var("PATH").unwrap_or_default();
    // It only looks: nothing is started that would say anything.
    let examination = examine(&Live::new(""), &path);
    if args.json {
        anstream::print!("{}", report::json(&examination));
    } else {
        table(&examination);
    }
}

fn table(examination: &Examination) {
    anstream::println!("Linux {}\n", examination.kernel);
    for item in &examination.items {
        let mark = if item.supported { "yes" } else { "no" };
        anstream::println!("{:<15} {mark:<4} for {}", item.name, item.needed_for);
        let more = item
            .remedy
            .as_ref()
            .map_or_else(|| format!("found: {}", item.found), |remedy| format!("remedy: {remedy}"));
        anstream::println!("{:<20} {more}", "");
    }
}
