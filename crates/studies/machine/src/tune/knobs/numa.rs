//! Threads and memory of the service on one node.

use model::Failure;

use super::{Kind, Knob, Parsed, State, census, enough};
use crate::place::{Partition, Place, cpus_of_node, nodes, supported};
use crate::platform::Platform;

/// The kind.
pub const KIND: Kind = Kind {
    name: "numa",
    value: "NODE, such as 0",
    source: "NUMA effects",
    effect: "the service's threads find their memory on their own node",
    trade_off: "one node's CPUs and memory are all that it has; an instance per node has a queue each",
    reference: "Tales section 4.5, Table 1",
    needs_service: true,
    parse,
    state,
};

struct Numa {
    node: usize,
}

fn parse(value: Option<&str>) -> Parsed {
    let node = value.and_then(|text| text.parse().ok());
    let node = node.ok_or_else(|| "expected the number of a node, such as numa=0".to_string())?;
    Ok(Box::new(Numa { node }))
}

fn state(on: &dyn Platform) -> State {
    let nodes = nodes(on);
    let shown = nodes.iter().map(|node| format!("node {node}: CPUs {}", cpus_of_node(on, *node)));
    let can = supported(on).and_then(|()| enough(nodes.len(), 2, "one node: nothing is remote"));
    State { present: census(shown), can, note: None }
}

impl Knob for Numa {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn place(&self, on: &dyn Platform, place: &mut Option<Place>) -> Result<(), Failure> {
        let place = place.get_or_insert_with(Place::anywhere);
        place.node = Some(self.node);
        if place.partition == Partition::Member {
            place.cpus = cpus_of_node(on, self.node);
        }
        Ok(())
    }
}
