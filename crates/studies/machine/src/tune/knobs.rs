//! One knob a file: what it is, how it stands, whether this machine has it, and how it is turned.
//!
//! Sources, effects and trade-offs follow Table 1 of "Tales of the Tail".

mod dedicated_cpus;
mod fifo;
mod governor;
mod idle_latency;
mod irq_affinity;
mod numa;
mod packet_steering;
mod real_time;

use model::{Failure, did_you_mean};

use super::scope::Scope;
use crate::cpus::Cpus;
use crate::place::Place;
use crate::platform::Platform;
use crate::target::{ABSENT, Child, PRESENT, Target};
use crate::transaction::Transaction;

/// A knob that was read, or what is wrong with its value.
pub type Parsed = Result<Box<dyn Knob>, String>;

/// A kind of knob.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What its value is, for people; empty: it takes none.
    pub value: &'static str,
    /// The source of tail latency that it is against, in Table 1's words.
    pub source: &'static str,
    /// What it should do to the tail.
    pub effect: &'static str,
    /// What it costs.
    pub trade_off: &'static str,
    /// Where that is from.
    pub reference: &'static str,
    /// Whether it is turned for one service.
    pub needs_service: bool,
    /// Reads what stands after `=`; `None`: nothing does. Then the usual value, or what to write if none is.
    pub parse: fn(Option<&str>) -> Parsed,
    /// How it stands.
    pub state: fn(&dyn Platform) -> State,
}

/// How a knob stands on a machine.
pub struct State {
    /// Its position, for people.
    pub present: String,
    /// Whether it can be turned here; else the remedy.
    pub can: Result<(), String>,
    /// What its user should know first.
    pub note: Option<String>,
}

/// A knob with a value.
pub trait Knob {
    /// Its kind.
    fn kind(&self) -> &'static Kind;
    /// Says whether the value fits this machine, and changes nothing.
    fn check(&self, _on: &dyn Platform) -> Result<(), Failure> {
        Ok(())
    }
    /// Where it wants the service to be. Several knobs together make one place.
    fn place(&self, _on: &dyn Platform, _place: &mut Option<Place>) -> Result<(), Failure> {
        Ok(())
    }
    /// Turns it. The service is there for a kind that needs one.
    fn turn(
        &self,
        _on: &dyn Platform,
        _changes: &mut Transaction,
        _service: Option<&Scope>,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

/// All kinds, in the order of Table 1.
pub const KNOBS: [&Kind; 8] = [
    &real_time::KIND,
    &dedicated_cpus::KIND,
    &fifo::KIND,
    &irq_affinity::KIND,
    &packet_steering::KIND,
    &numa::KIND,
    &idle_latency::KIND,
    &governor::KIND,
];

/// A source of tail latency that no knob of the machine is against.
pub struct Advice {
    /// The source, in Table 1's words.
    pub source: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// What it costs.
    pub trade_off: &'static str,
    /// Where that is from.
    pub reference: &'static str,
}

/// The row of Table 1 that is the service's own to mend.
pub const ADVICE: Advice = Advice {
    source: "concurrency architecture",
    remedy: "no knob of the machine: let every worker serve every request (UDP, a thread per connection, or more and shorter connections)",
    trade_off: "UDP has neither reliability nor congestion control; a thread per connection may cost throughput",
    reference: "Tales section 4.3, Table 1",
};

/// Reads `KNOB` or `KNOB=VALUE`.
pub fn parse(text: &str) -> Result<Box<dyn Knob>, Failure> {
    let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
    let names: Vec<&str> = KNOBS.iter().map(|kind| kind.name).collect();
    let kind = KNOBS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, &names);
        Failure::Input(format!("no knob `{name}`{hint}: there are {}", names.join(", ")))
    })?;
    (kind.parse)(value).map_err(|what| Failure::Input(format!("{name}: {what}")))
}

fn cpus_from(value: Option<&str>) -> Result<Cpus, String> {
    Cpus::from_user(value.ok_or("expected CPUs, such as 2-3 or 0,4-7")?)
}

/// Whether there are as many as a knob takes; else the remedy.
fn enough(there: usize, least: usize, remedy: &str) -> Result<(), String> {
    if there < least { Err(remedy.to_string()) } else { Ok(()) }
}

/// A process of ours that stays until the undo.
fn stay(
    changes: &mut Transaction,
    word: &str,
    args: Vec<String>,
    about: String,
) -> Result<(), Failure> {
    // A token that can be guessed could be another process's, which would then be taken for ours.
    let random = changes.journal.on.read("/proc/sys/kernel/random/uuid");
    let random = random
        .map_err(|error| Failure::Machine(format!("/proc/sys/kernel/random/uuid: {error}")))?;
    let token = format!("{}-{word}-{}", random.trim(), changes.number());
    changes.set(&Target::Child(Child { token, args, about }), PRESENT).map(|_| ())
}

/// Whether CPUs are there.
fn check_online(on: &dyn Platform, cpus: &Cpus) -> Result<(), Failure> {
    crate::place::check_cpus(on, cpus, &Cpus::default(), crate::place::Partition::Member)
}

/// How many have which value: `0 (1), 0-3 (2)`; [`ABSENT`] where there are none.
fn census(values: impl Iterator<Item = String>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0) += 1);
    let shown: Vec<String> = counts.iter().map(|(value, n)| format!("{value} ({n})")).collect();
    if shown.is_empty() { ABSENT.into() } else { shown.join(", ") }
}
