//! The document of `rearguard cluster`: every case of a cluster, held against the first.

use serde::{Deserialize, Serialize};

use crate::document::{Answer, CcdfPoint, Estimate, Latency, Outlier};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;
use crate::paper::{Series, SeriesChart};

/// The `schema` of a [`ClusterRun`].
pub const CLUSTER_SCHEMA: &str = "rearguard.cluster/1";

/// Leaves that serve for so much of their time had none to spare.
const FULL: f64 = 0.999;

/// What a cluster did in every case: under each load, dispatch and redundancy that its file names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterRun {
    /// [`CLUSTER_SCHEMA`].
    pub schema: String,
    /// The cluster's name.
    pub cluster: String,
    /// What the cluster shows, in its author's words.
    pub shows: String,
    /// The cluster file as it was read.
    pub cluster_text: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The seed of everything drawn.
    pub seed: u64,
    /// Leaf servers.
    pub servers: u32,
    /// Workers of each; `None` for measured ones.
    pub workers: Option<u32>,
    /// Servers of a shard.
    pub replicas: u32,
    /// Sub-requests of a request.
    pub fan_out: u32,
    /// Every case.
    pub cases: Vec<ClusterCase>,
    /// Cases held against the first dispatch and redundancy at the same load.
    pub verdicts: Vec<ClusterVerdict>,
    /// Where rules change sides as load grows.
    pub turns: Vec<ClusterTurn>,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterCase {
    /// Dispatch, redundancy and load in one.
    pub name: String,
    /// How sub-requests found their server.
    pub dispatch: String,
    /// How many copies of them were sent, and when.
    pub redundancy: String,
    /// Requests a second that were to come.
    pub rate_per_s: f64,
    /// The share of the leaves' time that they ask for, without copies and slow episodes; `None` for measured
    /// leaves.
    pub offered_utilisation: Option<f64>,
    /// Requests that were answered or lost.
    pub requests: u64,
    /// Requests that their deadline cut off; they rank as infinitely slow.
    pub lost: u64,
    /// The latency of requests.
    pub latency_ns: Latency,
    /// Requests slower than the threshold.
    pub outlier: Outlier,
    /// Sub-requests, from their being sent out to their first answer; `None` where too few were answered.
    pub sub_requests: Option<SubRequests>,
    /// The outlier proportion of requests if sub-requests were independent of each other (10-ms computing
    /// equation 4).
    pub independent_proportion: Estimate,
    /// Copies sent for each sub-request.
    pub copies_per_sub_request: f64,
    /// The share of the leaves' time that they served; `None` for measured leaves.
    pub utilisation: Option<f64>,
    /// False where the load, with its copies, is at least what the leaves can serve: queues grow for ever,
    /// and every latency says how long the run was. True where that is not known.
    pub stable: bool,
    /// The share of their serving that was not needed.
    pub wasted_share: f64,
    /// Sub-requests answered in time over all of them, as a mean over requests; lost requests count as 0.
    pub quality: f64,
    /// The share of requests that had all answers.
    pub complete_share: f64,
    /// Copies given to a server or a central queue, a simulated second.
    pub decisions_per_s: f64,
    /// Events simulated.
    pub events: u64,
    /// The tail of requests as a curve.
    pub ccdf: Vec<CcdfPoint>,
}

/// The sub-requests of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SubRequests {
    /// Their latency.
    pub latency_ns: Latency,
    /// Those slower than the threshold over all of them.
    pub proportion: Estimate,
}

/// Whether a case's p99 is better than that of the first dispatch and redundancy at the same load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterVerdict {
    /// The case.
    pub a: String,
    /// The case that it is held against.
    pub b: String,
    /// Better only where the whole interval is.
    pub answer: Answer,
    /// The p99 of `a` over that of `b`.
    pub ratio: Estimate,
}

/// From which load a rule helps and harms, as far as the loads that were tried show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterTurn {
    /// Dispatch and redundancy.
    pub rule: String,
    /// What it is held against.
    pub against: String,
    /// The highest load at which its p99 is better.
    pub helps_up_to: Option<f64>,
    /// The lowest load at which its p99 is worse.
    pub harms_from: Option<f64>,
}

impl ClusterCase {
    /// Dispatch, and redundancy if there is any.
    pub fn rule(&self) -> String {
        match self.redundancy.as_str() {
            "none" => self.dispatch.clone(),
            redundancy => format!("{} {redundancy}", self.dispatch),
        }
    }

    /// The load in a few words.
    pub fn load(&self) -> String {
        match self.offered_utilisation {
            Some(share) => format!("{}%", human::number(Some(100.0 * share))),
            None => format!("{}/s", human::number(Some(self.rate_per_s))),
        }
    }

    /// Whether the leaves had no time to spare in this run. Chance makes short runs full, so it does not say
    /// that queues grow for ever.
    pub fn is_full(&self) -> bool {
        self.utilisation.is_some_and(|served| served >= FULL)
    }

    /// The load, and what became of the queues under it.
    fn load_and_queues(&self) -> String {
        match (self.stable, self.is_full()) {
            (false, _) => format!("{} unstable", self.load()),
            (true, true) => format!("{} full", self.load()),
            (true, false) => self.load(),
        }
    }
}

/// The table of cases.
pub(crate) fn block(run: &ClusterRun) -> Block {
    let titles = [
        "dispatch",
        "redundancy",
        "load",
        "p50",
        "p99",
        "p99.9",
        "outliers",
        "if independent",
        "copies",
        "busy",
        "wasted",
        "quality",
        "lost",
    ];
    let mut grid = Grid::new(titles.map(String::from));
    grid.rows = run.cases.iter().map(|case| row(run, case)).collect();
    grid.spare = ["p50", "wasted", "copies"].map(String::from).to_vec();
    let grid = grid
        .without_empty()
        .claiming(Room::Ample, &["p50", "p99.9", "if independent"])
        .claiming(Room::First, &["p99"]);
    Block { heading: heading(run), grid, notes: notes(run) }
}

/// The cluster in a few words.
pub(crate) fn heading(run: &ClusterRun) -> String {
    let count = |n: u32| human::count(Some(n.into()));
    let workers = match run.workers {
        None => " measured".to_string(),
        Some(1) => String::new(),
        Some(more) => format!(" of {} workers", count(more)),
    };
    let replicas = if run.replicas == run.servers {
        String::new()
    } else {
        format!(", {} to a shard", count(run.replicas))
    };
    format!(
        "{}: {} leaves{workers}{replicas}, fan-out {}, seed {}",
        run.cluster,
        count(run.servers),
        count(run.fan_out),
        run.seed
    )
}

fn row(run: &ClusterRun, case: &ClusterCase) -> Vec<Cell> {
    let latency = &case.latency_ns;
    let answer = run.verdicts.iter().find(|verdict| verdict.a == case.name);
    let tone = match answer.map(|verdict| verdict.answer) {
        Some(Answer::Better) => Tone::Good,
        Some(Answer::Worse) => Tone::Bad,
        _ => Tone::Plain,
    };
    let imperfect = case.quality < 1.0;
    let fan_out = run.fan_out > 1;
    let share = |share: f64, shown: bool| human::share(Some(share).filter(|_| shown));
    let independent = if fan_out {
        human::percent(&case.independent_proportion)
    } else {
        (human::UNKNOWN.into(), String::new())
    };
    vec![
        Cell::plain(&case.dispatch),
        Cell::plain(&case.redundancy),
        Cell::plain(case.load_and_queues()),
        Cell::estimate(human::latency(&latency.p50)),
        Cell::estimate(human::latency(&latency.p99)).tone(tone),
        Cell::estimate(human::latency(&latency.p99_9)),
        Cell::estimate(human::percent(&case.outlier.proportion)),
        Cell::estimate(independent),
        Cell::plain(format!("{:.3}", case.copies_per_sub_request)),
        Cell::plain(human::share(case.utilisation)),
        Cell::plain(share(case.wasted_share, case.wasted_share > 0.0)),
        Cell::plain(share(case.quality, imperfect)),
        Cell::plain(human::count(Some(case.lost).filter(|lost| *lost > 0))),
    ]
}

fn notes(run: &ClusterRun) -> Vec<Cell> {
    let load = |share: f64| format!("{}%", human::number(Some(100.0 * share)));
    let turn = |turn: &ClusterTurn| {
        let sides = match (turn.helps_up_to, turn.harms_from) {
            (Some(up_to), Some(from)) => {
                format!("a shorter p99 up to {}, a longer one from {} on", load(up_to), load(from))
            }
            (Some(up_to), None) => {
                format!("a shorter p99 up to {}, at no load a longer one", load(up_to))
            }
            (None, Some(from)) => {
                format!("a longer p99 from {} on, at no load a shorter one", load(from))
            }
            (None, None) => "no difference in p99 that shows".to_string(),
        };
        Cell::plain(format!("{}, against {}: {sides}.", turn.rule, turn.against))
    };
    let threshold = run.cases.first().map(|case| {
        let over = human::round_span(case.outlier.threshold_ns);
        Cell::plain(format!(
            "Outliers take more than {over}. Busy and wasted: shares of the leaves' time, and of their serving that was not needed."
        ))
        .tone(Tone::Faint)
    });
    let warned = growing(run).into_iter().chain(full(run));
    warned.chain(run.turns.iter().map(turn)).chain(threshold).collect()
}

fn growing(run: &ClusterRun) -> Option<Cell> {
    let what = "Unstable, so that queues grow for ever and latencies say how long the run was";
    warning(run, what, |case| !case.stable)
}

fn full(run: &ClusterRun) -> Option<Cell> {
    let what = "Full, so that leaves had no time to spare in this run; a longer one says whether latencies \
                grow with it";
    warning(run, what, |case| case.stable && case.is_full())
}

/// A note that names the cases it is about; `None` where there are none.
fn warning(run: &ClusterRun, what: &str, about: impl Fn(&ClusterCase) -> bool) -> Option<Cell> {
    let cases = run.cases.iter().filter(|case| about(case));
    let names: Vec<&str> = cases.map(|case| case.name.as_str()).collect();
    let text = format!("{what}: {}.", names.join("; "));
    (!names.is_empty()).then(|| Cell::plain(text).tone(Tone::Bad))
}

/// p99 by load, a line a rule; `None` with one load.
pub(crate) fn by_load(run: &ClusterRun) -> Option<SeriesChart> {
    let mut series: Vec<Series> = Vec::new();
    for case in &run.cases {
        let point = case.offered_utilisation.zip(case.latency_ns.p99.value);
        let point = point.map(|(load, p99)| (100.0 * load, p99 / 1e6));
        match series.iter_mut().find(|one| one.name == case.rule()) {
            Some(one) => one.points.extend(point),
            None => series.push(Series { name: case.rule(), points: point.into_iter().collect() }),
        }
    }
    series.iter().any(|one| one.points.len() > 1).then(|| SeriesChart {
        x: "load (% of the leaves' time)".to_string(),
        y: "p99 of requests (ms)".to_string(),
        log_x: false,
        log_y: true,
        series,
    })
}
