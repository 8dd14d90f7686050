//! `rearguard cluster`: many servers, simulated.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Instant;

use cluster::{Cluster, Dispatch, Redundancy};
use model::scenario::Arrivals;
use model::{Failure, Nanos, PolicySpec};

use crate::compare::positive_duration;
use crate::files;
use crate::output::{Output, signature};
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Simulate a cluster: what fan-out, dispatch and redundancy make of the tail, and from which load they harm
#[derive(clap::Args)]
pub struct Args {
    /// The cluster (TOML); shipped ones are in clusters/
    cluster: PathBuf,
    /// Try these loads instead of the file's: shares of the leaves' time
    #[arg(long, value_delimiter = ',', value_parser = utilisation)]
    utilisation: Vec<f64>,
    /// Try these rules of dispatch instead of the file's, the first as baseline: random, round-robin,
    /// choices:d=2, shortest, batch-sampling:d=2, central
    #[arg(long, value_delimiter = ',')]
    dispatch: Vec<Dispatch>,
    /// Try these rules of redundancy instead of the file's, the first as baseline: none, replicate:copies=2,
    /// reissue:quantile=0.95, reissue:after=10ms, tied:copies=2
    #[arg(long, value_delimiter = ',')]
    redundancy: Vec<Redundancy>,
    /// Where leaves or roots are machines, run them under this policy instead of the file's
    #[arg(long, value_parser = PolicySpec::parse)]
    policy: Option<PolicySpec>,
    /// Run policies in files, ./mine.c, that the cluster's file names: they are code
    #[arg(long)]
    allow_own_policies: bool,
    /// Measure for this long instead of the file's duration
    #[arg(long, value_parser = positive_duration)]
    duration: Option<Nanos>,
    /// The seed of everything drawn, instead of the file's
    #[arg(long)]
    seed: Option<u64>,
    /// Cases at a time; one a core unless given
    #[arg(long, value_name = "COUNT")]
    jobs: Option<NonZero<usize>>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

fn utilisation(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|share| *share > 0.0 && *share <= 10.0);
    read.ok_or_else(|| format!("`{text}`: expected a share of the leaves' time such as 0.8"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.output.check(&["html", "svg"], &[&args.cluster])?;
    args.tables.check(&[&args.cluster])?;
    let (cluster, text) = args.read()?;
    let jobs = args.jobs.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
    let started = Instant::now();
    let mut run = cluster.run_all(jobs, &Terminal::computing(&cluster.name))?;
    let took_s = started.elapsed().as_secs_f64();
    (run.command, run.version) = signature();
    run.cluster_text = text;
    args.tables.write(&run)?;
    args.output.clustered(&run, took_s)
}

impl Args {
    /// The file's cluster with what the command line says otherwise.
    fn read(&self) -> Result<(Cluster, String), Failure> {
        let text = files::read(&self.cluster)?;
        let folder = self.cluster.parent().unwrap_or(Path::new("")).to_path_buf();
        let find = |name: &str| {
            let path = folder.join(name);
            let report = self.output.report();
            report.map_or(Ok(()), |report| files::check_apart(report, &[&path]))?;
            self.tables.check_apart(&[&path])?;
            files::read(&path)
        };
        let mut cluster = Cluster::read(&text, &self.cluster.display().to_string(), &find)?;
        if !self.allow_own_policies {
            cluster.check_shipped()?;
        }
        if !self.utilisation.is_empty() {
            cluster.loads = self.utilisation.iter().map(|u| Arrivals::Utilisation(*u)).collect();
        }
        if !self.dispatch.is_empty() {
            cluster.dispatch.clone_from(&self.dispatch);
        }
        if !self.redundancy.is_empty() {
            cluster.redundancy.clone_from(&self.redundancy);
        }
        if let Some(policy) = &self.policy {
            cluster.set_policy(policy)?;
        }
        cluster.duration = self.duration.unwrap_or(cluster.duration);
        cluster.seed = self.seed.unwrap_or(cluster.seed);
        cluster.check()?;
        Ok((cluster, text))
    }
}
