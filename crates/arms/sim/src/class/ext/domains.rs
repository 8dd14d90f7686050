//! The machine's domains as a policy finds them: by arithmetic, or by tables where CPUs are offline.
//!
//! With a CPU missing domains are numbered anew, without gaps, as the policy's loader numbers what it finds.

use model::CpuId;
use model::scenario::Machine;

use crate::affinity::Affinities;

/// Levels of [`policy_native::Level`].
const LEVELS: usize = 5;

/// The domains of all levels.
pub struct Domains {
    /// CPUs of a domain while all are online: policies ask for many domains, so divided once.
    sizes: [u32; LEVELS],
    /// With a CPU missing: for each level where each CPU stands, and the online CPUs in order.
    tables: Option<([Vec<Place>; LEVELS], Vec<CpuId>)>,
}

/// Where a CPU stands on a level; the CPUs of a domain stand side by side among those online.
#[derive(Clone, Copy, Default)]
struct Place {
    domain: u32,
    first: u32,
    /// 0: the CPU is offline.
    size: u32,
    at: u32,
}

impl Domains {
    /// Those of the CPUs that are online.
    pub fn new(machine: &Machine, affinities: &Affinities) -> Domains {
        let Machine { cpus, smt, llcs, nodes } = *machine;
        let sizes = [1, smt, cpus / llcs, cpus / nodes, cpus];
        let online: Vec<CpuId> =
            (0..cpus).map(CpuId).filter(|&cpu| affinities.is_online(cpu)).collect();
        let whole = online.len() == cpus as usize;
        let tables = || (sizes.map(|size| places(cpus, &online, size)), online.clone());
        Domains { sizes, tables: (!whole).then(tables) }
    }

    /// The number of the domain that holds a CPU.
    #[inline]
    pub fn of(&self, cpu: CpuId, level: usize) -> u32 {
        match &self.tables {
            None => cpu.0 / self.sizes[level],
            Some((places, _)) => places[level][cpu.index()].domain,
        }
    }

    /// The i-th CPU of the domain that holds a CPU, from that one on.
    #[inline]
    pub fn cpu_in(&self, cpu: CpuId, level: usize, i: u32) -> Option<CpuId> {
        let Some((places, online)) = &self.tables else {
            let size = self.sizes[level];
            let at = around(cpu.0 % size, size, i)?;
            return Some(CpuId(cpu.0 - cpu.0 % size + at));
        };
        let place = places[level][cpu.index()];
        let at = around(place.at, place.size, i)?;
        Some(online[(place.first + at) as usize])
    }
}

/// The place `i` steps after `own` in a circle of `size`.
fn around(own: u32, size: u32, i: u32) -> Option<u32> {
    if i >= size {
        return None;
    }
    Some(if i < size - own { own + i } else { i - (size - own) })
}

fn places(cpus: u32, online: &[CpuId], size: u32) -> Vec<Place> {
    let mut places = vec![Place::default(); cpus as usize];
    let domains = online.chunk_by(|a, b| a.0 / size == b.0 / size);
    let mut first = 0;
    for (domain, members) in (0..).zip(domains) {
        for (at, cpu) in (0..).zip(members) {
            places[cpu.index()] = Place { domain, first, size: members.len() as u32, at };
        }
        first += members.len() as u32;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_lose_the_cpus_that_are_offline() {
        let machine = Machine { cpus: 8, smt: 2, llcs: 2, nodes: 1 };
        let mut affinities = Affinities::new(8);
        let around = |domains: &Domains, cpu, level| -> Vec<u32> {
            (0..).map_while(|i| domains.cpu_in(CpuId(cpu), level, i)).map(|cpu| cpu.0).collect()
        };
        let whole = Domains::new(&machine, &affinities);
        assert_eq!(around(&whole, 5, 2), [5, 6, 7, 4]);
        for cpu in [2, 3, 5] {
            affinities.set_online(CpuId(cpu), false);
        }
        let parted = Domains::new(&machine, &affinities);
        assert_eq!(around(&parted, 6, 2), [6, 7, 4]);
        assert_eq!(around(&parted, 1, 2), [1, 0]);
        assert_eq!(around(&parted, 4, 1), [4]);
        assert_eq!(around(&parted, 3, 4), []);
        // Cores 0, 2 and 3 are 0 to 2 now.
        assert_eq!([0, 4, 6].map(|cpu| parted.of(CpuId(cpu), 1)), [0, 1, 2]);
        assert_eq!([1, 7].map(|cpu| parted.of(CpuId(cpu), 4)), [0, 0]);
    }
}
