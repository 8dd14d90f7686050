//! The document of `rearguard capacity`: the greatest load that each policy carries at an objective.

use serde::{Deserialize, Serialize};

use crate::document::{Answer, Estimate, Latency, Machine};
use crate::grid::{Block, Cell, Grid, Room, Tone};
use crate::human;
use crate::paper::{Series, SeriesChart};

/// The `schema` of a [`CapacityRun`].
pub const CAPACITY_SCHEMA: &str = "rearguard.capacity/1";

/// What policies carry at an objective, beside the ideal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapacityRun {
    /// [`CAPACITY_SCHEMA`].
    pub schema: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario shows, in its author's words.
    pub shows: String,
    /// The scenario file as it was read.
    pub scenario_text: String,
    /// `sim`, `host` or `vm`.
    pub arm: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// What ran it.
    pub machine: Machine,
    /// The service whose load was scaled.
    pub service: String,
    /// Its mean service time.
    pub service_time_ns: u64,
    /// The load of which it takes all CPUs that it may use.
    pub saturation_per_s: f64,
    /// A request slower than this is an outlier.
    pub threshold_ns: u64,
    /// Outliers over requests, at most.
    pub proportion: f64,
    /// The seeds, the same at every load and under every policy.
    pub seeds: Vec<u64>,
    /// How long a run was measured.
    pub duration_ns: u64,
    /// A first come, first served queue with the arrivals and service times of the first policy's runs.
    pub ideal: Carried,
    /// The policies, in the order of the command line.
    pub policies: Vec<Carried>,
    /// Every policy held against the first.
    pub verdicts: Vec<CapacityVerdict>,
}

/// What one policy carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The policy as given on the command line; `ideal`.
    pub policy: String,
    /// The kernel that ran or was modelled.
    pub kernel: Option<String>,
    /// The greatest load within the objective: from the greatest that surely meets it to the least that
    /// surely fails. No value: no load is within. No low: none surely meets it. No high: none surely fails.
    pub rate_per_s: Estimate,
    /// The same in CPUs: requests a second by the mean service time.
    pub cpus: Estimate,
    /// The rate over the ideal's.
    pub of_ideal: Estimate,
    /// Where a greater load surely meets the objective again: the least load that surely fails.
    pub fails_at_per_s: Option<f64>,
    /// That greater load.
    pub meets_again_at_per_s: Option<f64>,
    /// The loads that were run, rising.
    pub points: Vec<LoadPoint>,
}

/// What a load came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Requests a second.
    pub rate_per_s: f64,
    /// Seeds that ran: one where that shows the load to be far beyond the objective.
    pub seeds: u64,
    /// Requests in the measured windows.
    pub requests: u64,
    /// Of these never answered.
    pub lost: u64,
    /// Outliers over requests.
    pub proportion: Estimate,
    /// The latencies.
    pub latency_ns: Option<Latency>,
    /// `meets`, `fails` or `cannot tell`.
    pub answer: String,
}

/// Whether policy `a` carries more than policy `b`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityVerdict {
    /// A policy.
    pub a: String,
    /// The first policy.
    pub b: String,
    /// Whether `a` carries more: `better`.
    pub answer: Answer,
    /// What `a` carries over what `b` does.
    pub ratio: Estimate,
}

impl CapacityRun {
    /// The question in a few words.
    pub(crate) fn title(&self) -> String {
        format!(
            "{}, {}: the load of {} with {}",
            self.scenario,
            self.arm,
            self.service,
            self.objective()
        )
    }

    fn objective(&self) -> String {
        let percent = human::percent(&Estimate::exact(self.proportion)).0;
        format!(
            "at most {percent} of requests slower than {}",
            human::round_span(self.threshold_ns)
        )
    }

    /// The answers, a sentence a policy, then what the first policy's users gain by others.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let carried = self.policies.iter().map(|one| self.sentence(one));
        let gained = self.verdicts.iter().map(|verdict| self.gain(verdict));
        carried.chain(gained).collect()
    }

    fn sentence(&self, one: &Carried) -> String {
        let Carried { policy, rate_per_s, .. } = one;
        let Some(_) = rate_per_s.value else { return self.nothing(one) };
        let (rate, interval) = human::rate(rate_per_s);
        let cpus = human::number(one.cpus.value);
        let ideal = human::rate(&self.ideal.rate_per_s).0;
        let of_ideal = human::percent(&one.of_ideal).0;
        let known = format!(
            "{policy} carries {rate} {interval}, {cpus} CPUs of work: {of_ideal} of the ideal's {ideal}."
        );
        let unsure = match rate_per_s.low {
            Some(_) => String::new(),
            None => format!(" That it carries as much is not sure: {}.", Self::REMEDY),
        };
        let open = if rate_per_s.high.is_none() { Self::OPEN } else { "" };
        known + &unsure + open
    }

    const REMEDY: &'static str = "more --seeds or a longer --duration would tell";
    const OPEN: &'static str =
        " No load up to saturation surely fails: a longer --duration would tell.";

    fn nothing(&self, one: &Carried) -> String {
        let least = one.points.first().map_or(0.0, |point| point.rate_per_s);
        let least = human::rate(&Estimate::exact(least)).0;
        let sure = one.points.first().is_some_and(|point| point.answer == "fails");
        let policy = &one.policy;
        if sure {
            return format!("{policy} carries nothing: even at {least} it fails.");
        }
        format!(
            "{policy} carries nothing, as it seems: at {least} the objective is missed; {}.",
            Self::REMEDY
        )
    }

    fn gain(&self, verdict: &CapacityVerdict) -> String {
        let CapacityVerdict { a, b, answer, ratio } = verdict;
        let (shown, interval) = human::ratio(ratio);
        let more = ratio.value.filter(|value| *value >= 1.0);
        let percent = |ratio: f64| human::percent(&Estimate::exact((ratio - 1.0).abs())).0;
        match (answer, more.or(ratio.value)) {
            (Answer::CannotTell, _) => {
                format!(
                    "Whether this machine carries more with {a} than with {b} cannot be told ({shown} {interval}): {}.",
                    Self::REMEDY
                )
            }
            (Answer::Better, Some(ratio)) => {
                format!(
                    "With {a} this machine carries {} more than with {b} ({shown} {interval}).",
                    percent(ratio)
                )
            }
            (Answer::Worse, Some(ratio)) => {
                format!(
                    "With {a} this machine carries {} less than with {b} ({shown} {interval}).",
                    percent(ratio)
                )
            }
            (Answer::Better, None) => format!("This machine carries more with {a} than with {b}."),
            (Answer::Worse, None) => format!("This machine carries less with {a} than with {b}."),
        }
    }

    /// The table: the ideal, then the policies.
    pub(crate) fn block(&self) -> Block {
        let titles = ["policy", "carries", "CPUs of work", "of the ideal", "loads tried"];
        let mut grid = Grid::new(titles.map(String::from)).claiming(Room::First, &["carries"]);
        grid.rows = std::iter::once(&self.ideal).chain(&self.policies).map(row).collect();
        let remarks = [
            "[low, high]: the greatest load that surely meets the objective, the least that surely fails.",
            "CPUs of work: requests a second by their mean service time. The ideal has the machine to itself.",
        ];
        let reversals = self.policies.iter().filter_map(reversal);
        let remarks = remarks.map(|words| Cell::plain(words).tone(Tone::Faint));
        let notes =
            reversals.map(|words| Cell::plain(words).tone(Tone::Bad)).chain(remarks).collect();
        Block { heading: self.title(), grid, notes }
    }

    /// Over the load: the proportion of slow requests, and the p99.9.
    pub(crate) fn charts(&self) -> [SeriesChart; 2] {
        let slow = format!("proportion slower than {}", human::round_span(self.threshold_ns));
        let proportion = |point: &LoadPoint| point.proportion.value;
        let p99_9 = |point: &LoadPoint| Some(point.latency_ns?.p99_9.value? / 1e6);
        [self.chart(&slow, proportion), self.chart("p99.9, ms", p99_9)]
    }

    fn chart(&self, y: &str, of: impl Fn(&LoadPoint) -> Option<f64>) -> SeriesChart {
        let series = |one: &Carried| Series {
            name: one.policy.clone(),
            points: one
                .points
                .iter()
                .filter_map(|point| Some((point.rate_per_s, of(point)?)))
                .collect(),
        };
        let all = std::iter::once(&self.ideal).chain(&self.policies).map(series);
        SeriesChart {
            x: "requests a second".to_string(),
            y: y.to_string(),
            log_x: false,
            log_y: true,
            series: all.filter(|series| !series.points.is_empty()).collect(),
        }
    }
}

fn row(one: &Carried) -> Vec<Cell> {
    vec![
        Cell::plain(&one.policy),
        Cell::estimate(human::rate(&one.rate_per_s)),
        Cell::estimate(human::number_within(&one.cpus)),
        Cell::estimate(human::percent(&one.of_ideal)),
        Cell::plain(one.points.len().to_string()),
    ]
}

fn reversal(one: &Carried) -> Option<String> {
    let rate = |at: Option<f64>| Some(human::rate(&Estimate::exact(at?)).0);
    let (fails, meets) = (rate(one.fails_at_per_s)?, rate(one.meets_again_at_per_s)?);
    Some(format!(
        "{}: fails at {fails}, yet meets the objective again at {meets}. What it carries is the load up to which \
         it never failed.",
        one.policy
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(policy: &str, rate: Estimate, of_ideal: Estimate) -> Carried {
        let points =
            vec![LoadPoint { rate_per_s: 2.0, answer: "fails".into(), ..LoadPoint::default() }];
        let cpus = Estimate::exact(0.65);
        Carried {
            policy: policy.into(),
            rate_per_s: rate,
            cpus,
            of_ideal,
            points,
            ..Carried::default()
        }
    }

    fn verdict(a: &str, answer: Answer, ratio: Estimate) -> CapacityVerdict {
        CapacityVerdict { a: a.into(), b: "eevdf".into(), answer, ratio }
    }

    #[test]
    fn answers_are_sentences_and_what_is_unsure_says_so() {
        let none = Estimate { high: Some(2.0), ..Estimate::default() };
        let open = Estimate { value: Some(900.0), low: None, high: Some(1_000.0) };
        let run = CapacityRun {
            ideal: carried("ideal", Estimate::new(1_304.0, 1_245.0, 1_354.0), Estimate::default()),
            policies: vec![
                carried("cfs", Estimate::new(1_297.4, 1_232.0, 1_343.0), Estimate::exact(0.995)),
                carried("eevdf", none, Estimate::default()),
                carried("rr", open, Estimate::exact(0.69)),
                carried("fifo", Estimate::new(900.0, 800.0, f64::INFINITY), Estimate::exact(0.69)),
            ],
            verdicts: vec![
                verdict("cfs", Answer::Worse, Estimate::new(0.68, 0.61, 0.77)),
                verdict("rr", Answer::CannotTell, Estimate::new(1.2, 0.9, 1.4)),
                verdict("fifo", Answer::Better, none),
            ],
            ..CapacityRun::default()
        };
        let unsure = "more --seeds or a longer --duration would tell.";
        let expected = [
            "cfs carries 1297/s [1232, 1343], 0.65 CPUs of work: 99.5% of the ideal's 1304/s."
                .to_string(),
            "eevdf carries nothing: even at 2.00/s it fails.".to_string(),
            format!(
                "rr carries 900/s [0, 1000], 0.65 CPUs of work: 69.0% of the ideal's 1304/s. That it carries as much is not sure: {unsure}"
            ),
            "fifo carries 900/s [800, inf], 0.65 CPUs of work: 69.0% of the ideal's 1304/s. No load up to saturation surely fails: a longer --duration would tell."
                .to_string(),
            "With cfs this machine carries 32.0% less than with eevdf (0.68x [0.61, 0.77])."
                .to_string(),
            format!(
                "Whether this machine carries more with rr than with eevdf cannot be told (1.20x [0.90, 1.40]): {unsure}"
            ),
            "This machine carries more with fifo than with eevdf.".to_string(),
        ];
        assert_eq!(run.sentences(), expected);
        assert!(!run.block().notes.iter().any(|note| note.text.contains("again")));
    }

    #[test]
    fn a_tail_that_falls_again_is_said() {
        let run = CapacityRun {
            policies: vec![Carried {
                policy: "cfs".into(),
                fails_at_per_s: Some(800.0),
                meets_again_at_per_s: Some(900.0),
                ..Carried::default()
            }],
            ..CapacityRun::default()
        };
        assert!(
            run.block().notes[0]
                .text
                .starts_with("cfs: fails at 800/s, yet meets the objective again at 900/s.")
        );
    }
}
