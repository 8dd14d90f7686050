//! Interrupts between CPUs: a CPU that wakes a thread for another one has to interrupt that CPU, which takes
//! its time before it chooses.
//!
//! The time counts as CPU time of the thread that was interrupted, as that of other interrupts. A CPU that
//! asks itself needs none, nor does one that an interrupt has anyway: it looks when that is over.

use model::{CpuId, Nanos};

/// The kicks of all CPUs.
pub struct Kicks {
    /// From being sent to the end of its handler.
    pub span: Nanos,
    /// The event slot of CPU 0's; the others follow.
    first_slot: u32,
    until: Vec<Option<Nanos>>,
}

impl Kicks {
    /// On so many CPUs, none under way.
    pub fn new(span: Nanos, cpus: u32, first_slot: u32) -> Kicks {
        Kicks { span, first_slot, until: vec![None; cpus as usize] }
    }

    /// Until when a CPU is interrupted, if it is.
    pub fn until(&self, cpu: CpuId) -> Option<Nanos> {
        self.until[cpu.index()]
    }

    /// A CPU is interrupted, or not any more.
    pub fn set(&mut self, cpu: CpuId, until: Option<Nanos>) {
        self.until[cpu.index()] = until;
    }

    /// The event slot of a CPU.
    pub fn slot(&self, cpu: CpuId) -> u32 {
        self.first_slot + cpu.0
    }

    /// The CPU of an event slot, if it is one of these.
    pub fn cpu_of(&self, slot: u32) -> Option<CpuId> {
        let cpu = slot.checked_sub(self.first_slot)?;
        ((cpu as usize) < self.until.len()).then_some(CpuId(cpu))
    }
}
