//! How a verdict, a culprit and a remedy are said.

use super::{Culprit, Finding, LongRequests, Verdict};
use crate::human;

impl Verdict {
    /// Why it cannot tell, of `their` time or `its`.
    pub fn lack(&self, whose: &str) -> String {
        let share = human::share(Some(self.share));
        match self.class.as_str() {
            class if self.share < 0.5 => {
                format!("no cause has most of {whose} time, {class} has {share}")
            }
            "unknown" => format!("no event accounts for {share} of {whose} time"),
            class => format!("{class} has {share} of {whose} time, but too few requests were seen"),
        }
    }

    /// The greatest culprit, with what it belongs to.
    pub fn culprit_words(&self) -> Option<String> {
        Some(within(self.culprit.as_ref()?, self.owner.as_deref()))
    }
}

impl LongRequests {
    pub(super) fn words(&self) -> String {
        let share = human::share(Some(self.share));
        let (longest, service) = (self.longest, human::span(self.longest_ns as f64));
        match self.requests {
            1 => format!(
                "; {share} of that time is request {longest}, of {service} service time, and the wait behind it"
            ),
            several => format!(
                "; {share} of that time is {several} requests of up to {service} service time (request {longest}), and the wait behind them"
            ),
        }
    }
}

impl Culprit {
    /// Its name with its unit, container or pod, or else with its group.
    pub fn place(&self) -> String {
        within(&self.name, self.owner.as_deref().or(self.group.as_deref()))
    }

    pub(super) fn words(&self) -> String {
        format!("{} ({})", self.place(), human::share(Some(self.share)))
    }
}

/// A name, and where it is if that is known.
pub fn within(name: &str, owner: Option<&str>) -> String {
    owner.map_or(name.to_string(), |owner| format!("{name} in {owner}"))
}

impl Finding {
    /// What happens, what helps, what that costs.
    pub(crate) fn advice(&self) -> String {
        format!(
            "{}: {}. Helps: {}. Costs: {}. ({})",
            plain(&self.source),
            self.what,
            self.mitigation,
            self.trade_off,
            self.from
        )
    }
}

/// A source's name as people read it.
pub fn plain(source: &str) -> String {
    source.replace('_', " ")
}

/// The words behind a latency, where there is an ideal.
pub(crate) fn beside_ideal(ideal: Option<String>) -> String {
    ideal.map_or(String::new(), |ideal| format!(" where the ideal is {ideal}"))
}

/// A span that may be below zero.
pub(super) fn signed(ns: f64) -> String {
    if ns.round() < 0.0 { format!("-{}", human::span(-ns)) } else { human::span(ns) }
}
