//! Interrupts of a network card with a queue for each CPU (Tales section 4.4). A request's arrival takes a
//! CPU for the interrupt, then for the softirq that brings it to its socket. The running thread waits.
//!
//! While the softirq is at work the card stays silent (NAPI): requests that come meanwhile cost a softirq
//! each and no interrupt. The time counts as CPU time of the thread that was interrupted, as in kernels
//! without `CONFIG_IRQ_TIME_ACCOUNTING`, to which Debian's belong.

use std::collections::VecDeque;

use model::scenario::{Interrupts, Machine};
use model::{CpuId, Nanos};

/// A request on its way to its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Index of the service.
    pub program: usize,
    /// The connection that carries it.
    pub connection: u32,
}

/// What a CPU's interrupt is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing.
    Quiet,
    /// It waits for its CPU to leave an idle state.
    Waking,
    /// The interrupt.
    Hard,
    /// The softirq.
    Soft,
}

/// The interrupt lines of all CPUs.
pub struct Lines {
    cpus: Vec<CpuId>,
    /// What the interrupt takes.
    pub hard: Nanos,
    /// What the softirq takes a request.
    pub soft: Nanos,
    /// The event slot of CPU 0's line; the others follow.
    first_slot: u32,
    lines: Vec<Line>,
}

#[derive(Clone)]
struct Line {
    phase: Phase,
    packets: VecDeque<Packet>,
}

impl Lines {
    /// Lines on a machine, all quiet.
    pub fn new(interrupts: &Interrupts, machine: &Machine, first_slot: u32) -> Lines {
        let line = Line { phase: Phase::Quiet, packets: VecDeque::new() };
        Lines {
            cpus: interrupts.cpus.of(machine),
            hard: interrupts.hard,
            soft: interrupts.soft,
            first_slot,
            lines: vec![line; machine.cpus as usize],
        }
    }

    /// The CPU that a packet interrupts: a connection keeps its queue (RSS) as long as that CPU is online.
    pub fn cpu_of(&self, packet: Packet, is_online: impl Fn(CpuId) -> bool) -> CpuId {
        let count = self.cpus.len();
        let first = packet.program + packet.connection as usize;
        let turn = (0..count).map(|step| self.cpus[(first + step) % count]);
        turn.into_iter().find(|&cpu| is_online(cpu)).unwrap_or(CpuId(0))
    }

    /// A packet has come for a CPU. Whether its line was quiet.
    pub fn push(&mut self, cpu: CpuId, packet: Packet) -> bool {
        let line = &mut self.lines[cpu.index()];
        line.packets.push_back(packet);
        line.phase == Phase::Quiet
    }

    /// The packet that a softirq has brought to its socket.
    pub fn pop(&mut self, cpu: CpuId) -> Option<Packet> {
        self.lines[cpu.index()].packets.pop_front()
    }

    /// Whether more wait.
    pub fn has_more(&self, cpu: CpuId) -> bool {
        !self.lines[cpu.index()].packets.is_empty()
    }

    /// What a CPU's line is at.
    pub fn phase(&self, cpu: CpuId) -> Phase {
        self.lines[cpu.index()].phase
    }

    /// Whether it is at nothing.
    pub fn is_quiet(&self, cpu: CpuId) -> bool {
        self.phase(cpu) == Phase::Quiet
    }

    /// It goes on to another phase.
    pub fn enter(&mut self, cpu: CpuId, phase: Phase) {
        self.lines[cpu.index()].phase = phase;
    }

    /// The CPU of a line's event slot.
    pub fn cpu_at(&self, slot: u32) -> CpuId {
        CpuId(slot - self.first_slot)
    }

    /// The event slot of a CPU's line.
    pub fn slot(&self, cpu: CpuId) -> u32 {
        self.first_slot + cpu.0
    }
}
