//! A policy twice: as the simulator runs it and as the kernel runs it, callback by callback on the same
//! machine.

use std::collections::BTreeMap;
use std::path::Path;

use model::PolicySpec;
use model::scenario::Machine;
use policy_native::{Owner, Policy, PolicyOptions};

use super::program::{Output, Program};
use super::recording_platform::RecordingPlatform;
use super::script::{Act, Call, Event, Input};

/// Two caches of two pairs of CPUs: `parity_size` of seam.bpf.h.
pub const MACHINE: Machine = Machine { cpus: 8, smt: 2, llcs: 2, nodes: 1 };

/// In the message where the verifier did not let the programs in.
pub const REFUSED: &str = "the kernel refuses it";

/// Tables of all that a callback may change in a moment, and those that are long.
const SHORT: [(Owner, &str); 6] = [
    (Owner::Thread, ".bss.threads"),
    (Owner::Process, ".bss.processes"),
    (Owner::Group, ".bss.groups"),
    (Owner::Cpu, ".bss.cpus"),
    (Owner::Queue, ".bss.queues"),
    (Owner::Shared, ".bss.shared"),
];
const LONG: [(Owner, &str); 2] = [(Owner::Pool, ".bss.pools"), (Owner::Entry, ".bss.entries")];

pub struct Pair {
    policy: Policy,
    pub machine: RecordingPlatform,
    program: Program,
    /// Callbacks made.
    pub calls: u32,
    /// Acts compared, by kind.
    pub acts: BTreeMap<Call, usize>,
}

impl Pair {
    pub fn new(policy: &str, object: &Path) -> Result<Pair, String> {
        let spec = PolicySpec::parse(policy).expect("a policy");
        let options = PolicyOptions::parse(&spec, &MACHINE, None).expect("its options");
        let program = Program::load(object, &options)
            .map_err(|error| format!("{policy}: {REFUSED}: {error:?}"))?;
        let machine = RecordingPlatform::new(MACHINE.cpus);
        let policy = Policy::open(&spec, &MACHINE, None).expect("its code");
        Ok(Pair { policy, machine, program, calls: 0, acts: BTreeMap::new() })
    }

    /// Makes a callback on both sides; what it answers, or the first difference.
    pub fn call(&mut self, event: Event) -> Result<i64, String> {
        let input = Input::before(event, &self.machine.toy);
        let result = event.play(&mut self.policy, &mut self.machine);
        let acts = self.machine.take();
        let input = input.after(&acts);
        let output = self.program.call(event.program().0, &input);
        let output = output.map_err(|error| format!("{event:?}: {error:?}"))?;
        self.calls += 1;
        acts.iter().for_each(|act| *self.acts.entry(act.call).or_default() += 1);
        same_acts(&acts, &output)
            .and_then(|()| same("the answer", result, output.result as i64))
            .and_then(|()| self.same_tables(&SHORT))
            .map_err(|difference| format!("callback {}, {event:?}: {difference}", self.calls))?;
        Ok(result)
    }

    /// Compares the long tables as well.
    pub fn compare_all(&self) -> Result<(), String> {
        self.same_tables(&LONG)
    }

    fn same_tables(&self, tables: &[(Owner, &str)]) -> Result<(), String> {
        for (owner, name) in tables {
            let (native, row) = self.policy.words(*owner);
            let kernel = self.program.table(name);
            let both = native.iter().zip(&kernel);
            if let Some(at) = both.clone().position(|(native, kernel)| native != kernel) {
                let (row, word) = (at / row, at % row);
                return same(&format!("{owner:?} {row}, word {word}"), native[at], kernel[at]);
            }
        }
        Ok(())
    }
}

fn same_acts(acts: &[Act], output: &Output) -> Result<(), String> {
    if output.differs != 0 {
        let at = output.differs as usize - 1;
        return Err(format!(
            "act {at}: natively {:?}, in the kernel {:?}",
            acts.get(at),
            output.act
        ));
    }
    same("the number of acts", acts.len() as u64, output.acts)
}

fn same<T: PartialEq + std::fmt::Display>(what: &str, native: T, kernel: T) -> Result<(), String> {
    if native == kernel {
        return Ok(());
    }
    Err(format!("{what}: natively {native}, in the kernel {kernel}"))
}
