//! The result of measuring one server: what `rearguard measure` found, and how well it looked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::blocks;
use crate::disturbance::{Disturbance, SharedCpus};
use crate::document::{Document, Machine, PolicyResult, ProgramResult};
use crate::grid::{Block, Cell, Tone};
use crate::human;
use crate::kinds::{self, KindResult};
use crate::looks::MeasureLooks;
use crate::stages::{self, Stage};

/// The `schema` of a [`Measured`].
pub const MEASURE_SCHEMA: &str = "rearguard.measure/1";

/// The `schema` of a [`Saturated`].
pub const SATURATE_SCHEMA: &str = "rearguard.saturation/1";

/// The most that a server can do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saturated {
    /// [`SATURATE_SCHEMA`].
    pub schema: String,
    /// Where the requests went, as it was given.
    pub target: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The machine that sent the requests, in one line.
    pub machine: String,
    /// The amortised service time and how it was found.
    pub service_time: MeasureService,
}

/// One server under load: the keys of a service in a comparison, and what belongs to a measurement alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// [`MEASURE_SCHEMA`].
    pub schema: String,
    /// Where the requests went, as it was given.
    pub target: String,
    /// The protocol: the target's scheme.
    pub protocol: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The machine that sent the requests, in one line.
    pub machine: String,
    /// The seed of arrivals and of what is asked.
    pub seed: u64,
    /// The law of arrivals.
    pub arrivals: String,
    /// Time before the measurement.
    pub warm_up_ns: u64,
    /// The measured time.
    pub duration_ns: u64,
    /// Connections, or UDP sockets.
    pub connections: u32,
    /// How often one was opened: more than `connections` where some ended.
    pub connections_opened: u64,
    /// Attempts to open one that failed.
    pub connections_refused: u64,
    /// Connections that the server closed while they carried no request.
    pub connections_dropped_idle: u64,
    /// What the service did.
    #[serde(flatten)]
    pub service: ProgramResult,
    /// Lost requests by cause: silent, in flight, half, closed, reset, garbage, unsent.
    pub losses: BTreeMap<String, u64>,
    /// Responses that were not what was wanted, by what was wrong: miss, error, HTTP 404 and so on.
    pub complaints: BTreeMap<String, u64>,
    /// The ideal's service time; `None` where it is unknown, and with it the ideal.
    pub service_time: Option<MeasureService>,
    /// How well the requests were sent.
    pub self_check: SelfCheckResult,
    /// What the generator's own delays may have added; `None`: nothing that counts.
    pub disturbance: Option<Disturbance>,
    /// What else used the generator's CPUs.
    pub shared_cpus: SharedCpus,
    /// What must be known before the figures are believed: overload, an ideal that cannot be.
    pub warnings: Vec<String>,
    /// How long to measure, where that was asked.
    pub plan: Option<MeasurePlan>,
    /// Looks at ever longer runs, where that was asked.
    pub looks: Option<MeasureLooks>,
    /// The requests of a mix, kind by kind; `None`: they were of one kind.
    pub kinds: Option<Vec<KindResult>>,
    /// Where the requests' time went in the server's kernel, or as far as the client's knows; `None`: not
    /// traced.
    pub stages: Option<Vec<Stage>>,
    /// What of it is unknown, and why.
    pub stages_note: Option<String>,
}

/// The amortised service time (Tales section 3.2) and where it is from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasureService {
    /// What a request costs the server in all.
    pub value_ns: u64,
    /// Requests that are served at a time.
    pub workers: u32,
    /// `given`, `saturation` or `cpu time`.
    pub source: String,
    /// Requests a second that keep all workers busy.
    pub capacity_per_s: f64,
    /// The greatest throughput that the search saw.
    pub saturated_throughput_per_s: Option<f64>,
    /// Whether the generator was at its limit before the server.
    pub generator_limited: Option<bool>,
    /// Whether throughput still grew where the search had no more connections.
    #[serde(default)]
    pub connections_limited: Option<bool>,
    /// The search: connections and requests a second.
    pub steps: Vec<(u32, f64)>,
}

/// How well the generator kept its schedule. A run in which it did not is no result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfCheckResult {
    /// From a request's turn to its sending: half of the requests at most.
    pub lag_p50_ns: u64,
    /// 99% of the requests at most.
    pub lag_p99_ns: u64,
    /// 99.9% of the requests at most.
    pub lag_p99_9_ns: u64,
    /// The greatest.
    pub lag_max_ns: u64,
    /// Requests a second that were due.
    pub intended_rate_per_s: f64,
    /// Requests a second that were sent in the measured time.
    pub achieved_rate_per_s: f64,
    /// The share of requests that were sent within `on_time_bound_ns` of their turn.
    pub on_time_share: f64,
    /// Half of the median latency.
    pub on_time_bound_ns: u64,
    /// How much gaps differ from those that were due, in mean gaps.
    pub gap_error: f64,
    /// CPU time of the generator's threads over wall-clock time.
    pub cpu_share: f64,
    /// Their waits for a CPU over wall-clock time.
    pub wait_share: f64,
    /// The generator's wait for a CPU.
    pub run_delay_per_request_ns: u64,
}

/// How long to measure for a precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// Of this quantile, 0 to 1.
    pub quantile: f64,
    /// How far its 95% interval may reach on either side, as a share of it.
    pub precision: f64,
    /// Requests for each one that is as good as independent.
    pub requests_per_independent: f64,
    /// Requests that are needed.
    pub requests: u64,
    /// The time that they take at the pilot's rate.
    pub duration_ns: u64,
}

impl Measured {
    /// The measurement as a comparison of one policy, for the faces of such.
    pub(crate) fn as_document(&self) -> Document {
        Document {
            scenario: self.target.clone(),
            shows: self.shows(),
            arm: "a real server".to_string(),
            seeds: vec![self.seed],
            command: self.command.clone(),
            version: self.version.clone(),
            machine: Machine { description: self.machine.clone(), ..Machine::default() },
            results: vec![PolicyResult {
                policy: "measured".to_string(),
                programs: vec![self.service.clone()],
                ..PolicyResult::default()
            }],
            ..Document::default()
        }
    }

    /// The service with intervals from the least that the server can have taken: where the generator was
    /// late, a latency may be as short as the disturbance says.
    pub fn at_least(&self) -> ProgramResult {
        let mut service = self.service.clone();
        let (Some(latency), Some(disturbance)) = (&mut service.latency_ns, &self.disturbance)
        else {
            return service;
        };
        let least = disturbance.at_least_ns;
        latency.mean.low = least.mean.low;
        latency.p50.low = least.p50.low;
        latency.p90.low = least.p90.low;
        latency.p99.low = least.p99.low;
        latency.p99_9.low = least.p99_9.low;
        if let Some(outlier) = &mut service.outlier {
            outlier.proportion.low = None;
        }
        service
    }

    /// The same after looks, of which this is the last: p99.9 has the interval of all of them.
    pub fn with_looks(mut self, looks: MeasureLooks) -> Measured {
        let least = self.disturbance.as_mut().map(|one| &mut one.at_least_ns.p99_9.low);
        least.into_iter().for_each(|low| *low = looks.p99_9_ns.low);
        let latency = self.service.latency_ns.as_mut();
        latency.into_iter().for_each(|latency| latency.p99_9 = looks.p99_9_ns);
        Measured { looks: Some(looks), ..self }
    }

    /// What was done, in a sentence.
    pub(crate) fn shows(&self) -> String {
        let duration = human::round_span(self.duration_ns);
        let rate = human::number(Some(self.self_check.intended_rate_per_s));
        format!(
            "{} arrivals, {rate} requests/s for {duration} over {} connections",
            self.arrivals, self.connections
        )
    }

    /// What comes before all figures: what must be known to believe them.
    pub(crate) fn headlines(&self) -> Vec<String> {
        let measured = self.service.latency_ns.unwrap_or_default();
        let shared = || self.shared_cpus.words();
        let disturbed = self.disturbance.iter().map(|one| one.sentence(&measured, shared()));
        disturbed.chain(self.warnings.iter().cloned()).collect()
    }

    /// The figures, and what must be said with them.
    pub(crate) fn block(&self) -> Block {
        let document = self.as_document();
        let mut block = blocks::blocks(&document).into_iter().next().unwrap_or_default();
        let least = self.disturbance.as_ref().map(|one| one.at_least_ns);
        // An ideal that cannot be has no ratio, and gives none to this row either.
        let ideal = self.service.ideal_ns.filter(|_| self.service.excess_p99_9.is_some());
        let row = |least| blocks::least_row(&block.grid, "at least", least, ideal);
        block.grid.rows.extend(least.as_ref().map(row));
        Block { notes: self.notes(), ..block }
    }

    /// The kinds of a mix.
    pub(crate) fn kind_block(&self) -> Option<Block> {
        self.kinds.as_deref().map(kinds::block)
    }

    /// The stages, where they were traced.
    pub(crate) fn stage_block(&self) -> Option<Block> {
        let grid = stages::grid(self.stages.as_ref()?);
        let note = self.stages_note.as_ref();
        let heading = note.map_or(
            "stages of the requests in the server's kernel",
            |_| "stages of the requests, as far as the client knows them",
        );
        let notes = note.map(|note| Cell::plain(note).tone(Tone::Faint)).into_iter().collect();
        Some(Block { heading: heading.to_string(), grid, notes })
    }

    fn notes(&self) -> Vec<Cell> {
        let bad = |text: String| Cell::plain(text).tone(Tone::Bad);
        let faint = |text: String| Cell::plain(text).tone(Tone::Faint);
        let mut notes = Vec::new();
        notes.extend(counts("lost", &self.losses).map(bad));
        notes.extend(counts("answered otherwise than wanted", &self.complaints).map(bad));
        if self.connections_refused > 0 {
            notes.push(bad(format!("connections refused: {}", self.connections_refused)));
        }
        notes.push(faint(self.service_note()));
        notes.push(faint(self.self_check.note()));
        let shared = self.shared_cpus.words().filter(|_| self.disturbance.is_none());
        notes.extend(shared.map(|words| faint(format!("beside the generator: {words}"))));
        let faults = self.disturbance.iter().flat_map(|one| &one.faults);
        notes.extend(faults.map(|fault| faint(format!("disturbed: {fault}"))));
        notes.extend(self.plan.map(|plan| Cell::plain(plan.note())));
        notes.extend(self.looks.map(|looks| Cell::plain(looks.note())));
        notes
    }

    fn service_note(&self) -> String {
        self.service_time.as_ref().map_or(
            "ideal: unknown, as the service time is (--saturate, or --service-time)".to_string(),
            |time| format!("ideal: {}", time.note()),
        )
    }
}

impl MeasureService {
    /// The time, where it is from, and what follows.
    pub(crate) fn note(&self) -> String {
        let many = if self.workers == 1 { "worker" } else { "workers" };
        let limited = match (self.generator_limited, self.steps.last()) {
            (Some(true), _) => "; the generator was at its limit first".to_string(),
            (_, Some((most, _))) if self.connections_limited == Some(true) => {
                format!(
                    "; throughput still grew at {most} connections (--connections searches further)"
                )
            }
            _ => String::new(),
        };
        format!(
            "{} a request by {}, {} {many}, capacity {} requests/s{limited}",
            human::span(self.value_ns as f64),
            self.source,
            self.workers,
            human::count(Some(self.capacity_per_s.round() as u64))
        )
    }
}

impl SelfCheckResult {
    pub(crate) fn note(&self) -> String {
        let span = |ns: u64| human::span(ns as f64);
        format!(
            "generator: sent {} after its turn at p50, {} at p99, {} at p99.9; {} requests/s sent of {} due; {} of its CPU",
            span(self.lag_p50_ns),
            span(self.lag_p99_ns),
            span(self.lag_p99_9_ns),
            human::number(Some(self.achieved_rate_per_s)),
            human::number(Some(self.intended_rate_per_s)),
            human::share(Some(self.cpu_share))
        )
    }
}

impl MeasurePlan {
    fn note(&self) -> String {
        format!(
            "plan: p{} within {}% needs {} requests, {} at this rate ({} requests are as good as one independent one)",
            100.0 * self.quantile,
            100.0 * self.precision,
            human::count(Some(self.requests)),
            human::span(self.duration_ns as f64),
            human::number(Some(self.requests_per_independent))
        )
    }
}

/// `lost: silent 7, reset 1`; nothing for nothing.
fn counts(what: &str, counts: &BTreeMap<String, u64>) -> Option<String> {
    let words = counts.iter().map(|(name, count)| format!("{name} {}", human::count(Some(*count))));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("{what}: {}", words.join(", ")))
}
