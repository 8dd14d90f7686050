//! From a file's text to a scenario.

use std::collections::BTreeSet;
use std::path::Path;

use toml::de::DeTable;

use super::alteration::{Known, alterations};
use super::groups::groups;
use super::machine::{MOST_CPUS, machine};
use super::problem::Problems;
use super::program::programs;
use super::syntax;
use super::table::Table;
use super::value::{name, span, span_within, whole};
use super::{Kind, Scenario};
use crate::{Failure, Nanos};

pub(super) const KEYS: [&str; 10] = [
    "name",
    "duration",
    "warm_up",
    "seeds",
    "outlier_threshold",
    "slice",
    "machine",
    "group",
    "program",
    "change",
];

/// The longest run: a day.
pub(super) const LONGEST: Nanos = Nanos::from_secs(86_400);
/// The range of a thread's own slice in the kernel (sched_setattr since Linux 6.12).
const SLICES: (Nanos, Nanos) = (Nanos::from_micros(100), Nanos::from_millis(100));
/// Requests of all programs in one run, so that a slip in a unit ends in a message and not in swapping.
const MOST_REQUESTS: f64 = 1e8;
/// Seeds of one scenario: as many as `--seeds` asks for at most.
const MOST_SEEDS: usize = 65_535;

impl Scenario {
    /// Reads a scenario from the text of a TOML file. `file` is the name for messages, and its stem the
    /// scenario's name unless the text gives one. `docs/reference/scenarios.md` lists every key.
    ///
    /// [`Failure::Input`] with every problem of the text, each as `file:line:column: what was found; what was
    /// expected`, its line and a caret. Where the text is no TOML, with the first such place alone.
    pub fn read(text: &str, file: &str) -> Result<Scenario, Failure> {
        let problems = Problems::default();
        let scenario = match DeTable::parse(text) {
            Ok(document) => {
                scenario(text, file, &Table::document("scenario", document.get_ref(), &problems))
            }
            Err(error) => {
                let place = error.span().unwrap_or(0..0);
                let hint = syntax::hint(text, place.start).unwrap_or_default();
                problems.add(place, format!("{}{hint}", error.message()));
                None
            }
        };
        match scenario {
            Some(scenario) if problems.is_empty() => Ok(scenario),
            _ => Err(problems.into_failure(text, file)),
        }
    }
}

/// `None` only where a problem was reported.
fn scenario(text: &str, file: &str, top: &Table) -> Option<Scenario> {
    top.expect_keys(&KEYS);
    let shows = shows(text, top);
    let name = top.optional("name", name).unwrap_or_else(|| stem(file));
    let duration = top.required("duration", span_within(Nanos(1), LONGEST));
    let warm_up = top.optional("warm_up", span_within(Nanos::ZERO, LONGEST));
    let seeds = seeds(top);
    let outlier_threshold = top.optional("outlier_threshold", span);
    let slice = top.optional("slice", span_within(SLICES.0, SLICES.1));
    let machine = top.table("machine").and_then(|table| machine(&table));
    let cpus = machine.as_ref().map_or(MOST_CPUS, |(machine, _)| machine.cpus);
    let (groups, group_names) = groups(top, cpus);
    let programs = programs(top, &group_names, cpus);
    let known = Known { groups: &groups, group_names: &group_names, programs: &programs, cpus };
    let alterations = alterations(top, &known);
    let (machine, mechanisms) = machine?;
    let scenario = Scenario {
        name,
        shows: shows?,
        machine,
        groups,
        programs: programs.list,
        duration: duration?,
        warm_up: warm_up.unwrap_or(Nanos::from_secs(1)),
        seeds: seeds?,
        outlier_threshold: outlier_threshold.unwrap_or(Nanos::from_millis(10)),
        slice,
        mechanisms,
        alterations,
    };
    check_requests(&scenario, top);
    Some(scenario)
}

/// The first paragraph of the comment at the top, as one line. `None` where there is none, which is then
/// reported.
pub fn shows(text: &str, top: &Table) -> Option<String> {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let comment = lines.skip_while(|line| line.is_empty()).map_while(|line| line.strip_prefix('#'));
    let paragraph = comment.map(str::trim).take_while(|line| !line.is_empty());
    let shows = paragraph.collect::<Vec<_>>().join(" ");
    if shows.is_empty() {
        top.problems.add(
            0..0,
            format!(
                "no comment at the top; expected a sentence or two on what the {} shows",
                top.word
            ),
        );
        return None;
    }
    // TOML has some control characters in comments, which a terminal obeys.
    Some(crate::printable(&shows))
}

/// What a file is called without its folder and its ending.
pub fn stem(file: &str) -> String {
    Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn seeds(top: &Table) -> Option<Vec<u64>> {
    if top.get("seeds").is_none() {
        return Some(vec![1, 2, 3]);
    }
    let (mut seeds, mut seen) = (Vec::new(), BTreeSet::new());
    for (seed, place) in top.list("seeds", "[1, 2, 3]", whole(0, i64::MAX))? {
        if !seen.insert(seed) {
            top.problems
                .add(place, format!("seeds: {seed} stands twice; expected different seeds"));
        }
        seeds.push(seed);
    }
    if seeds.len() > MOST_SEEDS {
        top.wrong("seeds", format!("found {}; expected at most {MOST_SEEDS}", seeds.len()));
    }
    Some(seeds)
}

fn check_requests(scenario: &Scenario, top: &Table) {
    let run = (scenario.warm_up + scenario.duration).as_secs_f64();
    let mut requests = 0.0;
    for program in &scenario.programs {
        let Kind::Service(service) = &program.kind else { continue };
        requests += service.rate_per_s(scenario.machine.cpus) * run;
        if requests > MOST_REQUESTS {
            let text = format!(
                "program `{}` and those before it would send {requests:.0} requests a run; expected at most {MOST_REQUESTS:.0}",
                program.name
            );
            top.wrong("duration", text);
            return;
        }
    }
}
