//! Packets processed on CPUs of their own, whatever CPU the device interrupts (RPS), and sent by queues of
//! those (XPS).

use model::Failure;

use super::{Kind, Knob, Parsed, State, census, check_online, cpus_from, enough};
use crate::cpus::Cpus;
use crate::place::privileged;
use crate::platform::Platform;
use crate::target::Target;
use crate::transaction::Transaction;
use crate::tune::scope::Scope;

const DEVICES: &str = "/sys/class/net";

/// The kind.
pub const KIND: Kind = Kind {
    name: "packet-steering",
    value: "CPUS that process packets, such as 0",
    source: "interrupt processing",
    effect: "as irq-affinity, where a device has too few interrupts, and for loopback",
    trade_off: "an interrupt between CPUs for every batch of packets",
    reference: "Tales section 4.4; Linux Documentation/networking/scaling.rst",
    needs_service: false,
    parse,
    state,
};

struct Steering {
    cpus: Cpus,
}

fn parse(value: Option<&str>) -> Parsed {
    Ok(Box::new(Steering { cpus: cpus_from(value)? }))
}

/// The masks of all queues; a device with one queue to send by has none there.
fn queues(on: &dyn Platform) -> Vec<Target> {
    let mut paths = Vec::new();
    for device in on.list(DEVICES).unwrap_or_default() {
        let folder = format!("{DEVICES}/{device}/queues");
        for queue in on.list(&folder).unwrap_or_default() {
            let file = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            paths.push(format!("{folder}/{queue}/{file}"));
        }
    }
    paths.into_iter().filter(|path| on.read(path).is_ok()).map(Target::mask).collect()
}

fn state(on: &dyn Platform) -> State {
    let all = queues(on);
    let masks = all.iter().filter_map(|target| target.read(on).ok().flatten());
    let cpus = masks
        .filter_map(|mask| Cpus::read_mask(&mask))
        .map(|cpus| if cpus.is_empty() { "off".to_string() } else { cpus.to_string() });
    let present = census(cpus);
    let none = "no network device here has queues";
    let can = privileged(on).and_then(|()| enough(all.len(), 1, none));
    State { present, can, note: None }
}

impl Knob for Steering {
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
        queues(on).iter().try_for_each(|queue| changes.offer(queue, &self.cpus.mask()))
    }
}
