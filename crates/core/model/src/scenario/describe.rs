//! A scenario in a few lines for people.

mod mechanisms;

use super::groups::POLICY_LEVELS;
use super::read::LONGEST;
use super::{Architecture, Group, Kind, Program, Scenario, Service, Wait};
use crate::Nanos;

/// A p99.9 that rests on fewer requests than this beyond it is a matter of luck.
const SAMPLES_BEYOND: f64 = 20.0;

impl Scenario {
    /// What it holds and what it asks of the machine, in aligned lines; [`Scenario::warnings`] at the end.
    pub fn describe(&self) -> String {
        let mut rows = vec![
            ("scenario", self.name.clone()),
            ("shows", self.shows.clone()),
            ("machine", self.machine_line()),
            ("time", self.time_line()),
        ];
        rows.extend(self.mechanism_lines().into_iter().map(|line| ("", line)));
        rows.extend(self.group_lines().into_iter().map(|line| ("group", line)));
        rows.extend(self.program_lines().into_iter().map(|line| ("program", line)));
        rows.extend(
            self.services()
                .map(|(program, service)| ("requests", self.requests_line(program, service))),
        );
        rows.extend(self.change_lines().into_iter().map(|line| ("change", line)));
        rows.extend(self.warnings().into_iter().map(|line| ("warning", line)));
        rows.into_iter().map(|(label, line)| format!("{label:<9} {line}\n")).collect()
    }

    /// What may make its results say less than they seem to.
    pub fn warnings(&self) -> Vec<String> {
        let deep = self.too_deep().map(|group| {
            format!(
                "group `{}` lies deeper than the {POLICY_LEVELS} levels that the project's policies see: they refuse it",
                group.name
            )
        });
        let of = |(program, service)| self.service_warnings(program, service);
        deep.into_iter().chain(self.services().flat_map(of)).collect()
    }

    /// Requests of a service that one seed measures on average, the warm-up left out.
    pub fn expected_requests(&self, service: &Service) -> f64 {
        service.rate_per_s(self.machine.cpus) * self.duration.as_secs_f64()
    }

    fn services(&self) -> impl Iterator<Item = (&Program, &Service)> {
        self.programs.iter().filter_map(|program| match &program.kind {
            Kind::Service(service) => Some((program, service)),
            _ => None,
        })
    }

    /// Requests over all seeds of which 1 in 1,000 lies beyond the p99.9.
    fn beyond_p99_9(&self, service: &Service) -> f64 {
        self.expected_requests(service) * self.seeds.len() as f64 / 1_000.0
    }

    fn service_warnings(&self, program: &Program, service: &Service) -> Vec<String> {
        let mut warnings = Vec::new();
        let name = &program.name;
        let wanted = service.utilisation(self.machine.cpus);
        if wanted >= 1.0 {
            warnings.push(format!(
                "`{name}` wants {:.0}% of the machine: its backlog grows as long as it runs",
                wanted * 100.0
            ));
        }
        let beyond = self.beyond_p99_9(service);
        if beyond < SAMPLES_BEYOND {
            let enough = (self.duration.as_secs_f64() * SAMPLES_BEYOND / beyond).ceil();
            let remedy = if enough <= LONGEST.as_secs_f64() {
                format!("a duration of {enough:.0}s, or more seeds")
            } else {
                "its rate is too low for any duration, as 24h are the longest: raise it, or take more seeds"
                    .to_string()
            };
            warnings.push(format!(
                "the p99.9 of `{name}` rests on {beyond:.1} requests, 20 are needed: {remedy}"
            ));
        }
        warnings
    }

    fn machine_line(&self) -> String {
        let machine = self.machine;
        let parts = [
            (machine.smt, format!("{} a core", machine.smt)),
            (machine.llcs, format!("{} last-level caches", machine.llcs)),
            (machine.nodes, format!("{} NUMA nodes", machine.nodes)),
        ];
        let cpus = format!("{} CPU{}", machine.cpus, if machine.cpus == 1 { "" } else { "s" });
        let told = parts.into_iter().filter(|(count, _)| *count > 1).map(|(_, text)| text);
        std::iter::once(cpus).chain(told).collect::<Vec<_>>().join(", ")
    }

    fn time_line(&self) -> String {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let slice = self.slice.map_or(String::new(), |slice| format!("; slice {slice}"));
        format!(
            "{} after a warm-up of {}; seeds {}; outliers above {}{slice}",
            self.duration,
            self.warm_up,
            seeds.join(", "),
            self.outlier_threshold
        )
    }

    fn group_lines(&self) -> Vec<String> {
        let width = self.groups.iter().map(|group| group.name.len()).max().unwrap_or(0);
        let line = |group: &Group| {
            let cpus = mechanisms::of_cpuset(group);
            let max = group.max.map_or(String::new(), |max| format!("  max {max}"));
            let promise = group.promise.map_or(String::new(), |own| format!("  promise {own}"));
            let weight =
                if group.idle { "idle".into() } else { format!("weight {}", group.weight) };
            format!("{:<width$}  {weight}{max}{promise}{cpus}", group.name)
        };
        self.groups.iter().map(line).collect()
    }

    fn program_lines(&self) -> Vec<String> {
        let width = self.programs.iter().map(|program| program.name.len()).max().unwrap_or(0);
        let line = |program: &Program| {
            let group = program.group.map(|group| format!("; group {}", self.groups[group].name));
            let nice = (program.nice != 0).then(|| format!("; nice {}", program.nice));
            let host = program.process.map(|host| &self.programs[host].name);
            let process = host.map(|host| format!("; in the process of {host}"));
            let before = program.behind.map(|before| &self.programs[before].name);
            let behind = before.map(|before| format!("; behind {before}"));
            let word = program.kind.word();
            let what = self.what(&program.kind);
            let tail = [process, behind, group, nice].into_iter().flatten().collect::<String>();
            format!("{:<width$}  {word}: {what}{tail}", program.name)
        };
        self.programs.iter().map(line).collect()
    }

    fn what(&self, kind: &Kind) -> String {
        match kind {
            Kind::Service(service) => service_line(service, self.machine.cpus),
            Kind::Batch { threads } => format!("{}, spinning", thread_count(*threads)),
            Kind::Daemon { threads, run, sleep } => {
                format!("{}, run {run}, sleep {sleep}", thread_count(*threads))
            }
            Kind::Periodic { threads, run, period } => {
                format!("{}, run {run}, all woken every {period}", thread_count(*threads))
            }
            Kind::Replay { sleeps, runs } => {
                let sum = |spans: &[Nanos]| Nanos(spans.iter().map(|span| span.0).sum());
                let (run, all) = (sum(runs), sum(runs) + sum(sleeps));
                format!("{} runs as recorded, {run} in {all}", runs.len())
            }
            Kind::Command { command } => format!("again and again `{}`", command.join(" ")),
            Kind::ForkJoin { threads, work, wait } => {
                let yields = if *wait == Wait::Yield { ", waiting by sched_yield" } else { "" };
                format!("{}, {work} each a round{yields}", thread_count(*threads))
            }
        }
    }

    fn requests_line(&self, program: &Program, service: &Service) -> String {
        let requests = self.expected_requests(service);
        let seeds = self.seeds.len();
        format!(
            "{}: about {requests:.0} a seed, {:.0} over {seeds} seed{}; its p99.9 rests on {:.0} of them",
            program.name,
            requests * seeds as f64,
            if seeds == 1 { "" } else { "s" },
            self.beyond_p99_9(service)
        )
    }
}

fn thread_count(threads: u32) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

fn service_line(service: &Service, cpus: u32) -> String {
    let threads = match service.architecture {
        Architecture::ThreadPerConnection => "a thread each".to_string(),
        Architecture::SharedQueue { workers } => format!("{workers} workers on one queue"),
        Architecture::Partitioned { workers } => format!("parted among {workers} workers"),
    };
    format!(
        "{} connections, {threads}; {} {}; {} arrivals at {:.1}/s, {:.1}% of the machine",
        service.connections,
        service.service_time,
        service.service_law,
        service.arrival_law,
        service.rate_per_s(cpus),
        service.utilisation(cpus) * 100.0
    )
}
