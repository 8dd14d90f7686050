//! Which policy promises what, as data: read from `docs/reference/policies.md` and the files of `policy/`
//! that it names.
//!
//! What no policy promises is not checked: there is no row for it.

mod budgets;
mod fair;
mod isolated;
mod policies;

use model::scenario::{Kind, Machine, Program, Wait};
use model::{CpuId, Failure, Nanos, PolicySpec, Scenario};

pub use budgets::Budgets;
pub use fair::{Fair, Held};
pub use isolated::Isolated;
pub use policies::{PolicyOptions, names};

/// CPUs that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each alone.
    Cpu,
    /// Those of a last-level cache.
    Llc,
    /// All.
    Machine,
}

impl Scope {
    /// How many there are of it.
    pub fn count(self, machine: &Machine) -> u32 {
        match self {
            Scope::Cpu => machine.cpus,
            Scope::Llc => machine.llcs,
            Scope::Machine => 1,
        }
    }

    /// Whether two CPUs belong together.
    pub fn joins(self, machine: &Machine, a: CpuId, b: CpuId) -> bool {
        match self {
            Scope::Cpu => a == b,
            Scope::Llc => machine.llc_of(a) == machine.llc_of(b),
            Scope::Machine => true,
        }
    }
}

/// No CPU idles while a thread waits within its reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// How far that is.
    pub scope: Scope,
    /// Whether that holds, too, once a thread may not run everywhere.
    pub restricted: bool,
    /// Whether only services are promised anything.
    pub services_only: bool,
}

/// First come, first started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InOrder {
    /// CPUs that share a queue.
    pub scope: Scope,
    /// A thread whose burst has reached this has no place until it is empty; [`Nanos::NEVER`]: all keep
    /// theirs.
    pub burst_limit: Nanos,
    /// Whether a thread whose bursts are much longer than those of its process has none.
    pub helpers: bool,
    /// One that has waited for so long goes first, for one turn, and to the end of the queue;
    /// [`Nanos::NEVER`]: no thread does.
    pub starvation_limit: Nanos,
    /// Whether threads of different processes stand in one order.
    pub across_processes: bool,
    /// Whether a thread came when its request came to the machine, and not when it woke.
    pub by_request: bool,
    /// Whether only services are promised anything.
    pub services_only: bool,
    /// Whether it holds only while nothing about the machine and its threads changes.
    pub unchanged: bool,
}

impl InOrder {
    /// Whether it is promised to a kind of program. Threads that yield come anew, and no event tells when.
    pub fn covers(&self, kind: &Kind) -> bool {
        match kind {
            Kind::Service(_) => true,
            Kind::ForkJoin { wait: Wait::Yield, .. } => false,
            _ => !self.services_only,
        }
    }
}

/// What a policy promises on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Promises {
    /// Whether and how far it conserves work.
    pub conserving: Option<Reach>,
    /// Whether no CPU idles for long beside a thread that may run there, anywhere on the machine.
    pub busy: bool,
    /// Whether and where it serves in order.
    pub order: Option<InOrder>,
    /// Whether groups are held to their quotas.
    pub quotas: bool,
    /// How long a thread waits at most.
    pub wait: Option<Nanos>,
    /// How evenly it divides.
    pub fair: Option<Fair>,
    /// How far a group may exceed its weight.
    pub held: Option<Held>,
    /// How far a group that waits is kept from what its weight is worth.
    pub isolated: Option<Isolated>,
    /// What groups with promises may take, and leave the others.
    pub budgets: Option<Budgets>,
}

/// Queues that an idle CPU asks beside its own before it gives up (`RG_STEAL_ASKED` in
/// `policy/balance/steal.h`).
const QUEUES_ASKED: u32 = 8;

/// One choice in so many of a CPU looks for the longest waiter (`policy/pick/starvation.h`), from this wait
/// on.
const STARVATION_CHOICES: u64 = 16;
const STARVATION_LIMIT: Nanos = Nanos::from_secs(6);

/// No thread waits longer: a third of what the kernel's watchdog allows (`SCX_WATCHDOG_MAX_TIMEOUT`, 30 s).
const LONGEST_WAIT: Nanos = Nanos::from_secs(10);

impl Promises {
    /// What a policy promises in a scenario. [`Failure::Input`] for an unknown name.
    pub fn of(policy: &PolicySpec, scenario: &Scenario) -> Result<Promises, Failure> {
        let promises = match policy.name.as_str() {
            "cfs" | "eevdf" => Promises { quotas: true, ..Promises::default() },
            "rr" => Promises::default(),
            "fifo" => fifo(scenario),
            _ => of_chosen(&PolicyOptions::read(policy, scenario)?, scenario),
        };
        Ok(if answers_late(scenario) {
            Promises { conserving: None, order: None, ..promises }
        } else {
            promises
        })
    }
}

/// Whether a CPU may be long in coming: it has to wake up, or an interrupt has it. A thread that was given to
/// it waits there, while others, that came later or may not run there, start elsewhere.
fn answers_late(scenario: &Scenario) -> bool {
    let on = &scenario.mechanisms;
    on.interrupts.is_some() || on.idle.is_some() || on.reschedule_interrupt > Nanos::ZERO
}

/// SCHED_FIFO runs M threads on M CPUs, and those of one CPU in turn; what the fair server displaces for
/// normal threads is not pulled. Affinities make it an approximation (no push of a running thread for one
/// that is pinned).
fn fifo(scenario: &Scenario) -> Promises {
    let service = |program: &Program| matches!(program.kind, Kind::Service(_));
    let alone = scenario.programs.iter().all(service);
    let everywhere = Reach { scope: Scope::Machine, restricted: false, services_only: true };
    let in_turn = InOrder {
        scope: Scope::Cpu,
        burst_limit: Nanos::NEVER,
        helpers: false,
        starvation_limit: Nanos::NEVER,
        across_processes: true,
        by_request: false,
        services_only: true,
        unchanged: true,
    };
    Promises {
        conserving: alone.then_some(everywhere),
        order: Some(in_turn),
        ..Promises::default()
    }
}

fn of_chosen(options: &PolicyOptions, scenario: &Scenario) -> Promises {
    Promises {
        conserving: reach(options, &scenario.machine),
        busy: reach(options, &scenario.machine).is_some() && finds_work(options, scenario),
        order: in_order(options),
        quotas: true,
        wait: longest_wait(options, scenario),
        fair: Fair::of(options, scenario),
        held: Held::of(options, scenario),
        isolated: Isolated::of(options, scenario),
        budgets: Budgets::of(options, scenario),
    }
}

/// A CPU idles only where no queue that it asks has work for it, whatever other threads wait there.
///
/// `pick=credit` keeps no index, by which other balances than its own know where a thread waits. Nothing is
/// promised then.
fn reach(options: &PolicyOptions, machine: &Machine) -> Option<Reach> {
    if options.word("pick") == "credit" && options.word("balance") != "credit" {
        return None;
    }
    let own = options.scope;
    let asks_all = own.count(machine) <= QUEUES_ASKED + 1;
    let scope = match options.word("balance") {
        "credit" => Scope::Machine,
        "none" => own,
        _ if asks_all => Scope::Machine,
        _ => own,
    };
    Some(Reach { scope, restricted: true, services_only: false })
}

/// Whether an idle CPU finds work anywhere. With a queue for each CPU and many of them it may not
/// (`docs/reference/swarm.md`, Not promised).
fn finds_work(options: &PolicyOptions, scenario: &Scenario) -> bool {
    let few = options.scope != Scope::Cpu || scenario.machine.cpus <= QUEUES_ASKED + 1;
    options.word("balance") != "none" && few
}

/// With `requeue=tail` a place lasts for a slice only; without pools there is no sibling to be in order with.
/// `balance=credit` takes the first thread with credit before its siblings without.
fn in_order(options: &PolicyOptions) -> Option<InOrder> {
    let pools = options.word("pick") == "process" && options.word("balance") != "credit";
    let by_request = options.word("order") == "arrival";
    let first_come = by_request || options.word("order") == "fcfs";
    let kept = first_come && options.word("requeue") == "head";
    let promise = InOrder {
        scope: options.scope,
        burst_limit: options.burst_limit(),
        helpers: options.burst_limit() != Nanos::NEVER,
        starvation_limit: if options.is("starvation_limit") {
            STARVATION_LIMIT
        } else {
            Nanos::NEVER
        },
        across_processes: false,
        by_request,
        services_only: false,
        unchanged: false,
    };
    (pools && kept).then_some(promise)
}

/// Every 16th choice of a CPU lets the head of a queue go first once it has waited for too long, so that
/// no thread comes near the kernel's watchdog (`policy/pick/starvation.h`); with too many threads nothing
/// can keep them from it.
fn longest_wait(options: &PolicyOptions, scenario: &Scenario) -> Option<Nanos> {
    let in_order = options.word("pick") == "process" && options.word("order") == "fcfs";
    let threads = scenario.programs.iter().map(|p| u64::from(p.kind.threads())).sum::<u64>();
    let all_late = STARVATION_LIMIT + Nanos(STARVATION_CHOICES * threads * options.quantum().0);
    (in_order && options.is("starvation_limit") && all_late < LONGEST_WAIT).then_some(LONGEST_WAIT)
}
