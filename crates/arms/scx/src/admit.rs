//! Programs that this kernel's verifier took, before they are in force and again after.

use model::{Failure, Nanos, PolicySpec};
use policy_native::PolicyOptions;

use crate::code::Code;
use crate::home::Home;
use crate::limits::keeps_quotas;
use crate::loaded::Scope;
use crate::open::open;
use crate::renew::Beginning;
use crate::skeleton::BpfSkel;
use crate::stats::Rows;
use crate::tables;
use crate::topology::Topology;

const NO_PROMISES: &str = "keeps no promises: those do that have a min_vruntime and pick pools or threads by \
     vruntime, such as rearguard and cts";

/// What shall be loaded.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub policy: &'a PolicySpec,
    pub code: Code,
    pub slice: Option<Nanos>,
    pub scope: Scope,
    /// In /sys.
    pub name: &'a str,
    /// Whether groups may have promises.
    pub promises: bool,
}

/// Dropped in this order: the programs, then their memory.
pub struct Admitted {
    pub skeleton: BpfSkel<'static>,
    _home: Home,
    beginning: Beginning,
    pub topology: Topology,
    pub options: PolicyOptions,
}

impl Wanted<'_> {
    /// Programs for the machine as it is now, not in force yet: those of before, if they are the same. The
    /// verifier then has nothing to do, for which it takes seconds.
    pub fn admit(&self, before: Option<Admitted>) -> Result<Admitted, Failure> {
        let topology = match &before {
            Some(before) => before.topology.clone().again()?,
            None => Topology::here()?,
        };
        let options = self.options(&topology)?;
        let again = before.and_then(|before| before.again(&topology, &options));
        let mut admitted = again.map_or_else(|| self.load(topology, options), Ok)?;
        tables::fill(&admitted.topology, &mut admitted.skeleton.maps)?;
        Ok(admitted)
    }

    fn options(&self, topology: &Topology) -> Result<PolicyOptions, Failure> {
        let policy = self.policy;
        let options = PolicyOptions::parse(policy, &topology.machine(), self.slice)?;
        let options = if keeps_quotas(policy) { options.with_quotas() } else { options };
        let options = if self.promises { options } else { options.without_promises() };
        if self.promises && !options.keeps_promises() {
            return Err(Failure::Input(format!("`{policy}` {NO_PROMISES}")));
        }
        Ok(options)
    }

    fn load(&self, topology: Topology, options: PolicyOptions) -> Result<Admitted, Failure> {
        let home = Home::new();
        let opened = self.code.during(|| open(&home, self.name, &options, &topology, self.scope));
        let mut skeleton = opened?;
        let beginning = Beginning::of(&mut skeleton);
        Ok(Admitted { skeleton, _home: home, beginning, topology, options })
    }
}

impl Admitted {
    /// The same programs with the same options, as if they had never run.
    fn again(mut self, topology: &Topology, options: &PolicyOptions) -> Option<Admitted> {
        let fits = self.options.as_bytes() == options.as_bytes();
        if !fits || self.beginning.restore(&mut self.skeleton).is_err() {
            return None;
        }
        Some(Admitted { topology: topology.clone(), ..self })
    }

    /// The rows of its programs; `own`: of a policy of the project's.
    pub fn rows(&self, own: bool) -> Rows<'_> {
        Rows::of(&self.skeleton.maps, self.topology.cpu_ids(), own)
    }
}
