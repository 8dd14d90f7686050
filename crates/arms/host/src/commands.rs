//! The runs of a command as a trace has them: requests of one client that sends the next when it has the
//! response.

use model::Nanos;
use model::scenario::Scenario;
use model::trace::{Counters, Request};

use crate::role::order::CommandRun;

/// A request for each run. Moments count from `begin`.
pub fn requests(runs: &[CommandRun], begin: Nanos) -> Vec<Request> {
    let request = |run: &CommandRun| {
        let [began, ended] = [run.began, run.ended].map(|at| at.saturating_sub(begin));
        Request::at_once(began, ended, run.cpu)
    };
    runs.iter().map(request).collect()
}

/// CPU time of a command's processes up to a moment. What they have used is known when they have ended, so it
/// is spread evenly over a run.
pub fn used(runs: &[Request], at: Nanos) -> Nanos {
    let of_run = |run: &Request| {
        let (whole, past) =
            (run.completed.saturating_sub(run.started), at.saturating_sub(run.started));
        let part = u128::from(run.service.0) * u128::from(past.min(whole).0);
        (part / u128::from(whole.0.max(1))) as u64
    };
    Nanos(runs.iter().map(of_run).sum())
}

/// What the threads of a run did: unknown beside a command, whose threads come and go unseen.
pub fn counters(scenario: &Scenario, seen: Counters) -> Counters {
    match scenario.of_kernels_alone() {
        Some(_command) => Counters { switches: None, migrations: None, ..seen },
        None => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_threads_of_a_command_did_is_not_told() {
        let seen = Counters { switches: Some(25), migrations: Some(6), pulls: Some(1), idle: None };
        let of = |program: &str| {
            let head =
                "# A test.\nduration = \"1s\"\n[machine]\ncpus = 1\n[[program]]\nname = \"a\"";
            let text = format!("{head}\n{program}\n");
            counters(&Scenario::read(&text, "a.toml").expect("a scenario"), seen)
        };
        assert_eq!(of("kind = \"batch\""), seen);
        let told = Counters { switches: None, migrations: None, ..seen };
        assert_eq!(of("kind = \"command\"\ncommand = [\"true\"]"), told);
    }

    #[test]
    fn what_a_run_used_is_spread_over_it() {
        let ms = Nanos::from_millis;
        let run =
            |began, ended, cpu| CommandRun { began: ms(began), ended: ms(ended), cpu: ms(cpu) };
        let all = requests(&[run(110, 120, 40), run(130, 150, 10)], ms(100));
        assert_eq!((all[0].intended, all[0].latency()), (ms(10), ms(10)));
        for (at, expected) in [(0, 0), (10, 0), (15, 20), (20, 40), (29, 40), (40, 45), (90, 50)] {
            assert_eq!(used(&all, ms(at)), ms(expected), "at {at} ms");
        }
    }
}
