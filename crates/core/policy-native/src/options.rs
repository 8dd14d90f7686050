//! What a policy is told: the options of `policy/policies.def`, by the words of the command line.

use crate::domains::{MACHINE, intervals, stride};
use crate::table::*;
use model::{Failure, Nanos, PolicySpec, did_you_mean, scenario::Machine, units};

/// What a thread of normal weight receives in a round of `dwrr` (GVTS section 5.1).
const ROUND: Nanos = Nanos::from_millis(30);

/// The policies behind the seam: name and one line.
pub fn policies() -> impl Iterator<Item = (&'static str, &'static str)> {
    POLICIES.iter().map(|row| (row.name, row.help))
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
        let Some(row) = policy(&spec.name) else {
            let names: Vec<&str> = policies().map(|(name, _)| name).collect();
            return Err(unknown("policy", &spec.name, &names));
        };
        let mut options = Options::default();
        (options.cpus, options.stride) = (machine.cpus, stride(machine.cpus));
        let given = spec.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let said: Vec<(&str, &str)> = row.options.iter().copied().chain(given).collect();
        if let Some((key, _)) = said.iter().find(|(key, _)| option(key).is_none()) {
            let names: Vec<&str> = OPTIONS.iter().map(|row| row.name).collect();
            return Err(unknown("policy option", key, &names));
        }
        let value = |name: &str| said.iter().rev().find(|(key, _)| *key == name).map(|said| said.1);
        let slice = value("slice").map(slice_of).transpose()?.map(Nanos).or(slice);
        let slice = checked_slice(slice.unwrap_or(default_slice()))?;
        options.slice_ns = slice.0;
        for row in OPTIONS {
            options.take(row, value(row.name), slice)?;
        }
        let interval = value("interval").map(interval_of).transpose()?;
        options.settle(spec, machine, interval)?;
        Ok(options)
    }

    /// Takes an option over as it was said, or its default.
    fn take(&mut self, row: &OptionRow, said: Option<&str>, slice: Nanos) -> Result<(), Failure> {
        let number = |words: &[(&str, u32)]| {
            let Some(said) = said else { return Ok(None) };
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            match words.iter().find(|(word, _)| *word == said) {
                Some((_, number)) => Ok(Some(*number)),
                None => Err(unknown(&format!("value of `{}`", row.name), said, &known)),
            }
        };
        match row.values {
            Values::Duration { .. } => {}
            Values::Limit { on, off, .. } => {
                let usual = row.limit(slice).unwrap_or(off);
                let limit = match said {
                    Some("off") => off,
                    Some("on") => usual,
                    Some(said) => limit_of(row.name, said)?,
                    None => [off, usual][usize::from(on)],
                };
                self.set(row.name, limit.0);
            }
            Values::Choice { default, words } => {
                let chosen = number(words)?.or(default).unwrap_or(DERIVED);
                self.set(row.name, u64::from(chosen));
            }
        }
        Ok(())
    }

    /// What follows from the choices for each other.
    fn settle(
        &mut self,
        spec: &PolicySpec,
        machine: &Machine,
        interval: Option<Nanos>,
    ) -> Result<(), Failure> {
        if self.pick == PICK_THREAD {
            self.order = ORDER_VTIME;
        }
        match self.balance {
            BALANCE_GVTS => {
                self.interval_ns = intervals(machine, self.queue as usize, interval);
            }
            BALANCE_DWRR => self.interval_ns[MACHINE] = interval.unwrap_or(ROUND).0,
            _ => {}
        }
        if self.min_vruntime == DERIVED {
            self.min_vruntime = self.min_vruntime_of_balance();
        }
        self.refuse(spec)?;
        if self.min_vruntime == MIN_VRUNTIME_TARGET {
            // Targets hold vruntimes together, and no CPU looks for a min_vruntime.
            self.vruntime_cap_ns = u64::MAX;
        }
        if self.needs_queue() {
            self.direct = 0;
        }
        if self.needs_fair_order() {
            self.promises = 0;
        }
        Ok(())
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

    /// Whether no vruntime of a thread, held against a min_vruntime, says what is fair: a promise goes before
    /// that.
    fn needs_fair_order(&self) -> bool {
        self.needs_queue() || self.pick == PICK_ALL || self.min_vruntime == MIN_VRUNTIME_TARGET
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
                self.pick == PICK_GROUP && self.fair == FAIR_PROCESS,
                "pick=group lends threads the vruntimes of other processes, which fair=process keeps apart",
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
                self.needs_fair_order() && given("promises") == Some("on"),
                "promises=on lowers vruntimes below a min_vruntime, which neither targets nor fair=process, pick=all and pick=credit keep",
            ),
            (
                self.min_vruntime == MIN_VRUNTIME_TARGET && given("vruntime_cap") == Some("on"),
                "vruntime_cap=on has no meaning where targets place waking threads (min_vruntime=target)",
            ),
        ];
        let Some((_, reason)) = meaningless.into_iter().find(|(is, _)| *is) else { return Ok(()) };
        Err(Failure::Input(format!("{reason}; leave one of them out")))
    }

    /// The words of what decides which parts of `policy/` the policy is made of: balance, pick, order and
    /// min_vruntime.
    pub fn kind(&self) -> [Option<&'static str>; 4] {
        let word = |name: &str, number: u32| {
            let Values::Choice { words, .. } = option(name)?.values else { return None };
            words.iter().find(|(_, own)| *own == number).map(|(word, _)| *word)
        };
        [
            word("balance", self.balance),
            word("pick", self.pick),
            word("order", self.order),
            word("min_vruntime", self.min_vruntime),
        ]
    }

    /// The slice that threads get.
    pub fn slice(&self) -> Nanos {
        Nanos(self.slice_ns)
    }
}

/// The least and the most of a limit that is said as a duration.
const LIMITS: [Nanos; 2] = [Nanos(100_000), Nanos(10_000_000_000)];

/// A number of none of the words of a choice.
const DERIVED: u32 = u32::MAX;

/// What the table says of a duration: its default, and the least and the most.
fn bounds(name: &str) -> [Nanos; 3] {
    match option(name).map(|row| &row.values) {
        Some(Values::Duration { default, least, most }) => [*default, *least, *most],
        _ => unreachable!("{name} is a duration of policies.def"),
    }
}

pub(crate) fn default_slice() -> Nanos {
    bounds("slice")[0]
}

pub(crate) fn checked_slice(slice: Nanos) -> Result<Nanos, Failure> {
    let [_, shortest, longest] = bounds("slice");
    if slice < shortest || slice > longest {
        let range = format!("expected {shortest} to {longest}");
        return Err(Failure::Input(format!("a slice of {slice}: {range}")));
    }
    Ok(slice)
}

fn interval_of(value: &str) -> Result<Nanos, Failure> {
    let [_, shortest, longest] = bounds("interval");
    within("interval", value, [shortest, longest])
}

/// A limit that is neither `off` nor `on`.
fn limit_of(name: &str, value: &str) -> Result<Nanos, Failure> {
    if !value.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(unknown(&format!("value of `{name}`"), value, &["off", "on", "a duration"]));
    }
    within(name, value, LIMITS)
}

/// A duration, if it is within inclusive bounds.
fn within(name: &str, value: &str, [least, most]: [Nanos; 2]) -> Result<Nanos, Failure> {
    let reason = |reason: String| Failure::Input(format!("{name}: {reason}"));
    let duration = units::duration(value).map_err(|error| reason(error.to_string()))?;
    if duration < least || duration > most {
        return Err(reason(format!("{duration}: expected {least} to {most}")));
    }
    Ok(duration)
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
    fn a_limit_may_be_a_duration() {
        let credit = |text: &str| parse(text).unwrap().wakeup_credit_ns;
        assert_eq!(credit("cts"), 2_000_000);
        assert_eq!(credit("rearguard"), 8_000_000);
        assert_eq!(credit("rearguard:wakeup_credit=on:slice=10ms"), 5_000_000);
        assert_eq!(credit("rearguard:wakeup_credit=3ms"), 3_000_000);
        assert_eq!(credit("rearguard:wakeup_credit=off"), 0);
    }

    #[test]
    fn wrong_words_are_bad_input_that_names_the_right_ones() {
        for (text, said) in [
            ("ctss", "`cts`"),
            ("cts:ordre=fcfs", "`order`"),
            ("cts:order=fifo", "fcfs, lcfs, vtime, random, arrival"),
            ("cts:queue=node", "cpu, llc, machine"),
            ("cts:queue=machin", "`machine`"),
            ("cts:burst_limit=yes", "off, on, a duration"),
            ("cts:burst_limit=10us", "expected 100 us"),
            ("cts:sticky=4", "no unit"),
            ("cts:slice=4", "no unit"),
            ("cts:slice=10us", "100 us"),
            ("cts:pick=thread:order=fcfs", "pick=thread"),
            ("cts:pick=group:fair=process", "pick=group"),
            ("cts:pick=credit", "balance=credit"),
            ("cts:balance=credit", "pick=credit"),
            ("gvts:vruntime_cap=on", "min_vruntime=target"),
            ("cts:fair=process:direct=on", "fair=process"),
            ("gvts:promises=on", "targets"),
        ] {
            match parse(text) {
                Err(Failure::Input(message)) => assert!(message.contains(said), "{message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
