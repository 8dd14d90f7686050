//! Clusters written as their files are.

use cluster::{Case, Cluster, Outcome};
use model::{Failure, Silent};

/// A cluster without measurements; `#` leads what it shows.
pub fn cluster(text: &str) -> Cluster {
    let find = |name: &str| Err(Failure::Input(format!("no {name}")));
    let text = format!("# A test.\n{text}");
    Cluster::read(&text, "test.toml", &find).unwrap_or_else(|failure| panic!("{failure}"))
}

/// All cases of a cluster.
pub fn outcomes(text: &str) -> Vec<(Case, Outcome)> {
    let cluster = cluster(text);
    let run = |case: Case| {
        let outcome = cluster.run(&case, cluster.seed, &Silent).expect("no interrupt");
        (case, outcome)
    };
    cluster.cases().into_iter().map(run).collect()
}
