//! A policy in force.

use std::fs;
use std::path::Path;

use libbpf_rs::Link;
use libbpf_rs::skel::Skel;
use model::{Failure, Nanos, PolicySpec};
use policy_native::PolicyOptions;

use crate::admit::{Admitted, Wanted};
use crate::code::Code;
use crate::costs::{Cost, costs};
use crate::ending::{Ending, ended, ending};
use crate::live;
use crate::promised::Promised;
use crate::ready::ready;
use crate::skeleton::BpfSkel;
use crate::stats::{Meter, Sample};

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

/// Dropped in this order: out of force, then the programs.
pub(crate) struct Present {
    link: Link,
    pub(crate) admitted: Admitted,
    meter: Meter,
}

/// What has become of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// It schedules.
    InForce,
    /// CPUs came or went, which ends every scheduler; it was put into force again.
    Restarted {
        /// For how long the default class scheduled: from when the kernel told the policy of its end.
        gap: Nanos,
    },
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
    loaded.present = Some(loaded.enter(None)?);
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
        self.present
            .as_mut()
            .map_or(Ok(Vec::new()), |present| costs(&mut present.admitted.skeleton))
    }

    /// Looks at everything, for statistics; `None` once it has ended.
    pub fn look(&mut self) -> Option<Sample> {
        let (present, own) = (self.present.as_mut()?, self.code == Code::BuiltIn);
        let Present { admitted, meter, .. } = present;
        Some(meter.look(&admitted.rows(own)))
    }

    /// A quick look at the active threads, several times a second while a client `watches`.
    pub fn snapshot(&mut self, watches: bool) {
        let own = self.code == Code::BuiltIn;
        let Some(present) = self.present.as_mut() else { return };
        if watches {
            present.meter.snapshot(&present.admitted.rows(own));
        } else {
            present.meter.rest();
        }
    }

    /// Puts it into force, with programs that were before if they still fit.
    fn enter(&self, mut before: Option<Admitted>) -> Result<Present, Failure> {
        loop {
            let hotplugs = hotplugs()?;
            let mut admitted = self.wanted().admit(before)?;
            let machine = admitted.topology.machine();
            let promised = self.promised.as_deref().unwrap_or_default();
            live::write(&admitted.skeleton, promised, &machine)?;
            let link = attach(&mut admitted.skeleton)?;
            if hotplugs == self::hotplugs()? {
                let meter = Meter::new(&self.name, admitted.topology.levels()[0].len());
                return Ok(Present { link, admitted, meter });
            }
            drop(link);
            before = Some(admitted);
        }
    }

    fn wanted(&self) -> Wanted<'_> {
        let promises = self.promised.is_some();
        let Loaded { policy, code, slice, scope, name, .. } = self;
        Wanted { policy, code: *code, slice: *slice, scope: *scope, name, promises }
    }

    /// Whether the kernel has ended it; see [`Loaded::poll`].
    pub(crate) fn has_ended(&self) -> bool {
        self.ending().is_some()
    }

    fn ending(&self) -> Option<Ending> {
        ending(&self.present.as_ref()?.admitted.skeleton)
    }

    /// Looks what has become of it. Cheap: a few times a second is fine.
    pub fn poll(&mut self) -> Result<Poll, Failure> {
        let Some(ending) = self.ending() else { return Ok(Poll::InForce) };
        match self.present.take_if(|_| ending.restart) {
            Some(before) => self.restart(before).map(|gap| Poll::Restarted { gap }),
            None => Ok(Poll::Ended(ending)),
        }
    }

    fn restart(&mut self, before: Present) -> Result<Nanos, Failure> {
        let Present { link, admitted, .. } = before;
        drop(link);
        let ended = ended(&admitted.skeleton);
        self.promised.iter_mut().flatten().for_each(Promised::begin);
        self.present = Some(self.enter(Some(admitted))?);
        Ok(bpf::now()?.saturating_sub(ended))
    }
}

/// Puts programs into force that are loaded. That which only looks (no `struct_ops`) stays attached.
fn attach(skeleton: &mut BpfSkel) -> Result<Link, Failure> {
    let begun = skeleton.links.scx_lib_init_probe.is_some();
    let attached = if begun { Ok(()) } else { skeleton.attach() };
    attached.and_then(|()| skeleton.maps.rearguard.attach_struct_ops()).map_err(|error| {
        let why = ending(skeleton).map_or(String::new(), |ending| format!(": {}", ending.reason));
        Failure::Run(format!("the kernel did not put the policy into force ({error:#}){why}"))
    })
}

/// How often CPUs came or went. A scheduler that is attached is told; one that is about to be is not.
fn hotplugs() -> Result<String, Failure> {
    const COUNTER: &str = "/sys/kernel/sched_ext/hotplug_seq";
    fs::read_to_string(COUNTER).map_err(|error| Failure::Machine(format!("{COUNTER}: {error}")))
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
    let (slice, scope) = (None, Scope::Machine);
    let wanted = Wanted { policy, code, slice, scope, name: &name, promises };
    let mut admitted = wanted.admit(None)?;
    let level = admitted.options.queue_level();
    Ok(DryRun {
        name,
        queues: level.map_or(Vec::new(), |level| admitted.topology.levels()[level].clone()),
        costs: costs(&mut admitted.skeleton)?,
    })
}
