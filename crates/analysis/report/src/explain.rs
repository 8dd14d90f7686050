//! The document of `rearguard explain`: where the time of a service's slow requests went, the culprits, what
//! helps.
//!
//! `docs/guide/explain.md` describes every key.

use serde::{Deserialize, Serialize};

use crate::document::{Latency, Sources};
use crate::grid::{Block, Cell, Grid, Tone};
use crate::human;

mod words;
pub(crate) use words::beside_ideal;
use words::signed;
pub use words::{plain, within};

/// The `schema` of an [`Explained`].
pub const EXPLAIN_SCHEMA: &str = "rearguard.explain/1";

/// A trace explained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// [`EXPLAIN_SCHEMA`].
    pub schema: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The scenario's name, or what was traced.
    pub scenario: String,
    /// `sim`, `host` or `vm`.
    pub arm: String,
    /// What ran it, in one line.
    pub machine: String,
    /// The policy with its options.
    pub policy: String,
    /// The kernel that ran or was modelled.
    pub kernel: Option<String>,
    /// The seed of arrivals and service times.
    pub seed: u64,
    /// The part of requests that counts as slow.
    pub slow_proportion: f64,
    /// Every service with requests.
    pub services: Vec<ExplainedService>,
}

/// A service explained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainedService {
    /// Its name.
    pub name: String,
    /// The unit, container or pod that it belongs to, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Requests that were explained.
    pub requests: u64,
    /// Requests that never were answered.
    pub lost: u64,
    /// Requests that were answered, but no event says by which thread.
    pub unknown: u64,
    /// Their latency.
    pub latency_ns: Latency,
    /// The latency of the ideal queue with the same arrivals and services; `None`: it is left out, as all
    /// figures of it are.
    pub ideal_ns: Option<Latency>,
    /// Where the time of a request went, the mean of all.
    pub mean_ns: Split,
    /// How many requests are slow.
    pub slow_requests: u64,
    /// The same, the mean of the slow ones.
    pub slow_ns: Split,
    /// What made the slow requests slow, in a word.
    #[serde(default)]
    pub verdict: Verdict,
    /// The sources of the slow requests' excess, the greatest first.
    pub findings: Vec<Finding>,
    /// The slow requests, the slowest first.
    pub slow: Vec<SlowRequest>,
}

/// Where the time of a request went, nanoseconds; of several the mean. `latency` = `service` + all sources +
/// `other`; `latency` - `ideal` = all sources but `inherent` + `other` - `saved`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// From the intended moment to the response.
    pub latency: f64,
    /// What the ideal queue would have made of it; `None`: it is left out.
    pub ideal: Option<f64>,
    /// The service time.
    pub service: f64,
    /// The sources.
    #[serde(flatten)]
    pub sources: Sources,
    /// What no scheduler mends.
    #[serde(flatten)]
    pub kept: OffCpu,
    /// What no event accounts for.
    pub other: f64,
    /// What was waited less for siblings than in the ideal queue; `None`: that is left out.
    pub saved: Option<f64>,
}

/// What kept a service's own threads from a request, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OffCpu {
    /// Work on something else, or for far longer than a request takes.
    pub own_work: f64,
    /// A lock.
    pub lock: f64,
    /// Sleep.
    pub sleep: f64,
    /// Another socket.
    pub socket: f64,
    /// The client, or the network to it.
    pub client: f64,
    /// A disk.
    pub disk: f64,
    /// A page of memory.
    pub page_fault: f64,
    /// A signal, a debugger, the freezer.
    pub stopped: f64,
    /// The quota of its group.
    pub throttled: f64,
}

/// What made the slow requests slow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// `load`, `neighbours`, `own code`, `a server behind`, `limits`, `disk`, `stopped`, `scheduler`,
    /// `architecture`, `machine`, `client` or `unknown`.
    pub class: String,
    /// Its part of their latency.
    pub share: f64,
    /// `sure`, `likely` or `cannot tell`.
    pub confidence: String,
    /// In how many separate stretches of time they lie.
    pub events: u64,
    /// The class's greatest source.
    pub source: Option<String>,
    /// The greatest culprit of that.
    pub culprit: Option<String>,
    /// What the culprit belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Of `load`: the requests far longer than others that most of it is due to.
    #[serde(default)]
    pub long: Option<LongRequests>,
    /// What it has to do without, and what would help.
    #[serde(default)]
    pub note: Option<String>,
}

/// Requests whose service times are far longer than the others', and what waits behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LongRequests {
    /// How many they are.
    pub requests: u64,
    /// The number of the longest among the program's requests.
    pub longest: u64,
    /// The service time of that.
    pub longest_ns: u64,
    /// Their part of the slowest requests' latency, with the wait behind them.
    pub share: f64,
}

/// A source of excess.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its key in [`Split`].
    pub source: String,
    /// What happens.
    pub what: String,
    /// What it took of a slow request, the mean.
    pub slow_ns: f64,
    /// Its part of what all sources took of them.
    pub share: f64,
    /// The culprits, the greatest part first.
    pub culprits: Vec<Culprit>,
    /// The p99.9 as it was.
    pub p99_9_ns: f64,
    /// The p99.9 that the trace's requests would have without this source; `None`: unknown.
    pub p99_9_without_ns: Option<f64>,
    /// The p99.9 of the ideal queue; `None`: it is left out.
    pub p99_9_ideal_ns: Option<f64>,
    /// What helps.
    pub mitigation: String,
    /// What that costs.
    pub trade_off: String,
    /// Where it is from.
    pub from: String,
}

/// A culprit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// The name of a program, an interrupt, an idle state, or what else it is.
    pub name: String,
    /// The group (cgroup) of a program.
    pub group: Option<String>,
    /// What that group is to its operator: `unit nginx.service`, `container web of pod prod/shop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Its part of what the source took.
    pub share: f64,
}

/// A slow request and the holders of the CPUs meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// Its number among the program's requests.
    pub request: u64,
    /// The thread that served it.
    pub thread: String,
    /// When it should have been sent, from the start of the run.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When its thread began with it.
    pub started_ns: u64,
    /// When its thread was done with it.
    pub completed_ns: u64,
    /// When the client had the response.
    pub received_ns: u64,
    /// Where its time went.
    pub split_ns: Split,
    /// The greatest source; `None` without excess.
    pub source: Option<String>,
    /// The worst culprit of that.
    pub culprit: Option<String>,
    /// The holders of each CPU that it could have used.
    pub cpus: Vec<CpuSpans>,
}

/// A CPU while a request was under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSpans {
    /// Which.
    pub cpu: u32,
    /// The holders, in order, without gaps.
    pub spans: Vec<Span>,
}

/// A thread held a CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// From this moment.
    pub from_ns: u64,
    /// Until this.
    pub to_ns: u64,
    /// `own`, `first` (a sibling that came first), `later`, `background`, `interrupt`, `power`, `idle`,
    /// `offline`.
    pub kind: String,
    /// Thread, interrupt or idle state.
    pub name: String,
    /// The group of the thread's program.
    pub group: Option<String>,
    /// What that group is to its operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Split {
    /// The parts that sum to the latency, with the words for people, in the order of reports.
    pub(crate) fn parts(&self) -> [(&'static str, f64); 18] {
        let Sources { inherent, inversion, background, interrupt, idle_elsewhere, power, numa } =
            self.sources;
        [
            ("service", self.service),
            ("inherent queueing", inherent),
            ("FIFO inversion", inversion),
            ("background", background),
            ("interrupts", interrupt),
            ("idle elsewhere", idle_elsewhere),
            ("power saving", power),
            ("NUMA", numa),
            ("own work", self.kept.own_work),
            ("lock", self.kept.lock),
            ("sleep", self.kept.sleep),
            ("other sockets", self.kept.socket),
            ("client", self.kept.client),
            ("disk", self.kept.disk),
            ("page faults", self.kept.page_fault),
            ("stopped", self.kept.stopped),
            ("throttled", self.kept.throttled),
            ("other", self.other),
        ]
    }
}

/// Slow requests that a table lists.
const LISTED: usize = 5;

impl ExplainedService {
    /// What the tables say of it: its time by source, the findings, the slowest requests.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![self.division()];
        if !self.findings.is_empty() {
            blocks.push(self.found());
        }
        blocks.push(self.slowest());
        blocks
    }

    /// What made the slow requests slow, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Verdict { class, share, confidence, events, source, note, .. } = &self.verdict;
        let share = human::share(Some(*share));
        let culprit = match (source, self.verdict.culprit_words()) {
            (Some(source), Some(culprit)) => {
                format!(", most of it {}: {culprit}", plain(source))
            }
            _ => String::new(),
        };
        let once = match events {
            1 => "; all of them in one event".to_string(),
            _ => format!("; in {events} separate events"),
        };
        let what = match (class.as_str(), confidence.as_str()) {
            ("load", "sure") if note.is_none() => {
                format!("the load itself ({share} of the slowest requests' time is the ideal's)")
            }
            (_, "cannot tell") => {
                format!("cannot tell what made them slow: {}", self.verdict.lack("their"))
            }
            (_, "sure") => {
                format!("{class} ({share} of the slowest requests' time{culprit}{once})")
            }
            _ => format!("probably {class} ({share} of the slowest requests' time{culprit}{once})"),
        };
        let long = self.verdict.long.as_ref().map_or(String::new(), LongRequests::words);
        let note = note.as_ref().map_or(String::new(), |note| format!("; {note}"));
        format!("{}: {what}{long}{note}", within(&self.name, self.owner.as_deref()))
    }

    /// Whether a source is worth advice: it has a tenth of the slow requests' time, and without it the tail
    /// is known to be shorter.
    fn weighs(&self, finding: &Finding) -> bool {
        let shorter = |without: f64| without <= 0.9 * finding.p99_9_ns;
        let weighs = finding.slow_ns >= 0.1 * self.slow_ns.latency;
        weighs && finding.p99_9_without_ns.is_some_and(shorter)
    }

    fn division(&self) -> Block {
        let ideal = self.ideal_ns.map(|ideal| human::latency(&ideal.p99_9).0);
        let heading = format!(
            "service {}: {} requests, p99.9 {}{}",
            within(&self.name, self.owner.as_deref()),
            human::count(Some(self.requests)),
            human::latency(&self.latency_ns.p99_9).0,
            beside_ideal(ideal)
        );
        let slow = format!("slowest {}", human::count(Some(self.slow_requests)));
        let mut grid = Grid::new(["where the time went", &slow, "", "all", ""].map(String::from));
        let row = |name: &str, slow: f64, all: f64| {
            let share = |part: f64, whole: f64| human::share(Some(part / whole.max(1.0)));
            let of_slow = share(slow, self.slow_ns.latency);
            let of_all = share(all, self.mean_ns.latency);
            [name.to_string(), signed(slow), of_slow, signed(all), of_all].map(Cell::plain).to_vec()
        };
        for ((name, slow), (_, all)) in self.slow_ns.parts().into_iter().zip(self.mean_ns.parts()) {
            if slow != 0.0 || all != 0.0 {
                grid.rows.push(row(name, slow, all));
            }
        }
        grid.rows.push(row("latency", self.slow_ns.latency, self.mean_ns.latency));
        let ideals = self.slow_ns.ideal.zip(self.mean_ns.ideal);
        grid.rows.extend(ideals.map(|(slow, all)| row("ideal", slow, all)));
        Block { heading, grid, notes: self.caveats() }
    }

    fn caveats(&self) -> Vec<Cell> {
        let lost = (self.lost, "were never answered and are in no figure here");
        let unknown = (self.unknown, "were answered, but no event says by which thread");
        let some = [lost, unknown].into_iter().filter(|(count, _)| *count > 0);
        let note = |(count, words)| format!("{} requests {words}", human::count(Some(count)));
        some.map(note).map(|text| Cell::plain(text).tone(Tone::Bad)).collect()
    }

    fn found(&self) -> Block {
        let titles = ["source", "of the excess", "a slow request", "culprit", "p99.9 without it"];
        let mut grid = Grid::new(titles.map(String::from));
        let row = |finding: &Finding| {
            let culprits = finding.culprits.iter().take(2).map(Culprit::words);
            [
                plain(&finding.source),
                human::share(Some(finding.share)),
                human::span(finding.slow_ns),
                culprits.collect::<Vec<_>>().join(", "),
                finding.p99_9_without_ns.map_or("cannot tell".to_string(), human::span),
            ]
            .map(Cell::plain)
            .to_vec()
        };
        grid.rows = self.findings.iter().map(row).collect();
        let told = self.findings.iter().filter(|finding| self.weighs(finding));
        let notes = told.map(|finding| Cell::plain(finding.advice()).tone(Tone::Faint));
        let heading =
            format!("what made the slowest {} slow", human::count(Some(self.slow_requests)));
        Block { heading, grid, notes: notes.collect() }
    }

    fn slowest(&self) -> Block {
        let titles = ["request", "sent at", "latency", "ideal", "source", "culprit", "thread"];
        let mut grid = Grid::new(titles.map(String::from));
        let word = |word: &Option<String>| word.clone().unwrap_or(human::UNKNOWN.to_string());
        let row = |slow: &SlowRequest| {
            [
                slow.request.to_string(),
                human::span(slow.sent_ns as f64),
                human::span(slow.split_ns.latency),
                slow.split_ns.ideal.map_or(human::UNKNOWN.to_string(), human::span),
                plain(&word(&slow.source)),
                word(&slow.culprit),
                slow.thread.clone(),
            ]
            .map(Cell::plain)
            .to_vec()
        };
        grid.rows = self.slow.iter().take(LISTED).map(row).collect();
        Block { heading: "the slowest requests".to_string(), grid, notes: Vec::new() }
    }
}

impl Explained {
    /// What was explained, in one line.
    pub(crate) fn title(&self) -> String {
        format!("{} on {}, {}, seed {}", self.scenario, self.arm, self.policy, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_culprit_is_told_with_its_owner_and_without_one_with_its_group() {
        let name = || "hog[7]".to_string();
        let group = Some("kubepods/x".to_string());
        let owner = Some("container web of pod prod/shop".to_string());
        let words = |group: &Option<String>, owner: &Option<String>| {
            let (group, owner) = (group.clone(), owner.clone());
            Culprit { name: name(), group, owner, share: 1.0 }.place()
        };
        assert_eq!(words(&group, &owner), "hog[7] in container web of pod prod/shop");
        assert_eq!(words(&group, &None), "hog[7] in kubepods/x");
        assert_eq!(words(&None, &None), "hog[7]");
        let verdict = Verdict { culprit: Some(name()), owner, ..Verdict::default() };
        let told = "hog[7] in container web of pod prod/shop";
        assert_eq!(verdict.culprit_words().as_deref(), Some(told));
        let sentence = ExplainedService {
            name: "kv".into(),
            owner: Some("unit kv.service".into()),
            verdict,
            ..ExplainedService::default()
        }
        .sentence();
        assert!(sentence.starts_with("kv in unit kv.service: "), "{sentence}");
    }
}
