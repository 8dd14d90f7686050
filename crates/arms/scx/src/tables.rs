//! The topology as the tables of `topology.bpf.h`.

use model::Failure;

use crate::skeleton::{BpfMaps, types::rg_place};
use crate::topology::Topology;

/// Fills the tables; [`Failure::Machine`] for more CPUs than they hold.
pub fn fill(topology: &Topology, maps: &mut BpfMaps) -> Result<(), Failure> {
    let absent = || Failure::Run("the BPF object lacks its tables: build it anew".into());
    let places = maps.bss_places_data.as_mut().ok_or_else(absent)?;
    let members = maps.bss_members_data.as_mut().ok_or_else(absent)?;
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
