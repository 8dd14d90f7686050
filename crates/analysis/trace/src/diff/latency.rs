//! What became of the latencies.

use model::Nanos;
use stats::{Quantile, window_latencies};

use crate::Recorded;

/// The latencies of one program in two traces, over the requests of the measured part.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramDifference {
    /// The program's name.
    pub name: String,
    /// Requests of both traces.
    pub requests: [usize; 2],
    /// Requests with the same intended time in both.
    pub paired: usize,
    /// Those of them that have another latency.
    pub changed: usize,
    /// The intended time of the first of them.
    pub first: Option<Nanos>,
    /// p50, p99, p99.9 and the maximum of both traces; [`Nanos::NEVER`] where lost requests reach it.
    pub latency: Vec<(&'static str, [Nanos; 2])>,
}

const QUANTILES: [(&str, Quantile); 4] = [
    ("p50", Quantile::P50),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P99_9),
    ("max", Quantile { numerator: 1, denominator: 1 }),
];

/// One entry for each program with requests.
pub fn differences(a: &Recorded, b: &Recorded) -> Vec<ProgramDifference> {
    let programs = a.header.programs.iter().enumerate();
    programs.filter_map(|(index, program)| difference(a, b, index, &program.name)).collect()
}

fn difference(a: &Recorded, b: &Recorded, index: usize, name: &str) -> Option<ProgramDifference> {
    let (mut all_a, mut all_b) =
        (window_latencies(&a.trace, index), window_latencies(&b.trace, index));
    let pairs = a.trace.programs[index].requests.iter().zip(&b.trace.programs[index].requests);
    let paired: Vec<_> = pairs
        .filter(|(one, other)| {
            a.trace.window.contains(one.intended) && one.intended == other.intended
        })
        .collect();
    let apart = paired.iter().filter(|(one, other)| one.latency() != other.latency());
    let changed: Vec<Nanos> = apart.map(|(one, _)| one.intended).collect();
    let requests = [all_a.len(), all_b.len()];
    if requests == [0, 0] {
        return None;
    }
    all_a.sort_unstable();
    all_b.sort_unstable();
    let figure = |sorted: &[Nanos], q: Quantile| match sorted {
        [] => Nanos::NEVER,
        some => some[q.index(some.len())],
    };
    let latency = QUANTILES
        .iter()
        .map(|(name, q)| (*name, [figure(&all_a, *q), figure(&all_b, *q)]))
        .collect();
    let first = changed.first().copied();
    Some(ProgramDifference {
        name: name.to_string(),
        requests,
        paired: paired.len(),
        changed: changed.len(),
        first,
        latency,
    })
}
