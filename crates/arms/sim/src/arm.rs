//! The sim arm: from a policy's name to a run.

use model::change::Change;
use model::event::Tables;
use model::{Arm, Events, Failure, PolicySpec, Scenario, Silent, Trace, Watch};

use crate::class::ext::Ext;
use crate::class::fair::{Cfs, Eevdf};
use crate::class::rt;
use crate::costs::Costs;
use crate::events::{EventQueue, Tournament};
use crate::kernel::{Kernel, Run, Setup, simulate_changing};
use crate::observer::{EventLog, Observer};
use crate::stepped::{Stepped, first_service, without_clients};

/// The simulator as an arm: any machine, no privileges, the same trace for the same seed.
pub struct SimArm;

/// What a policy's name stands for.
#[derive(Clone, Copy)]
enum Choice {
    /// Linux 6.1's default class.
    Cfs,
    /// Linux 7.2's default class.
    Eevdf,
    /// Services above EEVDF.
    Realtime(rt::Kind),
    /// A policy behind the seam, under sched_ext.
    Ext,
}

/// Classes of the kernel itself, which have no options.
const CLASSES: [(&str, Choice); 4] = [
    ("cfs", Choice::Cfs),
    ("eevdf", Choice::Eevdf),
    ("fifo", Choice::Realtime(rt::Kind::Fifo)),
    ("rr", Choice::Realtime(rt::Kind::RoundRobin)),
];

impl Choice {
    /// The modelled kernel, as the trace names it.
    fn kernel(self) -> &'static str {
        match self {
            Choice::Cfs => "6.1 CFS (modelled)",
            Choice::Eevdf => "7.2 EEVDF (modelled)",
            Choice::Realtime(rt::Kind::Fifo) => "7.2 SCHED_FIFO above EEVDF (modelled)",
            Choice::Realtime(rt::Kind::RoundRobin) => "7.2 SCHED_RR above EEVDF (modelled)",
            Choice::Ext => "7.2 sched_ext (modelled)",
        }
    }

    fn realtime(self) -> Option<rt::Kind> {
        match self {
            Choice::Realtime(kind) => Some(kind),
            Choice::Cfs | Choice::Eevdf | Choice::Ext => None,
        }
    }
}

/// All names that the arm answers to.
pub fn names() -> Vec<&'static str> {
    let classes = CLASSES.iter().map(|(name, _)| *name);
    classes.chain(policy_native::policies().map(|(name, _)| name)).collect()
}

fn choose(policy: &PolicySpec) -> Result<Choice, Failure> {
    let Some((name, choice)) = CLASSES.into_iter().find(|(name, _)| *name == policy.name) else {
        let known = names();
        let is_known = known.contains(&policy.name.as_str());
        return if is_known || policy.file().is_some() {
            Ok(Choice::Ext)
        } else {
            Err(unknown(policy, &known))
        };
    };
    match policy.options.keys().next() {
        Some(option) => Err(Failure::Input(format!(
            "policy `{policy}`: {name} is the kernel's own and has no options; leave `{option}` out"
        ))),
        None => Ok(choice),
    }
}

fn unknown(policy: &PolicySpec, known: &[&str]) -> Failure {
    let hint = model::did_you_mean(&policy.name, known);
    Failure::Input(format!(
        "policy `{}` is unknown to the simulator{hint}: it knows {}, and policies in files (./NAME.c)",
        policy.name,
        known.join(", ")
    ))
}

/// [`Failure::Input`] where a foreign program is to run: the model does not know what it does.
fn check_kinds(scenario: &Scenario) -> Result<(), Failure> {
    let Some(program) = scenario.of_kernels_alone() else { return Ok(()) };
    let name = &program.name;
    Err(Failure::Input(format!("`{name}` is a command, which only kernels run: use --on vm")))
}

/// [`SimArm::run`](Arm::run) with a choice of the event queue, which must not change the trace.
pub fn run_on<Q: EventQueue>(
    scenario: &Scenario,
    policy: &PolicySpec,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Run<Q>, Failure> {
    observe(scenario, policy, seed, watch, ())
}

/// [`run_on`] with an observer, which must not change the trace.
pub fn observe<Q: EventQueue, O: Observer>(
    scenario: &Scenario,
    policy: &PolicySpec,
    seed: u64,
    watch: &dyn Watch,
    observer: O,
) -> Result<Run<Q>, Failure> {
    observe_changing(scenario, policy, seed, watch, Vec::new(), observer)
}

/// [`observe`] while things happen to the machine and its threads, in the order of their moments.
pub fn observe_changing<Q: EventQueue, O: Observer>(
    scenario: &Scenario,
    policy: &PolicySpec,
    seed: u64,
    watch: &dyn Watch,
    changes: Vec<Change>,
    observer: O,
) -> Result<Run<Q>, Failure> {
    check_kinds(scenario)?;
    let choice = choose(policy)?;
    let setup = Setup {
        scenario,
        policy: &policy.to_string(),
        kernel: choice.kernel(),
        seed,
        realtime: choice.realtime(),
        costs: Costs::DEFAULT,
        watch,
    };
    match choice {
        Choice::Cfs => simulate_changing(&setup, Cfs::of(scenario, seed), changes, observer),
        Choice::Eevdf | Choice::Realtime(_) => {
            simulate_changing(&setup, Eevdf::of(scenario, seed), changes, observer)
        }
        Choice::Ext => {
            simulate_changing(&setup, Ext::new(scenario, policy, seed)?, changes, observer)
        }
    }
}

/// A scenario's machine under a policy whose first service's requests come from outside. [`Failure::Input`]
/// for an unknown policy, or a scenario without a service.
pub fn stepped(scenario: &Scenario, policy: &PolicySpec, seed: u64) -> Result<Stepped, Failure> {
    check_kinds(scenario)?;
    let choice = choose(policy)?;
    if first_service(scenario).is_none() {
        let name = &scenario.name;
        return Err(Failure::Input(format!(
            "{name}: no service that could be asked; expected one"
        )));
    }
    if let Some((own, before)) = scenario.behind() {
        let name = &scenario.name;
        return Err(Failure::Input(format!(
            "{name}: `{own}` is behind `{before}`, and requests from outside are for one service; leave `behind` out"
        )));
    }
    let scenario = &without_clients(scenario);
    let costs = Costs::DEFAULT;
    let setup = Setup {
        scenario,
        policy: &policy.to_string(),
        kernel: choice.kernel(),
        seed,
        realtime: choice.realtime(),
        costs,
        watch: &Silent,
    };
    match choice {
        Choice::Cfs => {
            let kernel = Kernel::new(&setup, Cfs::of(scenario, seed));
            Stepped::new(kernel, scenario, &costs, seed)
        }
        Choice::Eevdf | Choice::Realtime(_) => {
            let kernel = Kernel::new(&setup, Eevdf::of(scenario, seed));
            Stepped::new(kernel, scenario, &costs, seed)
        }
        Choice::Ext => {
            let kernel = Kernel::new(&setup, Ext::new(scenario, policy, seed)?);
            Stepped::new(kernel, scenario, &costs, seed)
        }
    }
}

impl Arm for SimArm {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn machine(&self) -> String {
        "the scenario's machine, simulated".to_string()
    }

    fn exclusive(&self) -> bool {
        false
    }

    fn check(&self, scenario: &Scenario, policy: &PolicySpec) -> Result<(), Failure> {
        check_kinds(scenario)?;
        match choose(policy)? {
            Choice::Ext => {
                Ext::new(scenario, policy, 0).map(|_| ()).map_err(|failure| match failure {
                    Failure::Run(why) => Failure::Run(format!("{policy}: {why}")),
                    other => other,
                })
            }
            Choice::Cfs | Choice::Eevdf | Choice::Realtime(_) => Ok(()),
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
        events: Events,
        watch: &dyn Watch,
    ) -> Result<Trace, Failure> {
        if events == Events::Omitted {
            return run_on::<Tournament>(scenario, policy, seed, watch).map(|run| run.trace);
        }
        let mut log = EventLog::default();
        let run = observe::<Tournament, _>(scenario, policy, seed, watch, &mut log)?;
        let EventLog { events, tables: Tables { cpu_sets, .. } } = log;
        let tables = Tables { cpu_sets, ..run.trace.tables };
        Ok(Trace { events: Some(events), tables, ..run.trace })
    }
}
