//! What is proved, and how many runs fit the time.

use model::{Failure, Nanos, Scenario};
use report::document::{Estimate, Latency};
use report::proof::ProofRow;

/// Pairs of threads of the rows of switches.
pub const PAIRS: [u32; 4] = [1, 4, 32, 1_000];
/// Runs that show how much runs differ, at least.
pub const LEAST_RUNS: u64 = 3;
/// More would tell little more, and all are kept in memory.
pub const MOST_RUNS: u64 = 100;
/// The least part of a window, in percent, before a row is left out.
const LEAST_PERCENT: u64 = 25;
/// Of the time: switches get an eighth, and an eighth is kept for what takes longer than planned.
const SWITCHES: u64 = 8;
const RESERVE: u64 = 8;
/// What a run takes beside warm-up and window: programs start and end, a scheduler comes and goes.
const AROUND: Nanos = Nanos::from_millis(700);

/// A row of tails.
pub struct Row {
    /// What it shows, in words.
    pub what: &'static str,
    /// The scenario's file, and its text.
    pub file: &'static str,
    text: &'static str,
    /// The quantile that the row is about.
    pub tail: Tail,
    window: Nanos,
}

/// A quantile with requests enough beyond it.
#[derive(Clone, Copy)]
pub enum Tail {
    /// All but one in a hundred are faster.
    P99,
    /// All but one in a thousand are.
    P99_9,
}

macro_rules! row {
    ($name:literal, $tail:ident, $seconds:literal, $what:literal) => {
        Row {
            what: $what,
            file: concat!("scenarios/", $name, ".toml"),
            text: include_str!(concat!("../../../../../scenarios/", $name, ".toml")),
            tail: Tail::$tail,
            window: Nanos::from_secs($seconds),
        }
    };
}

/// The rows of README.md, for as long as docs/evidence/kernel.md measures each.
pub const ROWS: [Row; 6] = [
    row!("null-rpc", P99_9, 5, "one CPU, a service at 80%, alone"),
    row!("service-and-batch", P99_9, 8, "one CPU, a service at 40% beside four spinning threads"),
    row!(
        "greedy-service",
        P99_9,
        5,
        "one CPU, a service that wants 80% of it beside one spinning thread"
    ),
    row!("long-service", P99, 10, "one CPU, services of 8 ms at 80%"),
    row!("four-cpus", P99_9, 4, "four CPUs at 80%"),
    row!("four-cpus-and-batch", P99_9, 5, "four CPUs, 60% beside eight spinning threads"),
];

impl Tail {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Tail::P99 => "p99",
            Tail::P99_9 => "p99.9",
        }
    }

    /// The metric of its verdicts.
    pub fn metric(self) -> &'static str {
        match self {
            Tail::P99 => "latency_ns.p99",
            Tail::P99_9 => "latency_ns.p99_9",
        }
    }

    /// Its figure.
    pub fn of(self, latency: &Latency) -> Estimate {
        match self {
            Tail::P99 => latency.p99,
            Tail::P99_9 => latency.p99_9,
        }
    }
}

impl Row {
    /// The scenario with so much of its window, in percent.
    pub fn scenario(&self, percent: u64) -> Result<Scenario, Failure> {
        let duration = Nanos(self.window.0 * percent / 100);
        Ok(Scenario { duration, ..Scenario::read(self.text, self.file)? })
    }

    /// Whether a measured row has less than the window.
    pub fn is_shorter(&self, found: &ProofRow) -> bool {
        found.lacks.is_none() && found.window_ns < self.window.0
    }
}

/// How much longer rows take than was planned.
#[derive(Default)]
pub struct Pace {
    planned: Nanos,
    taken: Nanos,
}

impl Pace {
    /// One more row.
    pub fn add(&mut self, planned: Nanos, taken: Nanos) {
        self.planned += planned;
        self.taken += taken;
    }

    /// What was taken, in percent of what was planned.
    pub fn percent(&self) -> u64 {
        self.taken.0.saturating_mul(100).checked_div(self.planned.0).unwrap_or(100)
    }
}

/// So many runs of each scheduler, with so much of each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Runs of each.
    pub runs: u64,
    /// Of the window.
    pub percent: u64,
}

/// How the time is used.
pub struct Budget {
    /// All of it.
    pub time: Nanos,
    /// Schedulers that run, the default class twice.
    pub contenders: u64,
}

impl Budget {
    /// The part of switches.
    pub fn of_switches(&self) -> Nanos {
        Nanos(self.time.0 / SWITCHES)
    }

    /// What is kept for what takes longer than planned.
    pub fn reserve(&self) -> Nanos {
        Nanos(self.time.0 / RESERVE)
    }

    /// As many runs of these scenarios as fit the time that is left, where runs take so many percent of what
    /// was planned. Too little for whole windows makes them shorter; `None`: too little for anything.
    pub fn fit(&self, scenarios: &[Scenario], left: Nanos, pace_percent: u64) -> Option<Fit> {
        let paced = |time: Nanos| time.0 * self.contenders * pace_percent / 100;
        let windows: u64 = scenarios.iter().map(|one| paced(one.duration)).sum();
        let around: u64 = scenarios.iter().map(|one| paced(one.warm_up + AROUND)).sum();
        let runs = left.0 / (windows + around).max(1);
        if runs >= LEAST_RUNS {
            return Some(Fit { runs: runs.min(MOST_RUNS), percent: 100 });
        }
        let percent = (left.0 / LEAST_RUNS).saturating_sub(around) * 100 / windows.max(1);
        (percent >= LEAST_PERCENT).then_some(Fit { runs: LEAST_RUNS, percent })
    }

    /// What a row with these runs takes as planned.
    pub fn cost(&self, scenario: &Scenario, fit: Fit) -> Nanos {
        let run = Nanos(scenario.duration.0 * fit.percent / 100) + scenario.warm_up + AROUND;
        Nanos(run.0 * self.contenders * fit.runs)
    }

    /// [`Budget::fit`] before anything has run; [`Failure::Input`] names the time that would do.
    pub fn first_fit(&self, scenarios: &[Scenario]) -> Result<Fit, Failure> {
        let fits = |budget: &Budget| {
            let kept = budget.of_switches() + budget.reserve();
            self.fit(scenarios, budget.time - kept, 100)
        };
        let minutes = |minutes: u64| Budget { time: Nanos::from_secs(60 * minutes), ..*self };
        fits(self).ok_or_else(|| {
            let least = (1..).find(|n| fits(&minutes(*n)).is_some()).unwrap_or_default();
            Failure::Input(format!(
                "--for {}: too short for {} rows under {} schedulers: expected {least}m or more",
                self.time,
                scenarios.len(),
                self.contenders - 1
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenarios() -> Vec<Scenario> {
        ROWS.iter().map(|row| row.scenario(100).expect("shipped")).collect()
    }

    fn budget(seconds: u64) -> Budget {
        Budget { time: Nanos::from_secs(seconds), contenders: 3 }
    }

    #[test]
    fn a_quarter_of_an_hour_holds_enough_runs_and_less_time_holds_fewer() {
        let whole = budget(900).first_fit(&scenarios()).expect("time enough");
        assert!(whole.runs > LEAST_RUNS && whole.percent == 100, "{whole:?}");
        let short = budget(360).first_fit(&scenarios()).expect("time enough");
        assert!(short.runs == LEAST_RUNS && short.percent < 100, "{short:?}");
        let refused = budget(60).first_fit(&scenarios()).expect_err("a minute");
        let said = refused.to_string();
        let least = said.rsplit_once("expected ").expect("a remedy").1.split('m').next();
        let least: u64 = least.and_then(|n| n.parse().ok()).expect("minutes");
        budget(60 * least).first_fit(&scenarios()).expect("the remedy is one");
        budget(60 * (least - 1)).first_fit(&scenarios()).expect_err("control: no less");
    }

    #[test]
    fn what_fits_costs_no_more_than_there_is() {
        for seconds in [200, 400, 700, 3_000] {
            let (budget, left) = (budget(900), Nanos::from_secs(seconds));
            let Some(fit) = budget.fit(&scenarios(), left, 100) else { panic!("{seconds}") };
            let cost: u64 = scenarios().iter().map(|one| budget.cost(one, fit).0).sum();
            assert!(cost <= left.0, "{fit:?} in {seconds} s");
            let more = Fit { runs: fit.runs + 1, ..fit };
            let cost: u64 = scenarios().iter().map(|one| budget.cost(one, more).0).sum();
            assert!(cost > left.0, "control: {more:?} in {seconds} s");
        }
    }

    #[test]
    fn a_machine_at_half_the_pace_gets_half_the_runs() {
        let (budget, left) = (budget(900), Nanos::from_secs(1_500));
        let runs = |pace| budget.fit(&scenarios(), left, pace).expect("time").runs;
        assert_eq!(runs(100) / 2, runs(200));
        assert_eq!(budget.fit(&scenarios(), left, 2_000), None);
        assert!(budget.fit(&scenarios()[..1], left, 2_000).is_some(), "one row fits");
    }
}
