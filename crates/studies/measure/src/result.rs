//! What was measured, as the document says it.

use std::collections::BTreeMap;

use generator::{remedy, undisturbed};
use model::{Failure, Nanos};
use nix::unistd::{SysconfVar, sysconf};
use report::document::ProgramResult;
use report::{Disturbance, MeasureService, Measured, Saturated, SelfCheckResult, SharedCpus};

use crate::measurement::{Load, Measurement};
use crate::observe::Setup;
use crate::saturate::Saturation;
use crate::service_time::ServiceTime;
use crate::target::Target;
use crate::warnings::{Due, doubtful_ideal, impossible_ideal};

/// Everything that a report is made of.
pub struct Reported<'a> {
    /// Where the requests went.
    pub target: &'a Target,
    /// With what.
    pub setup: &'a Setup,
    /// What was sent.
    pub load: &'a Load,
    /// What was measured.
    pub measurement: &'a Measurement,
    /// What the search for the capacity found, if there was one.
    pub saturation: Option<&'a Saturation>,
    /// The command line and the version.
    pub signature: (Vec<String>, String),
}

impl Reported<'_> {
    /// [`Failure::Run`] where the generator did not keep its schedule, and what that did is not bounded or
    /// the user wants no such result.
    pub fn check(&self, is_strict: bool) -> Result<(), Failure> {
        let check = &self.measurement.self_check;
        let faults = check.faults();
        let is_good = faults.is_empty() || (check.is_bounded() && !is_strict);
        if is_good { Ok(()) } else { Err(self.late(&faults)) }
    }

    /// What the generator's delays can have added, where they count.
    fn disturbance(&self) -> Option<Disturbance> {
        let Measurement { self_check, records, .. } = self.measurement;
        let faults = self_check.faults();
        let least = stats::latency_estimates(&[undisturbed(records)])?;
        (!faults.is_empty()).then(|| Disturbance {
            at_least_ns: figures::latency(&least),
            late_by_ns: self_check.lag[3].0,
            faults,
        })
    }

    fn shared_cpus(&self) -> SharedCpus {
        let sharing = self.measurement.sharing.clone();
        SharedCpus {
            cpus: sharing.cpus,
            others_share: sharing.others,
            interrupts_share: sharing.interrupts,
            host_share: sharing.stolen,
            programs: sharing.programs,
            ..SharedCpus::default()
        }
        .with_ended()
    }

    /// The document.
    pub fn document(self) -> Measured {
        let Measurement { trace, scenario, .. } = self.measurement;
        let mut shown = compare::single(scenario, trace);
        let mut program = shown.programs.swap_remove(0);
        let stamped = trace.programs[0].requests.iter().any(|r| r.started != Nanos::NEVER);
        program.inversions_per_request = program.inversions_per_request.filter(|_| stamped);
        let completed = program.completion_inversions_per_request.filter(|_| stamped);
        program.completion_inversions_per_request = completed;
        program.utilisation = self.utilisation();
        if self.measurement.service_time.is_none() {
            (program.ideal_ns, program.excess_p99_9) = (None, None);
            program.ideal_outlier = None;
            program.ideal_ccdf.clear();
        }
        let warnings = self.warnings(&mut program);
        let (command, version) = self.signature.clone();
        Measured {
            schema: report::MEASURE_SCHEMA.to_string(),
            target: self.target.text.clone(),
            protocol: self.target.scheme.clone(),
            command,
            version,
            machine: machine(),
            seed: self.load.seed,
            arrivals: self.arrivals(),
            warm_up_ns: self.load.warm_up.0,
            duration_ns: self.load.duration.0,
            connections: self.setup.connections,
            connections_opened: self.measurement.tally.opened,
            connections_refused: self.measurement.tally.refused,
            connections_dropped_idle: self.measurement.tally.dropped_idle,
            service: program,
            losses: named(&self.measurement.losses),
            complaints: named(&self.measurement.complaints),
            service_time: self.service_time(),
            self_check: self.self_check(),
            disturbance: self.disturbance(),
            shared_cpus: self.shared_cpus(),
            warnings,
            plan: None,
            looks: None,
            kinds: self.target.kinds().map(|kinds| kinds.results(&self.measurement.records)),
            stages: None,
            stages_note: None,
        }
    }

    /// What must be known before the figures are believed.
    fn warnings(&self, program: &mut ProgramResult) -> Vec<String> {
        let ideal = self.ideal_warning(program);
        [self.overload(), ideal].into_iter().flatten().collect()
    }

    /// An ideal that cannot be takes its ratio along; one that may be keeps it, with a word where it is below
    /// 1.
    fn ideal_warning(&self, program: &mut ProgramResult) -> Option<String> {
        let (ideal, measured) = (program.ideal_ns?, program.latency_ns?);
        let time = self.measurement.service_time?;
        let impossible = impossible_ideal(&measured, &ideal, &time);
        if impossible.is_some() {
            program.excess_p99_9 = None;
        }
        impossible.or_else(|| doubtful_ideal(&measured, &ideal))
    }

    fn overload(&self) -> Option<String> {
        let (trace, records) = (&self.measurement.trace, &self.measurement.records);
        let requests = trace.programs[0].requests.iter();
        let due = Due {
            records,
            window: trace.window,
            answers: requests
                .map(|one| one.received)
                .filter(|at| trace.window.contains(*at))
                .collect(),
            timeout: self.setup.limits.timeout,
            connections: self.setup.connections,
            is_generator_at_limit: self.measurement.self_check.own.is_at_limit(),
            server_used: self.utilisation(),
        };
        due.overload()
    }

    fn late(&self, faults: &[String]) -> Failure {
        let cpus: Vec<String> = self.setup.cpus.iter().map(usize::to_string).collect();
        let at_limit = self.measurement.self_check.own.is_at_limit();
        let at_limit = if at_limit { " More CPUs for it may help (--cpus 0,1)." } else { "" };
        Failure::Run(format!(
            "the load generator could not keep its schedule, so nothing is reported: {}.{at_limit} {}",
            faults.join("; "),
            remedy(&cpus.join(","))
        ))
    }

    fn arrivals(&self) -> String {
        match &self.load.stamps {
            Some(stamps) => format!("{} stamps", stamps.len()),
            None if self.load.law == model::law::Law::Exponential => "poisson".to_string(),
            None => self.load.law.to_string(),
        }
    }

    /// The share of its workers' time that the server used.
    fn utilisation(&self) -> Option<f64> {
        let used = self.measurement.used.as_ref()?;
        let workers = self.measurement.service_time.map_or(used.workers, |time| time.workers);
        let whole = f64::from(workers) * self.load.duration.as_secs_f64();
        Some(used.cpu.as_secs_f64() / whole)
    }

    fn service_time(&self) -> Option<MeasureService> {
        Some(shown(self.measurement.service_time?, self.saturation))
    }

    fn self_check(&self) -> SelfCheckResult {
        let check = &self.measurement.self_check;
        let window = self.measurement.trace.window;
        // Those of the warm-up, too, that were held until now.
        let all = self.measurement.trace.programs[0].requests.iter();
        let sent = all.filter(|request| window.contains(request.sent)).count() as f64;
        let [p50, p99, p99_9, max] = check.lag.map(|lag| lag.0);
        SelfCheckResult {
            lag_p50_ns: p50,
            lag_p99_ns: p99,
            lag_p99_9_ns: p99_9,
            lag_max_ns: max,
            intended_rate_per_s: check.requests as f64 / window.span().as_secs_f64(),
            achieved_rate_per_s: sent / window.span().as_secs_f64(),
            on_time_share: check.on_time,
            on_time_bound_ns: check.bound.0,
            gap_error: check.gap_error,
            cpu_share: check.own.cpu_share,
            wait_share: check.own.wait_share,
            run_delay_per_request_ns: check.own.run_delay.0,
        }
    }
}

/// What the search for a server's capacity found, as the document says it.
pub fn saturated(
    target: &Target,
    found: &Saturation,
    (command, version): (Vec<String>, String),
) -> Saturated {
    Saturated {
        schema: report::SATURATE_SCHEMA.to_string(),
        target: target.text.clone(),
        command,
        version,
        machine: machine(),
        service_time: shown(found.service_time, Some(found)),
    }
}

fn shown(time: ServiceTime, searched: Option<&Saturation>) -> MeasureService {
    MeasureService {
        value_ns: time.value.0,
        workers: time.workers,
        source: time.source.to_string(),
        capacity_per_s: time.capacity_per_s(),
        saturated_throughput_per_s: searched.map(|found| found.throughput_per_s),
        generator_limited: searched.map(|found| found.generator_limited),
        connections_limited: searched.map(|found| found.connections_limited),
        steps: searched.map(|found| found.steps.clone()).unwrap_or_default(),
    }
}

/// This machine in a line, with all of its CPUs, whichever of them this process may use.
pub fn machine() -> String {
    let or_unknown = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_string());
    let online = sysconf(SysconfVar::_NPROCESSORS_ONLN).ok().flatten();
    let cpus = or_unknown(online.map(|cpus| cpus.to_string()));
    format!("Linux {}, {}, {cpus} CPUs", or_unknown(host::release()), or_unknown(host::cpu_model()))
}

fn named(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    counts.iter().map(|(name, count)| (name.to_string(), *count)).collect()
}
