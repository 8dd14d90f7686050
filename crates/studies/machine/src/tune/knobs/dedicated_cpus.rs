//! CPUs for the service alone.

use model::Failure;

use super::{Kind, Knob, Parsed, State, cpus_from, enough};
use crate::cpus::Cpus;
use crate::place::{Partition, Place, online, supported};
use crate::platform::Platform;
use crate::target::GROUPS;

/// The kind.
pub const KIND: Kind = Kind {
    name: "dedicated-cpus",
    value: "CPUS, such as 2-3",
    source: "background processes",
    effect: "nothing else runs on the service's CPUs: no other process, no interrupt, no movable kernel thread",
    trade_off: "the CPUs idle when no request is pending; everything else has fewer",
    reference: "Tales section 4.1, Table 1; 10-ms computing section IV",
    needs_service: true,
    parse,
    state,
};

struct Dedicated {
    cpus: Cpus,
}

fn parse(value: Option<&str>) -> Parsed {
    Ok(Box::new(Dedicated { cpus: cpus_from(value)? }))
}

fn state(on: &dyn Platform) -> State {
    let isolated = on.read(&format!("{GROUPS}/cpuset.cpus.isolated")).unwrap_or_default();
    let all = online(on).unwrap_or_default();
    let present = format!(
        "CPUs {all}, isolated: {}",
        Some(isolated.trim()).filter(|t| !t.is_empty()).unwrap_or("none")
    );
    let alone = "one CPU cannot be divided: use real-time";
    let can = supported(on).and_then(|()| enough(all.len(), 2, alone));
    State { present, can, note: None }
}

impl Knob for Dedicated {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn place(&self, _on: &dyn Platform, place: &mut Option<Place>) -> Result<(), Failure> {
        let place = place.get_or_insert_with(Place::anywhere);
        place.cpus = self.cpus.clone();
        place.partition = Partition::of(&self.cpus);
        Ok(())
    }
}
