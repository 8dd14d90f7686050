//! Interrupts on CPUs of their own.

use model::Failure;

use super::{Kind, Knob, Parsed, State, census, check_online, cpus_from, enough};
use crate::cpus::Cpus;
use crate::housekeeping::interrupts;
use crate::place::privileged;
use crate::platform::Platform;
use crate::proc::processes;
use crate::target::Target;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

/// The kind.
pub const KIND: Kind = Kind {
    name: "irq-affinity",
    value: "CPUS that interrupts go to, such as 0",
    source: "interrupt processing",
    effect: "requests on the other CPUs are not interrupted by packets of later ones",
    trade_off: "lower throughput if those CPUs are not busy: Tales found 1 for 3 of a service right",
    reference: "Tales section 4.4, Table 1",
    needs_service: false,
    parse,
    state,
};

struct Irq {
    cpus: Cpus,
}

fn parse(value: Option<&str>) -> Parsed {
    Ok(Box::new(Irq { cpus: cpus_from(value)? }))
}

fn state(on: &dyn Platform) -> State {
    let all = interrupts(on);
    let lists = all.iter().filter_map(|target| target.read(on).ok().flatten());
    let none = "no interrupt here has a CPU of its own choice";
    let can = privileged(on).and_then(|()| enough(all.len(), 1, none));
    State { present: census(lists), can, note: balancer(on) }
}

/// The daemon that moves interrupts by itself.
fn balancer(on: &dyn Platform) -> Option<String> {
    let runs = processes(on).ok()?.into_iter().any(|process| {
        on.read(&format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "irqbalance")
    });
    runs.then(|| "irqbalance runs and will move interrupts again: stop it first".to_string())
}

impl Knob for Irq {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check(&self, on: &dyn Platform) -> Result<(), Failure> {
        check_online(on, &self.cpus)
    }

    fn turn(
        &self,
        on: &dyn Platform,
        changes: &mut Transaction,
        _service: Option<&Scope>,
    ) -> Result<(), Failure> {
        changes.offer(&Target::mask("/proc/irq/default_smp_affinity"), &self.cpus.mask())?;
        interrupts(on).iter().try_for_each(|irq| changes.offer(irq, &self.cpus.to_string()))
    }
}
