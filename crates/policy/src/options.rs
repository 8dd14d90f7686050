//! What a policy can be told: the three dimensions and their options, by the words of the command line.

use model::{Failure, Nanos, PolicySpec, closest, scenario::Machine, units};

/// The choices of one policy instance: `struct rg_options` of `policy/state.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) slice_ns: u64,
    slack_ns: u64,
    bucket_ns: u64,
    pub(crate) cpus: u32,
    balance: u32,
    pick: u32,
    order: u32,
    scope: u32,
    requeue: u32,
    fair: u32,
    preempt: u32,
}

/// One tick at HZ=250, as Debian builds its kernels: a slice cannot end sooner. EEVDF's is of the same size (2.8 ms on 8 CPUs, Linux 6.12).
const DEFAULT_SLICE: Nanos = Nanos::from_millis(4);

/// Shorter slices than a timer can end, or so long that the machine seems to hang.
const SLICES: [Nanos; 2] = [Nanos::from_micros(100), Nanos::from_secs(1)];

/// The least brim of the bucket: above the longest request of a service that shall be served first come, first served.
const LEAST_BUCKET: Nanos = Nanos::from_millis(50);

/// A choice: its key, its words in the order of C's numbers, and where it is kept.
struct Choice {
    key: &'static str,
    words: &'static [&'static str],
    field: fn(&mut Options) -> &mut u32,
}

const CHOICES: [Choice; 6] = [
    Choice { key: "balance", words: &["steal", "none"], field: |o| &mut o.balance },
    Choice { key: "pick", words: &["process", "thread"], field: |o| &mut o.pick },
    Choice { key: "order", words: &["fcfs", "lcfs", "vtime", "random"], field: |o| &mut o.order },
    Choice { key: "queue", words: &["cpu", "llc", "", "machine"], field: |o| &mut o.scope },
    Choice { key: "requeue", words: &["head", "tail"], field: |o| &mut o.requeue },
    Choice { key: "fair", words: &["thread", "process"], field: |o| &mut o.fair },
];

/// The policies by name: what each chooses where its options say nothing.
const POLICIES: [(&str, &str, &[(&str, &str)]); 4] = [
    ("cts", "first come, first served inside a process, fair between processes (CTS)", &[]),
    ("lcfs", "as cts, but last come, first served inside a process", &[("order", "lcfs")]),
    ("random", "as cts, but in random order inside a process", &[("order", "random")]),
    (
        "vtime",
        "threads compete one by one for the least virtual time",
        &[("pick", "thread"), ("order", "vtime")],
    ),
];

const ON_OFF: [&str; 2] = ["off", "on"];

/// The policies behind the seam: name and one line.
pub fn policies() -> impl Iterator<Item = (&'static str, &'static str)> {
    POLICIES.iter().map(|(name, line, _)| (*name, *line))
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
        let named = POLICIES.iter().find(|(name, ..)| *name == spec.name);
        let Some((_, _, chosen)) = named else {
            let names: Vec<&str> = policies().map(|(name, _)| name).collect();
            return Err(unknown("policy", &spec.name, &names));
        };
        let mut options = Options::cts(machine, slice.unwrap_or(DEFAULT_SLICE));
        let mut bucket = true;
        chosen.iter().try_for_each(|(key, word)| options.choose(key, word))?;
        for (key, value) in &spec.options {
            match key.as_str() {
                "slice" => options.slice_ns = duration(value)?.0,
                "bucket" => bucket = number(key, value, &ON_OFF)? == 1,
                "preempt" => options.preempt = number(key, value, &ON_OFF)?,
                _ => options.choose(key, value)?,
            }
        }
        options.finish(bucket)
    }

    fn cts(machine: &Machine, slice: Nanos) -> Options {
        Options {
            slice_ns: slice.0,
            slack_ns: 0,
            bucket_ns: u64::MAX,
            cpus: machine.cpus,
            balance: 0,
            pick: 0,
            order: 0,
            scope: 1,
            requeue: 0,
            fair: 0,
            preempt: 1,
        }
    }

    fn choose(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        let Some(choice) = CHOICES.iter().find(|choice| choice.key == key) else {
            let keys: Vec<&str> = CHOICES.iter().map(|choice| choice.key).collect();
            return Err(unknown(
                "policy option",
                key,
                &[&keys[..], &["bucket", "preempt", "slice"]].concat(),
            ));
        };
        *(choice.field)(self) = number(key, value, choice.words)?;
        Ok(())
    }

    /// What follows from the slice, and what does not go together.
    fn finish(mut self, bucket: bool) -> Result<Options, Failure> {
        let slice = Nanos(self.slice_ns);
        let [shortest, longest] = SLICES;
        if slice < shortest || slice > longest {
            return Err(Failure::Input(format!("slice={slice}: expected {shortest} to {longest}")));
        }
        if self.pick == 1 && self.order != 2 {
            return Err(Failure::Input(
                "pick=thread leaves one thread to a pool, so there is no order to choose: say order=vtime or leave pick=process".to_string(),
            ));
        }
        // "From 2 ms to half a slice": a waker must clear threads at the edge itself, and gain no more than they do.
        self.slack_ns = slice.0 / 2;
        if bucket {
            self.bucket_ns = LEAST_BUCKET.0.max(4 * slice.0);
        }
        Ok(self)
    }
}

fn number(key: &str, value: &str, words: &[&str]) -> Result<u32, Failure> {
    let position = words.iter().position(|word| *word == value && !value.is_empty());
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    position
        .map(|position| position as u32)
        .ok_or_else(|| unknown(&format!("value of {key}"), value, &words))
}

fn duration(value: &str) -> Result<Nanos, Failure> {
    units::duration(value).map_err(|reason| Failure::Input(format!("slice: {reason}")))
}

fn unknown(what: &str, word: &str, candidates: &[&str]) -> Failure {
    let meant =
        closest(word, candidates).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Failure::Input(format!("unknown {what} `{word}`: expected {}{meant}", candidates.join(", ")))
}
