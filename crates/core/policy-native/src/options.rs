//! What a policy can be told: the three dimensions and their options, by the words of the command line.

use crate::domains::{MACHINE, ROWS, intervals, stride};
use model::{Failure, Nanos, PolicySpec, did_you_mean, scenario::Machine, units};

/// The choices of one policy instance: `struct rg_options` of `policy/state.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    slice_ns: u64,
    slack_ns: u64,
    bucket_ns: u64,
    interval_ns: [u64; ROWS],
    lead_ns: u64,
    sticky_ns: u64,
    pub(crate) cpus: u32,
    stride: u32,
    balance: u32,
    pick: u32,
    order: u32,
    scope: u32,
    requeue: u32,
    fair: u32,
    preempt: u32,
    patience: u32,
    infeasible: u32,
    edge: u32,
    direct: u32,
}

/// One tick at HZ=250, as Debian builds its kernels: a slice cannot end sooner. EEVDF's is of the same size (2.8 ms from
/// 8 CPUs on: `sysctl_sched_base_slice`, scaled).
pub(crate) const DEFAULT_SLICE: Nanos = Nanos::from_millis(4);

/// Below, ticks would end slices at random; above, waiting threads would seem to hang.
const SLICES: [Nanos; 2] = [Nanos::from_micros(100), Nanos::from_secs(1)];

/// The least brim of the bucket: above the longest request that shall keep its place.
const LEAST_BUCKET: Nanos = Nanos::from_millis(50);

/// What a thread of normal weight receives in a round of `dwrr` (GVTS section 5.1).
const ROUND: Nanos = Nanos::from_millis(30);

/// By how much CPU time a batch thread may go early to stay where it ran. At 4 ms threads move twice as often; at 12 ms a light thread
/// waits half as long again for its turn.
const STICKY: Nanos = Nanos::from_millis(10);

/// How far before the edge a token may be that was earned while nobody waited.
const LEAD: Nanos = Nanos::from_millis(10);

/// A choice: its key, its words in the order of C's numbers, and where it is kept.
struct Choice {
    key: &'static str,
    words: &'static [&'static str],
    field: fn(&mut Options) -> &mut u32,
}

const BALANCE_NONE: u32 = 1;
const BALANCE_GVTS: u32 = 2;
const BALANCE_DWRR: u32 = 3;
const BALANCE_CREDIT: u32 = 4;
const PICK_THREAD: u32 = 1;
const PICK_CREDIT: u32 = 2;
const PICK_ALL: u32 = 3;
const EDGE_QUEUE: u32 = 0;
const EDGE_MACHINE: u32 = 1;
const EDGE_TARGET: u32 = 2;
const EDGE_BY_BALANCE: u32 = u32::MAX;
const ORDER_VTIME: u32 = 2;
const FAIR_PROCESS: u32 = 1;

/// `queue` follows the levels of `platform.h`, of which a core's and a node's are not offered: nothing is gained over the cache's.
const CHOICES: [Choice; 11] = [
    Choice {
        key: "balance",
        words: &["steal", "none", "gvts", "dwrr", "credit"],
        field: |o| &mut o.balance,
    },
    Choice { key: "pick", words: &["process", "thread", "credit", "all"], field: |o| &mut o.pick },
    Choice { key: "order", words: &["fcfs", "lcfs", "vtime", "random"], field: |o| &mut o.order },
    Choice { key: "queue", words: &["cpu", "", "llc", "", "machine"], field: |o| &mut o.scope },
    Choice { key: "requeue", words: &["head", "tail"], field: |o| &mut o.requeue },
    Choice { key: "fair", words: &["thread", "process"], field: |o| &mut o.fair },
    Choice { key: "preempt", words: &["off", "on"], field: |o| &mut o.preempt },
    Choice { key: "edge", words: &["queue", "machine", "target"], field: |o| &mut o.edge },
    Choice { key: "patience", words: &["off", "on"], field: |o| &mut o.patience },
    Choice { key: "infeasible", words: &["off", "on"], field: |o| &mut o.infeasible },
    Choice { key: "direct", words: &["off", "on"], field: |o| &mut o.direct },
];

/// A policy by name: one line on it, and what it chooses where its options say nothing.
struct Named {
    name: &'static str,
    line: &'static str,
    chosen: &'static [(&'static str, &'static str)],
}

/// Options that are not choices.
const OTHER_KEYS: [&str; 6] = ["bucket", "interval", "lead", "slack", "slice", "sticky"];

const POLICIES: [Named; 9] = [
    Named {
        name: "rearguard",
        line: "first come, first served inside a process, fair between groups over the whole machine",
        chosen: &[("balance", "gvts"), ("sticky", "on"), ("lead", "on"), ("direct", "on")],
    },
    Named {
        name: "cts",
        line: "first come, first served inside a process, fair between processes (CTS)",
        chosen: &[],
    },
    Named {
        name: "lcfs",
        line: "as cts, but last come, first served inside a process",
        chosen: &[("order", "lcfs")],
    },
    Named {
        name: "random",
        line: "as cts, but in random order inside a process",
        chosen: &[("order", "random")],
    },
    Named {
        name: "vtime",
        line: "threads compete one by one for the least virtual time",
        chosen: &[("pick", "thread")],
    },
    Named {
        name: "global",
        line: "one queue for the machine, first come, first served, in slices of 20 ms",
        chosen: &[
            ("pick", "all"),
            ("queue", "machine"),
            ("requeue", "tail"),
            ("bucket", "off"),
            ("slice", "20ms"),
        ],
    },
    Named {
        name: "gvts",
        line: "virtual time global to the machine, held together by targets of its domains (GVTS)",
        chosen: &[("balance", "gvts"), ("pick", "thread"), ("queue", "cpu")],
    },
    Named {
        name: "dwrr",
        line: "rounds in which every thread receives its weight; groups are not seen (DWRR)",
        chosen: &[("balance", "dwrr"), ("pick", "thread"), ("queue", "cpu")],
    },
    Named {
        name: "credit",
        line: "credits given out every 30 ms by weight; groups are flat (Xen's credit scheduler)",
        chosen: &[
            ("balance", "credit"),
            ("pick", "credit"),
            ("queue", "cpu"),
            ("requeue", "tail"),
            ("slice", "30ms"),
        ],
    },
];

/// The policies behind the seam: name and one line.
pub fn policies() -> impl Iterator<Item = (&'static str, &'static str)> {
    POLICIES.iter().map(|named| (named.name, named.line))
}

impl Options {
    /// The options of a policy by name, on a machine; `slice` is what the scenario asks for.
    ///
    /// [`Failure::Input`] for an unknown policy, option or value.
    pub fn parse(
        spec: &PolicySpec,
        machine: &Machine,
        slice: Option<Nanos>,
    ) -> Result<Options, Failure> {
        let Some(named) = POLICIES.iter().find(|named| named.name == spec.name) else {
            let names: Vec<&str> = policies().map(|(name, _)| name).collect();
            return Err(unknown("policy", &spec.name, &names));
        };
        let mut options = Options::cts(machine, slice.unwrap_or(DEFAULT_SLICE));
        let given = spec.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let (mut bucket, mut slack) = (true, true);
        let mut interval = None;
        for (key, value) in named.chosen.iter().copied().chain(given) {
            match key {
                "slice" => options.slice_ns = slice_of(value)?,
                "interval" => interval = Some(interval_of(value)?),
                "bucket" => bucket = switch(key, value)?,
                "slack" => slack = switch(key, value)?,
                "sticky" => options.sticky_ns = if switch(key, value)? { STICKY.0 } else { 0 },
                "lead" => options.lead_ns = if switch(key, value)? { LEAD.0 } else { u64::MAX },
                _ => options.choose(key, value)?,
            }
        }
        if options.pick == PICK_THREAD {
            options.order = ORDER_VTIME;
        }
        match options.balance {
            BALANCE_GVTS => {
                options.interval_ns = intervals(machine, options.scope as usize, interval);
            }
            BALANCE_DWRR => options.interval_ns[MACHINE] = interval.unwrap_or(ROUND).0,
            _ => {}
        }
        if options.edge == EDGE_BY_BALANCE {
            options.edge = options.edge_of_balance();
        }
        options.refuse(spec)?;
        if options.edge == EDGE_TARGET {
            options.lead_ns = u64::MAX; // targets hold tokens together, and nobody looks for an edge
        }
        if options.needs_queue() {
            options.direct = 0;
        }
        options.derive(bucket, slack)
    }

    fn cts(machine: &Machine, slice: Nanos) -> Options {
        Options {
            slice_ns: slice.0,
            slack_ns: 0,
            bucket_ns: u64::MAX,
            interval_ns: [0; ROWS],
            lead_ns: u64::MAX,
            sticky_ns: 0,
            cpus: machine.cpus,
            stride: stride(machine.cpus),
            balance: 0,
            pick: 0,
            order: 0,
            scope: 2,
            requeue: 0,
            fair: 0,
            preempt: 1,
            patience: 1,
            infeasible: 1,
            edge: EDGE_BY_BALANCE,
            direct: 0,
        }
    }

    /// Tokens that no balance holds together belong to their queue; GVTS's own placement is by target.
    fn edge_of_balance(&self) -> u32 {
        match (self.balance, self.pick) {
            (BALANCE_GVTS, PICK_THREAD) | (BALANCE_DWRR, _) => EDGE_TARGET,
            (BALANCE_GVTS, _) => EDGE_MACHINE,
            _ => EDGE_QUEUE,
        }
    }

    /// Whether threads have no tokens of their own by which one could pass by the queue.
    fn needs_queue(&self) -> bool {
        self.fair == FAIR_PROCESS || self.pick == PICK_CREDIT
    }

    /// Choices that mean nothing together.
    fn refuse(&self, spec: &PolicySpec) -> Result<(), Failure> {
        let given = |key: &str| spec.options.get(key).map(String::as_str);
        let credited = [BALANCE_NONE, BALANCE_CREDIT].contains(&self.balance);
        let targeted = [BALANCE_GVTS, BALANCE_DWRR].contains(&self.balance);
        let meaningless = [
            (
                self.pick == PICK_THREAD && given("order").is_some_and(|order| order != "vtime"),
                "order has no meaning with pick=thread, which leaves no threads to order",
            ),
            (
                [PICK_CREDIT, PICK_ALL].contains(&self.pick) && given("order").is_some(),
                "order has no meaning with pick=credit and pick=all, which have their own",
            ),
            (
                !targeted && given("interval").is_some(),
                "interval has no meaning without targets: they are those of balance=gvts and balance=dwrr",
            ),
            (
                !targeted && given("edge") == Some("target"),
                "edge=target needs targets: those of balance=gvts or balance=dwrr",
            ),
            (
                self.pick == PICK_CREDIT && !credited,
                "pick=credit needs balance=credit or balance=none: other balances go by tokens, which it does not keep",
            ),
            (
                self.balance == BALANCE_CREDIT && self.pick != PICK_CREDIT,
                "balance=credit needs pick=credit: it moves threads by their credit, past the order of all others",
            ),
            (
                self.needs_queue() && given("direct") == Some("on"),
                "direct=on goes by the threads' own tokens, which neither fair=process nor pick=credit keeps",
            ),
            (
                self.edge == EDGE_TARGET && given("lead") == Some("on"),
                "lead=on has no meaning where targets place who wakes (edge=target)",
            ),
        ];
        let Some((_, reason)) = meaningless.into_iter().find(|(is, _)| *is) else { return Ok(()) };
        Err(Failure::Input(format!("{reason}; leave one of them out")))
    }

    fn choose(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) else {
            let keys = CHOICES.iter().map(|choice| choice.key).chain(OTHER_KEYS);
            return Err(unknown("policy option", key, &keys.collect::<Vec<&str>>()));
        };
        *(choice.field)(self) = position(key, value, choice.words)?;
        Ok(())
    }

    /// What follows from the slice.
    fn derive(mut self, bucket: bool, slack: bool) -> Result<Options, Failure> {
        let slice = checked_slice(Nanos(self.slice_ns))?;
        if slack {
            // More would let a thread that sleeps briefly run ahead of those that do not.
            self.slack_ns = slice.0 / 2;
        }
        if bucket {
            self.bucket_ns = LEAST_BUCKET.0.max(4 * slice.0);
        }
        Ok(self)
    }

    /// The slice that threads get.
    pub fn slice(&self) -> Nanos {
        Nanos(self.slice_ns)
    }
}

pub(crate) fn checked_slice(slice: Nanos) -> Result<Nanos, Failure> {
    let [shortest, longest] = SLICES;
    if slice < shortest || slice > longest {
        let range = format!("expected {shortest} to {longest}");
        return Err(Failure::Input(format!("a slice of {slice}: {range}")));
    }
    Ok(slice)
}

fn switch(key: &str, value: &str) -> Result<bool, Failure> {
    Ok(position(key, value, &["off", "on"])? == 1)
}

fn position(key: &str, value: &str, words: &[&str]) -> Result<u32, Failure> {
    let known: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    match words.iter().position(|word| *word == value) {
        Some(position) if known.contains(&value) => Ok(position as u32),
        _ => Err(unknown(&format!("value of `{key}`"), value, &known)),
    }
}

/// Below, every slice would end in a look at other CPUs; above, nothing would be even within a run.
const INTERVALS: [Nanos; 2] = [Nanos::from_millis(1), Nanos::from_secs(10)];

fn interval_of(value: &str) -> Result<Nanos, Failure> {
    let reason = |reason: String| Failure::Input(format!("interval: {reason}"));
    let interval = units::duration(value).map_err(|error| reason(error.to_string()))?;
    let [shortest, longest] = INTERVALS;
    if interval < shortest || interval > longest {
        return Err(reason(format!("{interval}: expected {shortest} to {longest}")));
    }
    Ok(interval)
}

pub(crate) fn slice_of(value: &str) -> Result<u64, Failure> {
    let slice = units::duration(value);
    slice.map(|slice| slice.0).map_err(|reason| Failure::Input(format!("slice: {reason}")))
}

fn unknown(what: &str, word: &str, candidates: &[&str]) -> Failure {
    let hint = did_you_mean(word, candidates);
    Failure::Input(format!("unknown {what} `{word}`{hint}: expected {}", candidates.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, Failure> {
        Options::parse(&PolicySpec::parse(text).unwrap(), &Machine::ONE_CPU, None)
    }

    #[test]
    fn names_are_choices() {
        assert_eq!(parse("cts:order=lcfs"), parse("lcfs"));
        assert_eq!(parse("cts:pick=thread"), parse("vtime"));
        assert_ne!(parse("cts"), parse("lcfs"));
        assert_eq!(parse("lcfs:order=fcfs"), parse("cts"));
    }

    #[test]
    fn the_slice_comes_from_the_option_then_the_scenario_then_the_default() {
        let slice = |text: &str, scenario| {
            let spec = PolicySpec::parse(text).unwrap();
            Options::parse(&spec, &Machine::ONE_CPU, scenario).unwrap().slice()
        };
        let scenario = Some(Nanos::from_millis(20));
        assert_eq!(slice("cts:slice=10ms", scenario), Nanos::from_millis(10));
        assert_eq!(slice("cts", scenario), Nanos::from_millis(20));
        assert_eq!(slice("cts", None), Nanos::from_millis(4));
    }

    #[test]
    fn the_brim_is_the_larger_of_50_ms_and_4_slices() {
        let brim = |text: &str| parse(text).unwrap().bucket_ns;
        assert_eq!(brim("cts"), 50_000_000);
        assert_eq!(brim("cts:slice=20ms"), 80_000_000);
        assert_eq!(brim("cts:bucket=off"), u64::MAX);
    }

    #[test]
    fn wrong_words_are_bad_input_that_names_the_right_ones() {
        for (text, said) in [
            ("ctss", "`cts`"),
            ("cts:ordre=fcfs", "`order`"),
            ("cts:order=fifo", "fcfs, lcfs, vtime, random"),
            ("cts:queue=node", "cpu, llc, machine"),
            ("cts:queue=machin", "`machine`"),
            ("cts:bucket=yes", "off, on"),
            ("cts:slice=4", "no unit"),
            ("cts:slice=10us", "100 us"),
            ("cts:pick=thread:order=fcfs", "pick=thread"),
            ("cts:pick=credit", "balance=credit"),
            ("cts:balance=credit", "pick=credit"),
            ("gvts:lead=on", "edge=target"),
            ("cts:fair=process:direct=on", "fair=process"),
        ] {
            match parse(text) {
                Err(Failure::Input(message)) => assert!(message.contains(said), "{message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
