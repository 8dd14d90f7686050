//! The topology as the tables of `topology.bpf.h`.

use model::Failure;

use crate::skeleton::types::{rg_place, rodata_members, rodata_places};
use crate::topology::Topology;

/// Fills the tables; [`Failure::Machine`] for more CPUs than they hold.
pub fn fill(
    topology: &Topology,
    places: &mut rodata_places,
    members: &mut rodata_members,
) -> Result<(), Failure> {
    let most = places.rg_places[0].len();
    if topology.cpu_ids() > most {
        let cpus = topology.cpu_ids();
        return Err(Failure::Machine(format!(
            "{cpus} CPUs: policies are built for {most} at most"
        )));
    }
    let rows = places.rg_places.iter_mut().zip(&mut members.rg_members);
    for (domains, (places, members)) in topology.levels().iter().zip(rows) {
        let mut first = 0;
        for (domain, cpus) in domains.iter().enumerate() {
            for (at, &cpu) in cpus.iter().enumerate() {
                members[first + at] = cpu as u16;
                places[cpu] = rg_place {
                    domain: domain as u16,
                    first: first as u16,
                    size: cpus.len() as u16,
                    at: at as u16,
                };
            }
            first += cpus.len();
        }
    }
    Ok(())
}
