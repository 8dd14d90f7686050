//! How many copies of a sub-request are sent, when, and what becomes of those that are not needed any more: a
//! rule a file.

mod reissue;
mod replicate;
mod tied;

use std::fmt;
use std::str::FromStr;

use model::{Failure, Nanos};

use crate::words::{Words, refused};

/// Copies of one sub-request at most.
pub const MOST_COPIES: u32 = 8;

/// When and how copies are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Redundancy {
    /// One copy.
    None,
    /// So many at once; the first answer counts.
    Replicate {
        /// 2 to [`MOST_COPIES`].
        copies: u32,
        /// What the first answer cancels.
        cancel: Cancel,
    },
    /// Another copy where no answer has come for a while, again and again up to so many.
    Reissue {
        /// How long to wait.
        wait: Wait,
        /// 2 to [`MOST_COPIES`].
        copies: u32,
        /// What the first answer cancels.
        cancel: Cancel,
    },
    /// So many copies that know of each other: the first to be served cancels the others.
    Tied {
        /// 2 to [`MOST_COPIES`].
        copies: u32,
        /// Between one and the next; `None`: two network delays.
        apart: Option<Nanos>,
    },
}

/// What becomes of copies that are not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// Those in queues are dropped; one that is served is served to its end.
    Queued,
    /// Those that are served are aborted too.
    Running,
    /// All are served.
    Nothing,
}

/// How long a reissue waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// As long as this share of all sub-requests takes at most, as measured so far.
    Quantile(f64),
    /// So long.
    Delay(Nanos),
}

const FORMS: &str = "none, replicate:copies=K, reissue:quantile=Q or reissue:after=TIME (with :copies=K), \
    tied:copies=K:apart=TIME; replicate and reissue take :cancel=queued, running or nothing";
const CANCELS: [(&str, Cancel); 3] =
    [("queued", Cancel::Queued), ("running", Cancel::Running), ("nothing", Cancel::Nothing)];

impl FromStr for Redundancy {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Redundancy, Failure> {
        let mut words = Words::read("redundancy", text, FORMS)?;
        if !["none", "replicate", "reissue", "tied"].contains(&words.name()) {
            return Err(refused("redundancy", text, FORMS));
        }
        if words.name() == "none" {
            return words.done(Redundancy::None);
        }
        let copies = words.count("copies", 2, 2..=MOST_COPIES)?;
        if words.name() == "tied" {
            let apart = words.duration("apart")?;
            return words.done(Redundancy::Tied { copies, apart });
        }
        let cancel = CANCELS[words.word("cancel", &CANCELS.map(|(word, _)| word))?].1;
        if words.name() == "replicate" {
            return words.done(Redundancy::Replicate { copies, cancel });
        }
        let wait = match (words.share("quantile")?, words.duration("after")?) {
            (Some(quantile), None) => Wait::Quantile(quantile),
            (None, Some(delay)) => Wait::Delay(delay),
            _ => return Err(refused("redundancy", text, FORMS)),
        };
        words.done(Redundancy::Reissue { wait, copies, cancel })
    }
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let cancelling = |cancel: &Cancel| match cancel {
            Cancel::Queued => String::new(),
            Cancel::Running => ":cancel=running".to_string(),
            Cancel::Nothing => ":cancel=nothing".to_string(),
        };
        let text = match self {
            Redundancy::None => "none".to_string(),
            Redundancy::Replicate { copies, cancel } => {
                format!("replicate:copies={copies}{}", cancelling(cancel))
            }
            Redundancy::Reissue { wait, copies, cancel } => {
                let wait = match wait {
                    Wait::Quantile(quantile) => format!("quantile={quantile}"),
                    Wait::Delay(delay) => format!("after={}", exact(*delay)),
                };
                let copies = if *copies == 2 { String::new() } else { format!(":copies={copies}") };
                format!("reissue:{wait}{copies}{}", cancelling(cancel))
            }
            Redundancy::Tied { copies, apart } => {
                let apart = apart.map_or(String::new(), |apart| format!(":apart={}", exact(apart)));
                format!("tied:copies={copies}{apart}")
            }
        };
        f.pad(&text)
    }
}

/// A duration as it is written: whole, in the largest unit that allows it.
fn exact(span: Nanos) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let whole = units.into_iter().find(|(_, ns)| span.0 >= *ns && span.0.is_multiple_of(*ns));
    let (unit, ns) = whole.unwrap_or(("ns", 1));
    format!("{}{unit}", span.0 / ns)
}

/// A rule at work.
pub(crate) trait Rule {
    /// Copies that are sent at once.
    fn at_once(&self) -> u32 {
        1
    }

    /// How long after the last copy, the `sent`th, to send another; `None`: not at all.
    fn another_after(&mut self, _sent: u32) -> Option<u64> {
        None
    }

    /// Whether the first copy to be served cancels the others.
    fn start_cancels(&self) -> bool {
        false
    }

    /// What the first answer cancels.
    fn answer_cancels(&self) -> Cancel {
        Cancel::Nothing
    }

    /// A sub-request was answered after so many nanoseconds.
    fn learn(&mut self, _latency_ns: u64) {}
}

/// One copy and no more: the control of every other rule.
struct Once;

impl Rule for Once {}

impl Redundancy {
    /// Copies of one sub-request at most.
    pub fn copies(&self) -> u32 {
        match self {
            Redundancy::None => 1,
            Redundancy::Replicate { copies, .. }
            | Redundancy::Reissue { copies, .. }
            | Redundancy::Tied { copies, .. } => *copies,
        }
    }

    /// Copies of a sub-request that are served to their end at least, where so many are sent.
    ///
    /// Those that wait may all be cancelled but for one. Where others are aborted the shortest is left, which
    /// may be next to nothing.
    pub(crate) fn served_at_least(&self, sent: f64) -> f64 {
        match self {
            Redundancy::Replicate { cancel: Cancel::Nothing, copies } => f64::from(*copies),
            Redundancy::Reissue { cancel: Cancel::Nothing, .. } => sent,
            Redundancy::Replicate { cancel: Cancel::Running, .. }
            | Redundancy::Reissue { cancel: Cancel::Running, .. } => 0.0,
            _ => 1.0,
        }
    }

    /// The rule, where a message takes `network_ns` one way.
    pub(crate) fn rule(&self, network_ns: u64) -> Box<dyn Rule> {
        match *self {
            Redundancy::None => Box::new(Once),
            Redundancy::Replicate { copies, cancel } => {
                Box::new(replicate::Replicate { copies, cancel })
            }
            Redundancy::Reissue { wait, copies, cancel } => {
                Box::new(reissue::Reissue::new(wait, copies, cancel))
            }
            Redundancy::Tied { copies, apart } => Box::new(tied::Tied {
                copies,
                apart_ns: apart.map_or(2 * network_ns, |apart| apart.0),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_print_as_they_are_read() {
        for text in [
            "none",
            "replicate:copies=3:cancel=running",
            "reissue:quantile=0.95",
            "tied:copies=2:apart=1us",
            "reissue:after=1500us:copies=3",
        ] {
            assert_eq!(text.parse::<Redundancy>().expect("a rule").to_string(), text);
        }
    }

    #[test]
    fn an_invalid_rule_is_refused_with_the_valid_ones() {
        for text in [
            "",
            "hedge",
            "replicate:copies=1",
            "replicate:copies=9",
            "reissue",
            "reissue:quantile=1",
            "reissue:quantile=0.9:after=1ms",
            "tied:cancel=queued",
            "none:copies=2",
            "reissue:after=5",
        ] {
            let failure = text.parse::<Redundancy>().expect_err(text);
            assert!(failure.to_string().contains("expected"), "{text}: {failure}");
        }
    }
}
