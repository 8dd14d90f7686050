//! A policy's memory as it was before it ran, so that programs that the verifier took go into force again.

use std::{io, iter};

use libbpf_rs::libbpf_sys::{BPF_F_MMAPABLE, BPF_F_RDONLY_PROG, bpf_map__initial_value};
use libbpf_rs::skel::Skel;
use libbpf_rs::{AsRawLibbpf, MapCore, MapFlags, MapMut, MapType, num_possible_cpus};

use crate::skeleton::BpfSkel;

/// How the maps of programs begin, in the object's order.
pub struct Beginning(Vec<Start>);

/// How a map begins.
enum Start {
    /// Variables with these values.
    Values(Vec<u8>),
    /// Variables of zeros, of which so many bytes must be cleared.
    Zeros(usize),
    /// Elements, or what is frozen.
    Other,
}

impl Beginning {
    /// That of programs that have not run yet.
    pub fn of(skeleton: &mut BpfSkel) -> Beginning {
        Beginning(skeleton.object_mut().maps_mut().map(|mut map| Start::of(&mut map)).collect())
    }

    /// Begins programs anew that are out of force.
    pub fn restore(&self, skeleton: &mut BpfSkel) -> libbpf_rs::Result<()> {
        let maps = &skeleton.maps;
        let groups = maps.bss_data.as_ref().map_or(0, |own| own.rg_group_allocator.allocated);
        end_timers(&maps.rg_group_timers, groups + 1)?;
        end_timers(&maps.rg_cpu_timers, num_possible_cpus()? as u32)?;
        let mut maps = skeleton.object_mut().maps_mut().zip(&self.0);
        maps.try_for_each(|(mut map, start)| start.restore(&mut map))
    }
}

impl Start {
    fn of(map: &mut MapMut) -> Start {
        let flags = map.info().map_or(0, |info| info.info.map_flags);
        let is_shared = flags & (BPF_F_MMAPABLE | BPF_F_RDONLY_PROG) == BPF_F_MMAPABLE;
        if map.map_type() != MapType::Array || !is_shared {
            return Start::Other;
        }
        if !map.name().to_string_lossy().contains(".bss") {
            return Start::Values(variables(map).to_vec());
        }
        let bytes = to_clear(map);
        // The first look at a page takes longer than the next, for which no policy is in force.
        clear(&mut variables(map)[..bytes]);
        Start::Zeros(bytes)
    }

    fn restore(&self, map: &mut MapMut) -> libbpf_rs::Result<()> {
        match self {
            Start::Values(values) => variables(map).copy_from_slice(values),
            Start::Zeros(bytes) => clear(&mut variables(map)[..*bytes]),
            Start::Other => empty(map)?,
        }
        Ok(())
    }
}

/// The memory that a map's variables share with the programs, which must be out of force.
fn variables<'a>(map: &'a mut MapMut) -> &'a mut [u8] {
    let mut size = 0;
    // SAFETY: libbpf maps the variables of a loaded object for as long as the object lives, which `map`
    // borrows, and says how many bytes they are.
    unsafe {
        let at = bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &raw mut size);
        assert!(!at.is_null(), "libbpf maps what it calls mappable");
        std::slice::from_raw_parts_mut(at.cast(), size as usize)
    }
}

/// What a map of elements holds before a program ran. Locks and references to threads (arrays) are free when
/// the programs are out of force; those of threads (task storage) are written when a thread comes. Sockets
/// have what they had.
fn empty(map: &MapMut) -> libbpf_rs::Result<()> {
    match map.map_type() {
        MapType::StructOps | MapType::TaskStorage | MapType::SkStorage | MapType::Array => Ok(()),
        MapType::Hash => {
            let keys: Vec<Vec<u8>> = map.keys().collect();
            keys.iter().try_for_each(|key| map.delete(key))
        }
        MapType::Stack | MapType::Queue => {
            let mut rows = iter::from_fn(|| map.lookup_and_delete(&[]).transpose());
            rows.try_for_each(|row| row.map(drop))
        }
        _ => Err(io::Error::from(io::ErrorKind::Unsupported).into()),
    }
}

/// How many bytes of zeros must be cleared. Rows that are taken are cleared then, and 0 is nobody's row.
fn to_clear(map: &MapMut) -> usize {
    const TAKEN: [&str; 3] = [".bss.threads", ".bss.tasks", ".bss.processes"];
    const FIRST_ROW: usize = 4096;
    let is_taken = TAKEN.iter().any(|name| map.name() == *name);
    let size = map.value_size() as usize;
    if is_taken { size.min(FIRST_ROW) } else { size }
}

/// Writes where something stands alone: of 45 MB a small machine uses little.
fn clear(memory: &mut [u8]) {
    let used = |part: &&mut [u8]| part.iter().fold(0, |all, byte| all | byte) != 0;
    memory.chunks_mut(4096).filter(used).for_each(|part| part.fill(0));
}

/// The first rows' timers. One ends when its value is replaced, whatever by.
fn end_timers(timers: &MapMut, rows: u32) -> libbpf_rs::Result<()> {
    let rows = rows.min(timers.max_entries());
    let keys: Vec<u8> = (0..rows).flat_map(u32::to_ne_bytes).collect();
    let values = vec![0; timers.value_size() as usize * rows as usize];
    timers.update_batch(&keys, &values, rows, MapFlags::ANY, MapFlags::ANY)
}
