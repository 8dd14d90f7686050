//! What was recorded: the scenarios themselves, and what every run of them showed.

use model::{Failure, Nanos, printable};
use serde::{Deserialize, Serialize};

use crate::record::Source;

/// The `schema` of a base file.
pub const GATE_SCHEMA: &str = "rearguard.gate/1";

/// A policy's runs, to hold others against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// [`GATE_SCHEMA`].
    pub schema: String,
    /// The version of rearguard that recorded it.
    pub version: String,
    /// Where it ran: `sim`, `host` or `vm`.
    pub arm: String,
    /// The machine, in words.
    pub machine: String,
    /// The release of the kernel of guests, which a check takes again.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The policy, with its options.
    pub policy: String,
    /// What was run.
    pub scenarios: Vec<Recorded>,
}

/// One scenario's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The scenario's name.
    pub name: String,
    /// Its text: a check runs it again, whatever has become of the file.
    pub text: String,
    /// The seeds, one run each.
    pub seeds: Vec<u64>,
    /// Latencies of each service.
    pub services: Vec<Service>,
    /// What is one number a run.
    pub measures: Vec<Measure>,
}

/// The latencies of one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The program.
    pub program: String,
    /// By run, in the order of arrival; null for a lost request.
    pub latencies_ns: Vec<Vec<Option<u64>>>,
}

/// A figure that is one number a run; less is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The program, where it is one's.
    pub program: Option<String>,
    /// Its name.
    pub figure: String,
    /// A difference below this is none, however much it is of a small number.
    pub floor: f64,
    /// The number of each run.
    pub runs: Vec<f64>,
}

impl Base {
    /// Reads a base file; `name` is for messages.
    pub fn read(text: &str, name: &str) -> Result<Base, Failure> {
        let refuse = |why: String| {
            let why = printable(&why);
            Failure::Input(format!("{name}: {why}; `rearguard gate record` makes one"))
        };
        let schema = serde_json::from_str::<Schema>(text)
            .map_err(|error| refuse(format!("no base of a gate ({error})")))?;
        if schema.schema != GATE_SCHEMA {
            let this =
                format!("a base of format {}, and this version reads {GATE_SCHEMA}", schema.schema);
            return Err(refuse(this));
        }
        let base: Base = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        match base.scenarios.iter().find(|recorded| !recorded.is_whole()) {
            Some(broken) => Err(refuse(format!("{}: not one run a seed", broken.name))),
            None if base.scenarios.is_empty() => Err(refuse("holds no scenario".to_string())),
            None => Ok(base.printable()),
        }
    }

    /// With words that a terminal shows and does not obey: a file may say anything. Texts of scenarios stay.
    fn printable(mut self) -> Base {
        let own = [&mut self.version, &mut self.arm, &mut self.machine, &mut self.policy];
        let scenarios = self.scenarios.iter_mut().flat_map(Recorded::words);
        own.into_iter()
            .chain(self.kernel.as_mut())
            .chain(scenarios)
            .for_each(|word| *word = printable(word));
        self
    }
}

impl Recorded {
    /// A scenario without runs.
    pub fn none(source: Source) -> Recorded {
        let Source { name, text } = source;
        Recorded { name, text, seeds: Vec::new(), services: Vec::new(), measures: Vec::new() }
    }

    /// The scenario, to run it again.
    pub fn source(&self) -> Source {
        Source { name: self.name.clone(), text: self.text.clone() }
    }

    /// The first so many runs.
    pub fn first(&self, count: usize) -> Recorded {
        let mut first = self.clone();
        first.seeds.truncate(count);
        first.services.iter_mut().for_each(|service| service.latencies_ns.truncate(count));
        first.measures.iter_mut().for_each(|measure| measure.runs.truncate(count));
        first
    }

    /// Puts more runs of the same scenario behind these. A figure that some run lacks is none of all.
    pub fn extend(&mut self, more: Recorded) {
        if self.seeds.is_empty() {
            *self = more;
            return;
        }
        self.seeds.extend(more.seeds);
        for (service, more) in self.services.iter_mut().zip(more.services) {
            service.latencies_ns.extend(more.latencies_ns);
        }
        let mut measures = more.measures;
        self.measures.retain_mut(|measure| {
            let found = measures.iter().position(|more| more.is_of(measure));
            found.map(|at| measure.runs.extend(measures.swap_remove(at).runs)).is_some()
        });
    }

    fn words(&mut self) -> impl Iterator<Item = &mut String> {
        let services = self.services.iter_mut().map(|service| &mut service.program);
        let measures = self.measures.iter_mut();
        let measures =
            measures.flat_map(|one| [Some(&mut one.figure), one.program.as_mut()]).flatten();
        std::iter::once(&mut self.name).chain(services).chain(measures)
    }

    fn is_whole(&self) -> bool {
        let runs = self.services.iter().map(|service| service.latencies_ns.len());
        let runs = runs.chain(self.measures.iter().map(|measure| measure.runs.len()));
        !self.seeds.is_empty() && runs.into_iter().all(|runs| runs == self.seeds.len())
    }
}

impl Service {
    /// The latencies of each run.
    pub fn runs(&self) -> Vec<Vec<Nanos>> {
        let latency = |latency: &Option<u64>| latency.map_or(Nanos::NEVER, Nanos);
        self.latencies_ns.iter().map(|run| run.iter().map(latency).collect()).collect()
    }
}

impl Measure {
    /// Whether both are runs of the same figure.
    pub(crate) fn is_of(&self, other: &Measure) -> bool {
        (&self.program, &self.figure) == (&other.program, &other.figure)
    }
}

#[derive(Deserialize)]
struct Schema {
    schema: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base whose words all move a terminal's cursor, as it stands in a file.
    fn hostile(schema: &str, seeds: &[u64]) -> String {
        let word = "a\u{1b}[2J".to_string();
        let service = Service { program: word.clone(), latencies_ns: vec![vec![Some(1)]] };
        let measure = Measure {
            program: Some(word.clone()),
            figure: word.clone(),
            floor: 0.0,
            runs: vec![1.0],
        };
        let recorded = Recorded {
            name: word.clone(),
            text: "# A.\n".to_string(),
            seeds: seeds.to_vec(),
            services: vec![service],
            measures: vec![measure],
        };
        let [version, arm, machine, policy] = [(); 4].map(|()| word.clone());
        let (schema, scenarios) = (schema.to_string(), vec![recorded]);
        let base = Base { schema, version, arm, machine, kernel: Some(word), policy, scenarios };
        serde_json::to_string(&base).expect("words and numbers")
    }

    #[test]
    fn a_terminal_does_not_obey_a_base() {
        let base = Base::read(&hostile(GATE_SCHEMA, &[1]), "b.json").expect("a base");
        let one = &base.scenarios[0];
        let kernel = base.kernel.as_ref().expect("set above");
        let own = [&base.version, &base.arm, &base.machine, kernel, &base.policy, &one.name];
        let (service, measure) = (&one.services[0], &one.measures[0]);
        let program = measure.program.as_ref().expect("set above");
        let all = own.into_iter().chain([&service.program, &measure.figure, program]);
        all.for_each(|word| assert_eq!(word, "a?[2J"));
        assert_eq!(one.text, "# A.\n", "control: a scenario is read as it stands");
    }

    #[test]
    fn a_terminal_does_not_obey_what_is_refused() {
        for text in [hostile("x\u{1b}[2J", &[1]), hostile(GATE_SCHEMA, &[1, 2])] {
            let Err(Failure::Input(message)) = Base::read(&text, "b.json") else {
                panic!("expected a refusal")
            };
            assert!(message.contains("?[2J") && !message.contains('\u{1b}'), "{message:?}");
        }
    }
}
