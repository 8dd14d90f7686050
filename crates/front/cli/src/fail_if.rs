//! `--fail-if`: a bound on a figure, for scripts.

use std::path::Path;
use std::str::FromStr;

use model::scenario::Kind;
use model::{Failure, Scenario, units};
use report::document::{Estimate, ProgramResult};

/// A figure must not lie beyond this.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Figure and limit, as they were given.
    text: String,
    /// Whose; `None`: every policy's.
    policy: Option<String>,
    figure: usize,
    limit: f64,
}

const FIGURES: [&str; 8] = ["mean", "p50", "p90", "p99", "p99.9", "outliers", "lost", "complaints"];
/// From here on figures are shares of the requests.
const OUTLIERS: usize = 5;
const LOST: usize = 6;
const COMPLAINTS: usize = 7;
/// The kind of a program that has requests.
const SERVICE: &str = "service";

impl FromStr for Bound {
    type Err = Failure;

    /// Reads `p99.9>5ms`, `outliers>0.1%`, or one of them behind a policy: `rearguard p99.9>5ms`.
    fn from_str(text: &str) -> Result<Bound, Failure> {
        let wrong = |what: &str| {
            let figures = FIGURES.join(", ");
            let expected =
                "expected FIGURE>LIMIT such as p99.9>5ms or outliers>0.1%, or POLICY FIGURE>LIMIT";
            Failure::Input(format!(
                "`{}`: {what}{expected}; figures are {figures}",
                text.escape_debug()
            ))
        };
        let (figure, limit) = text.split_once('>').ok_or_else(|| wrong(""))?;
        let (policy, figure) = match figure.trim().rsplit_once(' ') {
            Some((policy, figure)) => (Some(policy.trim().to_string()), figure),
            None => (None, figure.trim()),
        };
        let text = format!("{figure}>{}", limit.trim());
        let known = FIGURES.iter().position(|known| *known == figure);
        let figure = known.ok_or_else(|| wrong("no such figure; "))?;
        let limit = if figure >= OUTLIERS {
            let percent: Option<f64> =
                limit.trim().strip_suffix('%').and_then(|number| number.parse().ok());
            let percent = percent.filter(|percent| (0.0..100.0).contains(percent));
            percent.ok_or_else(|| wrong("no percentage; "))? / 100.0
        } else {
            units::duration(limit).map_err(|why| wrong(&format!("{why}; ")))?.0 as f64
        };
        Ok(Bound { text, policy, figure, limit })
    }
}

/// What a bound comes to.
#[derive(Debug, PartialEq)]
enum Found {
    /// The whole interval lies beyond.
    Beyond,
    /// So many requests are lost that no number bounds the figure.
    Lost,
    /// The interval holds the bound, or has no known end on that side.
    CannotTell,
    /// The whole interval lies within.
    Within,
}

impl Bound {
    /// `None`: the program has no such figure.
    fn found(&self, program: &ProgramResult, complaints: Option<u64>) -> Option<Found> {
        let share = |count: u64| {
            let share = (program.requests > 0).then(|| count as f64 / program.requests as f64)?;
            Some(self.hold(&Estimate::new(share, share, share)))
        };
        match self.figure {
            OUTLIERS => return Some(self.hold(&program.outlier?.proportion)),
            LOST => return share(program.lost),
            COMPLAINTS => return share(complaints?),
            _ => {}
        }
        let latency = program.latency_ns?;
        let all = [latency.mean, latency.p50, latency.p90, latency.p99, latency.p99_9];
        let estimate = all[self.figure];
        Some(if program.is_never(&estimate) { Found::Lost } else { self.hold(&estimate) })
    }

    fn hold(&self, estimate: &Estimate) -> Found {
        match (estimate.low, estimate.high) {
            (Some(low), _) if low > self.limit => Found::Beyond,
            (_, Some(high)) if high <= self.limit => Found::Within,
            _ => Found::CannotTell,
        }
    }
}

/// [`Failure::Input`] for a bound of a policy that does not run, before anything runs.
pub fn check_policies(bounds: &[Bound], policies: &[String]) -> Result<(), Failure> {
    let is_unknown =
        |bound: &&Bound| bound.policy.as_ref().is_some_and(|own| !policies.contains(own));
    bounds.iter().find(is_unknown).map_or(Ok(()), |bound| {
        let policy = bound.policy.as_deref().unwrap_or_default();
        Err(Failure::Input(format!("--fail-if {policy} {}: no such policy runs", bound.text)))
    })
}

/// [`Failure::Input`] where nothing in a scenario has a figure that is bound, before anything runs.
pub fn check_services(bounds: &[Bound], file: &Path, scenario: &Scenario) -> Result<(), Failure> {
    if let Some(bound) = bounds.iter().find(|bound| bound.figure == COMPLAINTS) {
        return Err(Failure::Input(format!(
            "--fail-if {}: a scenario's services answer nothing wrong; `rearguard measure` counts complaints",
            bound.text
        )));
    }
    let is_service = |kind: &Kind| matches!(kind, Kind::Service(_));
    let has_service = scenario.programs.iter().any(|program| is_service(&program.kind));
    let Some(bound) = bounds.first().filter(|_| !has_service) else { return Ok(()) };
    Err(Failure::Input(format!(
        "{}: --fail-if {}: no service, so no requests to look at: expected a [[program]] of kind = \"service\"",
        file.display(),
        bound.text
    )))
}

/// [`Failure::Run`] where a service, each with its policy, surely lies beyond a bound; what cannot be told
/// passes, and is said. Complaints are counted where a real server answers.
pub fn check(
    bounds: &[Bound],
    all: &[(&str, &ProgramResult)],
    complaints: Option<u64>,
) -> Result<(), Failure> {
    let mut beyond = Vec::new();
    for bound in bounds {
        let its = |policy: &str| bound.policy.as_deref().is_none_or(|own| own == policy);
        for (policy, program) in all.iter().filter(|(policy, _)| its(policy)) {
            let who = format!("{policy} {}", program.name);
            let (text, who) = (&bound.text, who.trim());
            let Some(found) = bound.found(program, complaints) else {
                if program.kind == SERVICE {
                    say_untold(who, text, ": it had no requests in the measured time");
                }
                continue;
            };
            match found {
                Found::Beyond => beyond.push(format!("{who} surely has {text} (--fail-if)")),
                Found::Lost => beyond.push(format!(
                    "{who} surely has {text}, as {} of {} requests are lost (--fail-if)",
                    program.lost, program.requests
                )),
                Found::CannotTell => say_untold(who, text, ""),
                Found::Within => {}
            }
        }
    }
    if beyond.is_empty() { Ok(()) } else { Err(Failure::Run(beyond.join("\n"))) }
}

fn say_untold(who: &str, text: &str, why: &str) {
    anstream::eprintln!(
        "rearguard: cannot tell whether {who} has {text}{why}, so --fail-if passes"
    );
}

#[cfg(test)]
mod tests {
    use report::document::{Latency, Outlier};

    use super::*;

    fn bound(text: &str) -> Bound {
        text.parse().unwrap_or_else(|failure| panic!("{failure}"))
    }

    fn service(low: f64, high: f64) -> ProgramResult {
        let p99_9 = Estimate::new(f64::midpoint(low, high), low, high);
        let proportion = Estimate::new(0.002, 0.001, 0.003);
        ProgramResult {
            name: "web".into(),
            latency_ns: Some(Latency { p99_9, ..Latency::default() }),
            outlier: Some(Outlier { proportion, ..Outlier::default() }),
            ..ProgramResult::default()
        }
    }

    #[test]
    fn only_what_surely_lies_beyond_fails() {
        let code = |text: &str, low, high| {
            check(&[bound(text)], &[("cts", &service(low, high))], None)
                .map_err(|failure| failure.exit_code())
        };
        assert_eq!(code("p99.9>5ms", 5.1e6, 6e6), Err(1));
        assert_eq!(code("p99.9>5ms", 4.9e6, 6e6), Ok(()));
        assert_eq!(code("p99.9>5ms", 4e6, 4.9e6), Ok(()));
        // Lost requests have no end above, and surely lie beyond.
        assert_eq!(code("p99.9>5ms", 5.1e6, f64::INFINITY), Err(1));
        assert_eq!(code("outliers>0.05%", 0.0, 1.0), Err(1));
        assert_eq!(code("outliers>0.2%", 0.0, 1.0), Ok(()));
        assert_eq!(code("cts p99.9>5ms", 5.1e6, 6e6), Err(1));
        assert_eq!(code("cfs p99.9>5ms", 5.1e6, 6e6), Ok(()));
        let known = |text: &str| check_policies(&[bound(text)], &["cts".to_string()]).is_ok();
        assert!(known("p99.9>5ms") && known("cts p99.9>5ms") && !known("cfs p99.9>5ms"));
    }

    #[test]
    fn a_bound_that_no_service_can_break_is_refused() {
        let checked = |kind: &str, text: &str| {
            let bound = bound(text);
            let text = format!(
                "# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"web\"\n{kind}\n"
            );
            let scenario = Scenario::read(&text, "a.toml").expect("a scenario");
            check_services(&[bound], Path::new("a.toml"), &scenario)
        };
        let refused = checked("kind = \"batch\"\nthreads = 1", "p99>1ms").unwrap_err();
        assert!(refused.exit_code() == 2 && refused.to_string().contains("p99>1ms: no service"));
        let service = "kind = \"service\"\nservice_time = \"1ms\"\narrivals.utilisation = 0.5";
        assert!(checked(service, "p99>1ms").is_ok() && checked(service, "lost>0%").is_ok());
        let refused = checked(service, "complaints>0%").unwrap_err();
        assert!(refused.exit_code() == 2 && refused.to_string().contains("rearguard measure"));
    }

    #[test]
    fn lost_requests_are_slower_than_any_limit() {
        let code = |lost, p99_9| {
            let mut one = service(5.1e6, 6e6);
            (one.requests, one.lost) = (600, lost);
            one.latency_ns = Some(Latency { p99_9, ..Latency::default() });
            check(&[bound("p99.9>5ms")], &[("", &one)], None).map_err(|failure| failure.to_string())
        };
        let infinite = f64::INFINITY;
        let lost = code(30, Estimate::new(infinite, infinite, infinite)).unwrap_err();
        assert!(lost.contains("as 30 of 600 requests are lost"), "{lost}");
        // Controls: few are lost, so that it may be finite; and nothing is known, with none lost.
        assert_eq!(code(1, Estimate::new(infinite, 4e6, infinite)), Ok(()));
        assert_eq!(code(0, Estimate::default()), Ok(()));
    }

    #[test]
    fn losses_and_complaints_are_shares_of_the_requests() {
        let fails = |text: &str, requests| {
            let one = ProgramResult { requests, lost: 12, ..service(5.1e6, 6e6) };
            check(&[bound(text)], &[("", &one)], Some(600)).is_err()
        };
        assert!(fails("lost>1%", 600) && fails("complaints>99%", 600));
        // Controls: a limit that is kept, and no request that could break one.
        assert!(!fails("lost>2%", 600) && !fails("complaints>50%", 1_200) && !fails("lost>1%", 0));
    }

    #[test]
    fn a_late_generator_lowers_what_is_sure() {
        let mut measured = report::Measured { service: service(5.1e6, 6e6), ..Default::default() };
        let failed = |measured: &report::Measured| {
            check(&[bound("p99.9>5ms")], &[("", &measured.at_least())], None).is_err()
        };
        assert!(failed(&measured), "the control");
        let p99_9 = Estimate::new(4.2e6, 4e6, 5e6);
        let at_least_ns = Latency { p99_9, ..Latency::default() };
        measured.disturbance = Some(report::Disturbance { at_least_ns, ..Default::default() });
        assert!(!failed(&measured));
    }

    #[test]
    fn a_wrong_bound_names_the_right_ones() {
        for wrong in
            ["p99.9", "p99.9<5ms", "p98>5ms", "p99>5", "outliers>5ms", "outliers>200%", "lost>3"]
        {
            let said = wrong.parse::<Bound>().unwrap_err();
            assert_eq!(said.exit_code(), 2);
            assert!(said.to_string().contains("such as p99.9>5ms"), "{said}");
        }
    }
}
