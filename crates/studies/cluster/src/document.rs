//! From outcomes to a document: the cases beside each other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use figures::{estimate, latency, point};
use model::{Failure, Watch};
use report::document::{self, Answer};
use report::{CLUSTER_SCHEMA, ClusterCase, ClusterRun, ClusterTurn, ClusterVerdict, SubRequests};

use crate::definition::{Case, Cluster};
use crate::outcome::Outcome;

impl Cluster {
    /// Simulates every case, so many at a time, and puts them beside each other. Command, version and text
    /// are the caller's to add.
    ///
    /// The number of jobs changes nothing but the time that it takes.
    pub fn run_all(&self, jobs: usize, watch: &dyn Watch) -> Result<ClusterRun, Failure> {
        let cases = self.cases();
        let outcomes = outcomes(self, &cases, jobs, watch)?;
        let shown: Vec<ClusterCase> =
            cases.iter().zip(&outcomes).map(|(case, outcome)| self.case(case, outcome)).collect();
        let verdicts = verdicts(&shown);
        let tier = &self.leaf.tier;
        Ok(ClusterRun {
            schema: CLUSTER_SCHEMA.to_string(),
            cluster: self.name.clone(),
            shows: self.shows.clone(),
            seed: self.seed,
            servers: tier.servers,
            workers: (!tier.is_measured()).then_some(tier.workers),
            replicas: self.leaf.replicas,
            fan_out: self.fan_out,
            turns: turns(&shown, &verdicts),
            cases: shown,
            verdicts,
            ..ClusterRun::default()
        })
    }

    fn case(&self, case: &Case, outcome: &Outcome) -> ClusterCase {
        let sub = outcome.sub_latency.as_ref().zip(outcome.sub_outliers);
        let mut shown = ClusterCase {
            dispatch: case.dispatch.to_string(),
            redundancy: case.redundancy.to_string(),
            rate_per_s: self.rate_per_s(case.load),
            offered_utilisation: self.utilisation(case.load),
            requests: outcome.requests,
            lost: outcome.lost,
            latency_ns: latency(&outcome.latency),
            outlier: document::Outlier {
                threshold_ns: self.outlier_threshold.0,
                proportion: estimate(outcome.outliers),
                valid_throughput_per_s: Some(outcome.valid_throughput_per_s),
            },
            sub_requests: sub.map(|(sub, outliers)| SubRequests {
                latency_ns: latency(sub),
                proportion: estimate(outliers),
            }),
            independent_proportion: outcome.independent_outliers.map(estimate).unwrap_or_default(),
            copies_per_sub_request: outcome.copies_per_sub_request,
            utilisation: outcome.utilisation,
            stable: !self.is_overloaded(case, outcome.copies_per_sub_request),
            wasted_share: outcome.wasted_share,
            quality: outcome.quality,
            complete_share: outcome.complete_share,
            decisions_per_s: outcome.decisions as f64 / outcome.seconds,
            events: outcome.events,
            ccdf: outcome.ccdf.iter().map(point).collect(),
            ..ClusterCase::default()
        };
        shown.name = format!("{} at {}", shown.rule(), shown.load());
        shown
    }
}

/// The cases' outcomes in their order, from any simulation.
fn outcomes(
    cluster: &Cluster,
    cases: &[Case],
    jobs: usize,
    watch: &dyn Watch,
) -> Result<Vec<Outcome>, Failure> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Outcome, Failure>>>> =
        cases.iter().map(|_| Mutex::new(None)).collect();
    let ahead = Part { watch, done: &next, of: cases.len() };
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let outcome = cluster.run(case, cluster.seed, &ahead);
            *done[at].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        (0..jobs.clamp(1, cases.len())).for_each(|_| {
            scope.spawn(work);
        });
    });
    let outcome = |slot: Mutex<Option<Result<Outcome, Failure>>>| {
        let outcome = slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome.unwrap_or(Err(Failure::Interrupted))
    };
    done.into_iter().map(outcome).collect()
}

/// The progress of one case as that of all: cases begun count as done but for one.
struct Part<'a> {
    watch: &'a dyn Watch,
    done: &'a AtomicUsize,
    of: usize,
}

impl Watch for Part<'_> {
    fn progress(&self, done: f64) {
        let begun = self.done.load(Ordering::Relaxed).saturating_sub(1) as f64;
        self.watch.progress(((begun + done) / self.of as f64).min(1.0));
    }

    fn cancelled(&self) -> bool {
        self.watch.cancelled()
    }
}

/// The case of the first rule at the same load as another.
fn baseline<'a>(cases: &'a [ClusterCase], case: &ClusterCase) -> Option<&'a ClusterCase> {
    let first = cases.first()?.rule();
    cases.iter().find(|other| other.rule() == first && other.rate_per_s == case.rate_per_s)
}

fn verdicts(cases: &[ClusterCase]) -> Vec<ClusterVerdict> {
    let verdict = |case: &ClusterCase| {
        let base = baseline(cases, case)?;
        let (a, b) = (case.latency_ns.p99, base.latency_ns.p99);
        (base.name != case.name).then(|| ClusterVerdict {
            a: case.name.clone(),
            b: base.name.clone(),
            answer: answer(&a, &b),
            ratio: a.over(&b),
        })
    };
    cases.iter().filter_map(verdict).collect()
}

/// Apart where the two intervals are: stricter than an interval of the ratio, and in need of nothing that the
/// cases share.
fn answer(a: &document::Estimate, b: &document::Estimate) -> Answer {
    let apart = |below: &document::Estimate, above: &document::Estimate| {
        below.high.zip(above.low).is_some_and(|(high, low)| high < low)
    };
    match (apart(a, b), apart(b, a)) {
        (true, _) => Answer::Better,
        (_, true) => Answer::Worse,
        _ => Answer::CannotTell,
    }
}

/// For each rule but the first, where it helps and harms; only where loads are known.
fn turns(cases: &[ClusterCase], verdicts: &[ClusterVerdict]) -> Vec<ClusterTurn> {
    let Some(first) = cases.first() else { return Vec::new() };
    let mut rules: Vec<String> = cases.iter().map(ClusterCase::rule).collect();
    rules.dedup();
    let loads = |rule: &str, wanted: Answer| -> Vec<f64> {
        let own = cases.iter().filter(|case| case.rule() == rule);
        let fits =
            |case: &&ClusterCase| verdicts.iter().any(|v| v.a == case.name && v.answer == wanted);
        own.filter(fits).filter_map(|case| case.offered_utilisation).collect()
    };
    let turn = |rule: String| ClusterTurn {
        helps_up_to: loads(&rule, Answer::Better).into_iter().reduce(f64::max),
        harms_from: loads(&rule, Answer::Worse).into_iter().reduce(f64::min),
        against: first.rule(),
        rule,
    };
    let several = cases.iter().filter(|case| case.rule() == first.rule()).count() > 1;
    let others = rules.into_iter().filter(|rule| several && *rule != first.rule());
    others.map(turn).collect()
}
