//! `rearguard paper`: figures of the papers, produced by this system.

use model::{Failure, units};
use queue::tales;

use crate::curves::curve;
use crate::output::{Output, signature};
use crate::watch::Terminal;

/// Draw figures of the papers with this system: Tales of the Tail, figures 1 to 4
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Tales of the Tail (SoCC 2014) section 2: ideal queues
    Tales(Tales),
}

#[derive(clap::Args)]
struct Tales {
    /// 1: arrival laws; 2: utilisation; 3: workers; 4: disciplines
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4))]
    figure: u32,
    /// Requests a curve
    #[arg(long, default_value = "2M", value_parser = units::count)]
    requests: u64,
    /// The seed of arrivals and services
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Paper::Tales(args) = &args.paper;
    args.output.check()?;
    let figure = tales::figure(args.figure, args.requests, args.seed)?;
    let results = figure.run(&Terminal::new("tales"))?;
    let named = figure.queues.iter().zip(&results);
    let curves = named.map(|((name, _), result)| curve(name, result)).collect();
    let (command, version) = signature();
    let document = report::Figure {
        schema: report::FIGURE_SCHEMA.to_string(),
        title: figure.title,
        caption: figure.caption,
        command,
        version,
        seed: Some(args.seed),
        curves,
    };
    args.output.drawn(report::json(&document), &document)
}
