//! `rearguard paper`: figures of the papers, produced by this system and held against what the papers say.

use std::path::PathBuf;

use experiment::Store;
use model::{Failure, units};
use paper::{Effort, Entry};

use crate::files;
use crate::output::{Output, signature};
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Draw figures of the papers with this system, ours beside the paper's
#[derive(clap::Args)]
pub struct Args {
    /// cts, gvts, tales, 10ms or all
    paper: String,
    /// A figure or table; without it, all of the paper
    figure: Option<String>,
    /// Requests a curve of ideal queues
    #[arg(long, default_value = "2M", value_parser = units::count)]
    requests: u64,
    /// The seed of ideal queues
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many of each scenario's seeds to run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    seeds: u16,
    /// Write the comparison as a page of Markdown, for example docs/evidence/papers.md
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let entries = paper::find(&args.paper, args.figure.as_deref())?;
    args.output.check_pictures(entries.len())?;
    args.tables.check(&[])?;
    args.write.as_deref().map_or(Ok(()), files::check_writable)?;
    let (store, watch) = (Store::of_user()?, Terminal::computing(&args.paper));
    let figures = entries.iter().map(|entry| figure(args, entry, &store, &watch));
    let figures: Vec<_> = figures.collect::<Result<_, _>>()?;
    if let Some(path) = &args.write {
        let head = include_str!("paper.md").replace("{command}", &signature().0[1..].join(" "));
        files::write(path, &(head + &report::paper_markdown(&figures)))?;
    }
    args.tables.write(&figures)?;
    args.output.papers(&figures)
}

fn figure(
    args: &Args,
    entry: &Entry,
    store: &Store,
    watch: &Terminal,
) -> Result<report::PaperFigure, Failure> {
    let effort =
        Effort { requests: args.requests, seed: args.seed, seeds: usize::from(args.seeds) };
    let mut figure = paper::produce(entry, effort, store, watch)?;
    (figure.command, figure.version) = signature();
    Ok(figure)
}
