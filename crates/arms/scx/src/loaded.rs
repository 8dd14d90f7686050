//! A policy in force.

use std::path::Path;

use libbpf_rs::Link;
use model::scenario::Machine;
use model::{Failure, Nanos, PolicySpec};
use policy_native::PolicyOptions;
use scx_utils::scx_ops_attach;

use crate::code::Code;
use crate::costs::{Cost, costs};
use crate::ending::{Ending, ending};
use crate::home::Home;
use crate::limits::keeps_quotas;
use crate::live;
use crate::open::open;
use crate::promised::Promised;
use crate::ready::ready;
use crate::skeleton::BpfSkel;
use crate::stats::{Meter, Rows, Sample};
use crate::topology::Topology;

const NO_PROMISES: &str = "keeps no promises: those do that have a min_vruntime and pick pools or threads by \
     vruntime, such as rearguard and cts";

/// A policy in this machine's kernel, from [`load`] until it is dropped or the kernel ends it.
pub struct Loaded {
    policy: PolicySpec,
    code: Code,
    slice: Option<Nanos>,
    scope: Scope,
    pub(crate) promised: Option<Vec<Promised>>,
    name: String,
    pub(crate) present: Option<Present>,
}

/// Dropped in this order: out of force, then the programs and maps, then their memory.
pub(crate) struct Present {
    _link: Link,
    pub(crate) skeleton: BpfSkel<'static>,
    _home: Home,
    meter: Meter,
    pub(crate) cpu_ids: usize,
    pub(crate) machine: Machine,
}

/// What has become of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It schedules.
    InForce,
    /// CPUs came or went, which ends every scheduler; it was loaded again.
    Restarted,
    /// The kernel has ended it; the default class schedules.
    Ended(Ending),
}

/// Which threads a policy schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every thread that no real-time class does.
    Machine,
    /// Threads of the scheduling policy SCHED_EXT; see [`crate::Only`].
    Partial,
}

/// Puts a policy into force.
///
/// [`Failure::Input`] for an unknown policy or option, or a file that is no policy, [`Failure::Machine`]
/// where [`ready`] says so, [`Failure::Run`] where the kernel refuses it.
pub fn load(policy: &PolicySpec) -> Result<Loaded, Failure> {
    load_code(policy, Code::of(policy)?, None, Scope::Machine, None)
}

/// Whether a policy is one, with options that are, and could be loaded here now; fails as [`load`] does.
pub fn check(policy: &PolicySpec) -> Result<(), Failure> {
    // Bad input is bad input on any machine.
    PolicyOptions::parse(policy, &model::scenario::Machine::ONE_CPU, None)?;
    ready()
}

/// As [`load`], with code that is there already; `slice` stands where the policy's options name none.
/// Promises to groups may be none yet; with `None` nothing is loaded that keeps any.
pub fn load_code(
    policy: &PolicySpec,
    code: Code,
    slice: Option<Nanos>,
    scope: Scope,
    promised: Option<&[Promised]>,
) -> Result<Loaded, Failure> {
    check(policy)?;
    let name = name(&policy.name);
    let policy = policy.clone();
    let promised = promised.map(<[Promised]>::to_vec);
    let mut loaded = Loaded { policy, code, slice, scope, promised, name, present: None };
    loaded.present = Some(loaded.enter()?);
    Ok(loaded)
}

/// A scheduler's name in /sys: the project's own policy has the project's name, and one in a file its file's.
/// The kernel takes letters, digits, `_` and `.`.
fn name(policy: &str) -> String {
    if policy == "rearguard" {
        return policy.to_string();
    }
    let stem = Path::new(policy).file_stem().unwrap_or_default().to_string_lossy();
    let fit = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("rearguard_{}", stem.chars().map(fit).collect::<String>())
}

impl Loaded {
    /// Its name in /sys/kernel/sched_ext/root/ops.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its programs cost the kernel's verifier and hold in memory; empty once it has ended.
    pub fn costs(&mut self) -> Result<Vec<Cost>, Failure> {
        self.present.as_mut().map_or(Ok(Vec::new()), |present| costs(&mut present.skeleton))
    }

    /// Looks at everything, for statistics; `None` once it has ended.
    pub fn look(&mut self) -> Option<Sample> {
        let (present, own) = (self.present.as_mut()?, self.code == Code::BuiltIn);
        Some(present.meter.look(&Rows::of(&present.skeleton.maps, present.cpu_ids, own)))
    }

    /// A quick look at the active threads, several times a second while a client `watches`.
    pub fn snapshot(&mut self, watches: bool) {
        let own = self.code == Code::BuiltIn;
        let Some(present) = self.present.as_mut() else { return };
        if watches {
            present.meter.snapshot(&Rows::of(&present.skeleton.maps, present.cpu_ids, own));
        } else {
            present.meter.rest();
        }
    }

    fn enter(&self) -> Result<Present, Failure> {
        let Admitted { mut skeleton, home, topology, .. } = self.admit()?;
        let machine = topology.machine();
        live::write(&skeleton, self.promised.as_deref().unwrap_or_default(), &machine)?;
        let link = scx_ops_attach!(skeleton, rearguard).map_err(|error| {
            let why =
                ending(&skeleton).map_or(String::new(), |ending| format!(": {}", ending.reason));
            Failure::Run(format!("the kernel did not put the policy into force ({error:#}){why}"))
        })?;
        let meter = Meter::new(&self.name, topology.levels()[0].len());
        let cpu_ids = topology.cpu_ids();
        Ok(Present { _link: link, skeleton, _home: home, meter, cpu_ids, machine })
    }

    fn admit(&self) -> Result<Admitted, Failure> {
        let promises = self.promised.is_some();
        admit(&self.policy, self.code, self.slice, self.scope, &self.name, promises)
    }

    /// Looks what has become of it. Cheap: a few times a second is fine.
    pub fn poll(&mut self) -> Result<Poll, Failure> {
        let Some(ending) = self.present.as_ref().and_then(|present| ending(&present.skeleton))
        else {
            return Ok(Poll::InForce);
        };
        if !ending.restart {
            return Ok(Poll::Ended(ending));
        }
        self.present = None;
        self.promised.iter_mut().flatten().for_each(Promised::begin);
        self.present = Some(self.enter()?);
        Ok(Poll::Restarted)
    }
}

/// What a policy would do here.
pub struct DryRun {
    /// Its name in /sys.
    pub name: String,
    /// The CPUs that share a queue, queue by queue; none of a policy in a file, which makes its own.
    pub queues: Vec<Vec<usize>>,
    /// What its programs cost this kernel's verifier, which took them.
    pub costs: Vec<Cost>,
}

/// Brings a policy through this kernel's verifier, with what keeps promises or without, and puts nothing into
/// force; fails as [`load_code`] does.
pub fn dry_run(policy: &PolicySpec, code: Code, promises: bool) -> Result<DryRun, Failure> {
    check(policy)?;
    let name = name(&policy.name);
    let mut admitted = admit(policy, code, None, Scope::Machine, &name, promises)?;
    let level = admitted.options.queue_level();
    Ok(DryRun {
        name,
        queues: level.map_or(Vec::new(), |level| admitted.topology.levels()[level].clone()),
        costs: costs(&mut admitted.skeleton)?,
    })
}

/// Programs that this kernel's verifier took. Dropped in this order.
struct Admitted {
    skeleton: BpfSkel<'static>,
    home: Home,
    topology: Topology,
    options: PolicyOptions,
}

fn admit(
    policy: &PolicySpec,
    code: Code,
    slice: Option<Nanos>,
    scope: Scope,
    name: &str,
    promises: bool,
) -> Result<Admitted, Failure> {
    let topology = Topology::here()?;
    let options = PolicyOptions::parse(policy, &topology.machine(), slice)?;
    let options = if keeps_quotas(policy) { options.with_quotas() } else { options };
    let options = if promises { options } else { options.without_promises() };
    if promises && !options.keeps_promises() {
        return Err(Failure::Input(format!("`{policy}` {NO_PROMISES}")));
    }
    let home = Home::new();
    let skeleton = code.during(|| open(&home, name, &options, &topology, scope))?;
    Ok(Admitted { skeleton, home, topology, options })
}
