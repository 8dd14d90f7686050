//! What a policy can be told: the three dimensions and their options, by the words of the command line.

use crate::domains::{MACHINE, ROWS, intervals, stride};
use model::{Failure, Nanos, PolicySpec, did_you_mean, scenario::Machine, units};

/// The choices of one policy instance: `struct rg_options` of `policy/state.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    slice_ns: u64,
    wakeup_credit_ns: u64,
    burst_limit_ns: u64,
    interval_ns: [u64; ROWS],
    vruntime_cap_ns: u64,
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
    starvation_limit: u32,
    infeasible: u32,
    min_vruntime: u32,
    direct: u32,
}

/// One tick at HZ=250, as Debian builds its kernels: a slice cannot end sooner. EEVDF's is of the same size
/// (2.8 ms from 8 CPUs on: `sysctl_sched_base_slice`, scaled).
pub(crate) const DEFAULT_SLICE: Nanos = Nanos::from_millis(4);

/// Below, ticks would end slices at random; above, waiting threads would seem to hang.
const SLICES: [Nanos; 2] = [Nanos::from_micros(100), Nanos::from_secs(1)];

/// The least burst limit: above the longest request that shall keep its place.
const LEAST_BURST_LIMIT: Nanos = Nanos::from_millis(50);

/// What a thread of normal weight receives in a round of `dwrr` (GVTS section 5.1).
const ROUND: Nanos = Nanos::from_millis(30);

/// By how much CPU time a batch thread may go early to stay where it ran. At 4 ms threads move twice as
/// often; at 12 ms a light thread waits half as long again for its turn.
const STICKY: Nanos = Nanos::from_millis(10);

/// How far past the min_vruntime a vruntime may get that is charged while nobody waited.
const VRUNTIME_CAP: Nanos = Nanos::from_millis(10);

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
const MIN_VRUNTIME_QUEUE: u32 = 0;
const MIN_VRUNTIME_MACHINE: u32 = 1;
const MIN_VRUNTIME_TARGET: u32 = 2;
const MIN_VRUNTIME_BY_BALANCE: u32 = u32::MAX;
const ORDER_VTIME: u32 = 2;
const FAIR_PROCESS: u32 = 1;

/// `queue` follows the levels of `platform.h`, of which a core's and a node's are not offered: nothing is
/// gained over the cache's.
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
    Choice {
        key: "min_vruntime",
        words: &["queue", "machine", "target"],
        field: |o| &mut o.min_vruntime,
    },
    Choice { key: "starvation_limit", words: &["off", "on"], field: |o| &mut o.starvation_limit },
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
const OTHER_KEYS: [&str; 6] =
    ["burst_limit", "interval", "vruntime_cap", "wakeup_credit", "slice", "sticky"];

const POLICIES: [Named; 9] = [
    Named {
        name: "rearguard",
        line: "first come, first served inside a process, fair between groups over the whole machine",
        chosen: &[("balance", "gvts"), ("sticky", "on"), ("vruntime_cap", "on"), ("direct", "on")],
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
            ("burst_limit", "off"),
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
        let (mut burst_limit, mut wakeup_credit) = (true, true);
        let mut interval = None;
        for (key, value) in named.chosen.iter().copied().chain(given) {
            match key {
                "slice" => options.slice_ns = slice_of(value)?,
                "interval" => interval = Some(interval_of(value)?),
                "burst_limit" => burst_limit = switch(key, value)?,
                "wakeup_credit" => wakeup_credit = switch(key, value)?,
                "sticky" => options.sticky_ns = if switch(key, value)? { STICKY.0 } else { 0 },
                "vruntime_cap" => {
                    options.vruntime_cap_ns =
                        if switch(key, value)? { VRUNTIME_CAP.0 } else { u64::MAX }
                }
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
        if options.min_vruntime == MIN_VRUNTIME_BY_BALANCE {
            options.min_vruntime = options.min_vruntime_of_balance();
        }
        options.refuse(spec)?;
        if options.min_vruntime == MIN_VRUNTIME_TARGET {
            // Targets hold vruntimes together, and no CPU looks for a min_vruntime.
            options.vruntime_cap_ns = u64::MAX;
        }
        if options.needs_queue() {
            options.direct = 0;
        }
        options.derive(burst_limit, wakeup_credit)
    }

    fn cts(machine: &Machine, slice: Nanos) -> Options {
        Options {
            slice_ns: slice.0,
            wakeup_credit_ns: 0,
            burst_limit_ns: u64::MAX,
            interval_ns: [0; ROWS],
            vruntime_cap_ns: u64::MAX,
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
            starvation_limit: 1,
            infeasible: 1,
            min_vruntime: MIN_VRUNTIME_BY_BALANCE,
            direct: 0,
        }
    }

    /// Vruntimes that no balance holds together belong to their queue; GVTS's own placement is by target.
    fn min_vruntime_of_balance(&self) -> u32 {
        match (self.balance, self.pick) {
            (BALANCE_GVTS, PICK_THREAD) | (BALANCE_DWRR, _) => MIN_VRUNTIME_TARGET,
            (BALANCE_GVTS, _) => MIN_VRUNTIME_MACHINE,
            _ => MIN_VRUNTIME_QUEUE,
        }
    }

    /// Whether threads have no vruntimes of their own by which one could pass by the queue.
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
                !targeted && given("min_vruntime") == Some("target"),
                "min_vruntime=target needs targets: those of balance=gvts or balance=dwrr",
            ),
            (
                self.pick == PICK_CREDIT && !credited,
                "pick=credit needs balance=credit or balance=none: other balances go by vruntimes, which it does not keep",
            ),
            (
                self.balance == BALANCE_CREDIT && self.pick != PICK_CREDIT,
                "balance=credit needs pick=credit: it moves threads by their credit, past the order of all others",
            ),
            (
                self.needs_queue() && given("direct") == Some("on"),
                "direct=on goes by the threads' own vruntimes, which neither fair=process nor pick=credit keeps",
            ),
            (
                self.min_vruntime == MIN_VRUNTIME_TARGET && given("vruntime_cap") == Some("on"),
                "vruntime_cap=on has no meaning where targets place who wakes (min_vruntime=target)",
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
    fn derive(mut self, burst_limit: bool, wakeup_credit: bool) -> Result<Options, Failure> {
        let slice = checked_slice(Nanos(self.slice_ns))?;
        if wakeup_credit {
            // More would let a thread that sleeps briefly run ahead of those that do not.
            self.wakeup_credit_ns = slice.0 / 2;
        }
        if burst_limit {
            self.burst_limit_ns = LEAST_BURST_LIMIT.0.max(4 * slice.0);
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
    fn the_burst_limit_is_the_larger_of_50_ms_and_4_slices() {
        let limit = |text: &str| parse(text).unwrap().burst_limit_ns;
        assert_eq!(limit("cts"), 50_000_000);
        assert_eq!(limit("cts:slice=20ms"), 80_000_000);
        assert_eq!(limit("cts:burst_limit=off"), u64::MAX);
    }

    #[test]
    fn wrong_words_are_bad_input_that_names_the_right_ones() {
        for (text, said) in [
            ("ctss", "`cts`"),
            ("cts:ordre=fcfs", "`order`"),
            ("cts:order=fifo", "fcfs, lcfs, vtime, random"),
            ("cts:queue=node", "cpu, llc, machine"),
            ("cts:queue=machin", "`machine`"),
            ("cts:burst_limit=yes", "off, on"),
            ("cts:slice=4", "no unit"),
            ("cts:slice=10us", "100 us"),
            ("cts:pick=thread:order=fcfs", "pick=thread"),
            ("cts:pick=credit", "balance=credit"),
            ("cts:balance=credit", "pick=credit"),
            ("gvts:vruntime_cap=on", "min_vruntime=target"),
            ("cts:fair=process:direct=on", "fair=process"),
        ] {
            match parse(text) {
                Err(Failure::Input(message)) => assert!(message.contains(said), "{message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
