//! What the generator's own delays may have added to a measurement, and what shared its CPUs.

use serde::{Deserialize, Serialize};

use crate::document::{Document, Estimate, Latency, PolicyResult};
use crate::human;

/// The generator did not keep its schedule. What was measured is then the most that the server can have
/// taken, and this the least.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The latencies without all that the generator's delays can have added.
    pub at_least_ns: Latency,
    /// By how much the latest request was late.
    pub late_by_ns: u64,
    /// In which ways the generator did not keep its schedule.
    pub faults: Vec<String>,
}

/// The use of CPUs by others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedCpus {
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// The share of their time that others had, interrupts and the host among them.
    pub others_share: f64,
    /// Interrupts and softirqs.
    pub interrupts_share: f64,
    /// The host's, where this machine is a guest.
    pub host_share: f64,
    /// Programs that were seen there and their shares, the greatest first.
    pub programs: Vec<(String, f64)>,
    /// What is left: processes that ended before they were seen again.
    #[serde(default)]
    pub ended_share: f64,
}

/// Below this share nothing is named.
const WORTH_A_WORD: f64 = 0.01;
/// So many programs are named.
const NAMED: usize = 3;

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

impl Document {
    /// `others had 12% of the CPUs under cfs (rustc 9%, interrupts 2%), 3% under eevdf`; `None`: hardly any
    /// under all of them, or unknown.
    pub(crate) fn others(&self) -> Option<String> {
        let shares: Vec<(&PolicyResult, f64)> = (self.shown().into_iter())
            .filter_map(|result| Some((result, result.others_share?)))
            .collect();
        shares.iter().any(|(_, share)| *share >= WORTH_A_WORD).then(|| {
            let each = shares.iter().enumerate().map(|(nth, (result, share))| {
                let of = if nth == 0 { " of the CPUs" } else { "" };
                let named = result.others.as_ref().map_or(String::new(), SharedCpus::named);
                format!("{}{of} under {}{named}", percent(*share), result.policy)
            });
            let each: Vec<String> = each.collect();
            let all = if each.iter().any(|one| one.ends_with(')')) {
                ""
            } else {
                " (interrupts, other processes, the host)"
            };
            format!("others had {}{all}", each.join(", "))
        })
    }
}

impl SharedCpus {
    /// With what is left of the others' share when all that is known is taken off.
    #[must_use]
    pub fn with_ended(self) -> SharedCpus {
        let programs: f64 = self.programs.iter().map(|(_, share)| share).sum();
        let named = programs + self.interrupts_share + self.host_share;
        SharedCpus { ended_share: (self.others_share - named).max(0.0), ..self }
    }

    /// ` (rustc 20%, interrupts 3%)`; empty: none had much.
    fn named(&self) -> String {
        let programs = self.programs.iter().take(NAMED).map(|(name, share)| (&name[..], *share));
        let rest = [
            ("interrupts", self.interrupts_share),
            ("the host", self.host_share),
            ("processes that ended meanwhile", self.ended_share),
        ];
        let named = programs.chain(rest).filter(|(_, share)| *share >= WORTH_A_WORD);
        let named: Vec<String> =
            named.map(|(name, share)| format!("{name} {}", percent(share))).collect();
        if named.is_empty() { named.concat() } else { format!(" ({})", named.join(", ")) }
    }

    /// `others had 31% of CPU 0 (rustc 20%, interrupts 3%)`; `None`: hardly any.
    pub(crate) fn words(&self) -> Option<String> {
        let (others, named) = (self.others_share, self.named());
        let cpus: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
        (others >= WORTH_A_WORD)
            .then(|| format!("others had {} of CPU {}{named}", percent(others), cpus.join(",")))
    }
}

impl Disturbance {
    /// `p99.9 between 4.1 ms and 6.9 ms: the generator was late by up to 2.8 ms`, both ends with what chance
    /// adds.
    pub(crate) fn sentence(&self, measured: &Latency, shared: Option<String>) -> String {
        let late = human::span(self.late_by_ns as f64);
        let shared = shared.map_or(String::new(), |words| format!("; {words}"));
        let (least, most) = (self.at_least_ns.p99_9, measured.p99_9);
        format!("p99.9 {}: the generator was late by up to {late}{shared}", between(least, most))
    }
}

fn between(least: Estimate, most: Estimate) -> String {
    let low = least.low.or(least.value).map_or("0".to_string(), human::span);
    match most.high {
        Some(high) => format!("between {low} and {}", human::span(high)),
        None => format!("at least {low}, and too few requests to bound it from above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_delay_and_chance() {
        let latency = |value, low, high| Latency {
            p99_9: Estimate::new(value, low, high),
            ..Latency::default()
        };
        let disturbed = Disturbance {
            at_least_ns: latency(4.5e6, 4.1e6, 5e6),
            late_by_ns: 2_800_000,
            ..Disturbance::default()
        };
        let shared = SharedCpus {
            cpus: vec![0],
            others_share: 0.31,
            host_share: 0.004,
            programs: vec![("rustc".into(), 0.2), ("sh".into(), 0.001)],
            ..SharedCpus::default()
        };
        let sentence = |high| disturbed.sentence(&latency(6e6, 5e6, high), shared.words());
        assert_eq!(
            sentence(6.9e6),
            "p99.9 between 4.10 ms and 6.90 ms: the generator was late by up to 2.80 ms; \
             others had 31% of CPU 0 (rustc 20%)"
        );
        assert!(sentence(f64::INFINITY).starts_with("p99.9 at least 4.10 ms, and too few"));
        assert_eq!(SharedCpus::default().words(), None);
    }
}
