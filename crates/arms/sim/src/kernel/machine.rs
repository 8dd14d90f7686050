//! Interrupts, idle states and paces at work: what they do to CPUs and threads.

use model::event::{Interrupt, What};
use model::{CpuId, Nanos, ThreadId};

use super::Kernel;
use crate::class::Class;
use crate::events::EventQueue;
use crate::machine::interrupts::{Packet, Phase};
use crate::machine::pace::{Beside, NOMINAL, rescaled};
use crate::machine::{Machinery, NET_RX, NIC};
use crate::observer::Observer;

/// Interrupts and idle states.
impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// A CPU shall choose again: whether it cannot yet, because an interrupt has it or it has to wake up
    /// first.
    #[inline]
    pub(super) fn put_off(&mut self, cpu: CpuId) -> bool {
        if self.machinery.is_none() { false } else { self.put_off_by_machine(cpu) }
    }

    fn put_off_by_machine(&mut self, cpu: CpuId) -> bool {
        // A kick has to arrive before it wakes a thread.
        let kicked = self.machinery.as_ref().is_some_and(|machinery| machinery.is_kicked(cpu));
        let idle = !kicked && self.core.current(cpu).is_none();
        let late = idle && self.awaken(cpu) > self.core.now;
        let Some(machinery) = &mut self.machinery else { return false };
        let waits = late || machinery.is_interrupted(cpu);
        machinery.put_off[cpu.index()] = waits;
        if waits {
            self.leave_blocked(cpu);
            self.arm(cpu);
        }
        waits
    }

    /// A CPU whose thread has just blocked idles until it can choose.
    fn leave_blocked(&mut self, cpu: CpuId) {
        if self.core.current(cpu).is_none() && self.clocks[cpu.index()].occupant.is_some() {
            self.switch(cpu, None, None);
        }
    }

    /// Wakes an idle CPU, if it sleeps: from when on it can work.
    fn awaken(&mut self, cpu: CpuId) -> Nanos {
        let now = self.core.now;
        let sleepers = self.machinery.as_mut().and_then(|machinery| machinery.sleepers.as_mut());
        let Some(sleepers) = sleepers else { return now };
        let left = sleepers.leave(cpu, now);
        let awake_at = sleepers.awake_at(cpu);
        if let Some((state, took)) = left {
            self.observe(What::IdleExit { cpu, state: Machinery::state_name(state), took });
        }
        awake_at.max(now)
    }

    /// A CPU has nothing to do.
    #[inline]
    pub(super) fn sleep(&mut self, cpu: CpuId) {
        let now = self.core.now;
        if let Some(machinery) = &mut self.machinery
            && !machinery.is_interrupted(cpu)
            && let Some(sleepers) = &mut machinery.sleepers
        {
            sleepers.sleep(cpu, now);
        }
    }

    /// When an idle CPU will be awake to choose, if it was asked to.
    pub(super) fn wake_time(&self, cpu: CpuId) -> Nanos {
        let Some(machinery) = &self.machinery else { return Nanos::NEVER };
        match &machinery.sleepers {
            Some(sleepers) if machinery.put_off[cpu.index()] && !machinery.is_interrupted(cpu) => {
                sleepers.awake_at(cpu)
            }
            _ => Nanos::NEVER,
        }
    }

    /// A CPU that was kept from choosing is free to.
    pub(super) fn make_up(&mut self, cpu: CpuId) {
        if let Some(machinery) = &mut self.machinery
            && std::mem::take(&mut machinery.put_off[cpu.index()])
        {
            self.core.resched.push(cpu);
        }
    }

    /// Requests that a service's client has just sent interrupt CPUs.
    pub(super) fn raise_sent(&mut self, program: usize) {
        let sent = self.programs[program].take_sent();
        for connection in sent {
            self.raise(Packet { program, connection });
        }
    }

    fn raise(&mut self, packet: Packet) {
        let Some(lines) = self.machinery.as_mut().and_then(|machinery| machinery.lines.as_mut())
        else {
            return;
        };
        let cpu = lines.cpu_of(packet, |cpu| self.core.affinities.is_online(cpu));
        if !lines.push(cpu, packet) {
            return;
        }
        let idle = self.core.current(cpu).is_none();
        let awake = if idle { self.awaken(cpu) } else { self.core.now };
        let ready = awake.max(self.kicked_until(cpu));
        if ready > self.core.now {
            self.enter(cpu, Phase::Waking, ready);
        } else {
            self.interrupt(cpu);
        }
    }

    /// A line's next event.
    fn enter(&mut self, cpu: CpuId, phase: Phase, until: Nanos) {
        let lines = self.machinery.as_mut().and_then(|machinery| machinery.lines.as_mut());
        if let Some(lines) = lines {
            lines.enter(cpu, phase);
            self.queue.set(lines.slot(cpu), until);
        }
    }

    /// The CPU is taken from whatever runs there, whose time it counts as.
    fn occupy(&mut self, cpu: CpuId, phase: Phase, span: Nanos) {
        self.enter(cpu, phase, self.core.now + span);
        if let Some(current) = self.core.current(cpu) {
            self.core.threads[current.index()].remaining += span;
            self.arm(cpu);
        }
    }

    fn spans(&self) -> (Nanos, Nanos) {
        let lines = self.machinery.as_ref().and_then(|machinery| machinery.lines.as_ref());
        lines.map_or((Nanos::ZERO, Nanos::ZERO), |lines| (lines.hard, lines.soft))
    }

    fn interrupt(&mut self, cpu: CpuId) {
        self.observe(What::InterruptBegin { cpu, kind: Interrupt::Hard, name: NIC });
        self.occupy(cpu, Phase::Hard, self.spans().0);
    }

    fn soften(&mut self, cpu: CpuId) {
        self.observe(What::InterruptBegin { cpu, kind: Interrupt::Soft, name: NET_RX });
        self.occupy(cpu, Phase::Soft, self.spans().1);
    }

    /// What a CPU's line was at is over.
    pub(super) fn line_event(&mut self, cpu: CpuId) {
        let lines = self.machinery.as_ref().and_then(|machinery| machinery.lines.as_ref());
        match lines.map_or(Phase::Quiet, |lines| lines.phase(cpu)) {
            Phase::Quiet => {}
            Phase::Waking => self.interrupt(cpu),
            Phase::Hard => {
                self.observe(What::InterruptEnd { cpu, kind: Interrupt::Hard, name: NIC });
                self.soften(cpu);
            }
            Phase::Soft => self.deliver(cpu),
        }
    }

    /// A request has reached its socket; a thread that sleeps there is woken up by the softirq.
    fn deliver(&mut self, cpu: CpuId) {
        let lines = self.machinery.as_mut().and_then(|machinery| machinery.lines.as_mut());
        let Some(lines) = lines else { return };
        let packet = lines.pop(cpu);
        let more = lines.has_more(cpu);
        if let Some(Packet { program, connection }) = packet {
            self.programs[program].deliver(connection, &mut self.wakes);
            self.wake_all(Some(cpu));
        }
        self.observe(What::InterruptEnd { cpu, kind: Interrupt::Soft, name: NET_RX });
        if more {
            return self.soften(cpu);
        }
        self.enter(cpu, Phase::Quiet, Nanos::NEVER);
        self.make_up(cpu);
        if self.core.current(cpu).is_none() && !self.core.cpus[cpu.index()].need_resched {
            self.sleep(cpu);
        }
    }
}

/// Paces.
impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// CPU time for work, at the pace that a running thread has, and for its way through the kernel's lock.
    #[inline]
    pub(super) fn stretched(&mut self, cpu: CpuId, thread: ThreadId, work: Nanos) -> Nanos {
        let Some(machinery) = &mut self.machinery else { return work };
        let now = self.core.now;
        let lock = machinery.locks.as_mut().map_or(Nanos::ZERO, |locks| locks.enter(cpu, now));
        let pace = machinery.paces.as_ref().map_or(NOMINAL, |paces| paces.current(thread).1);
        rescaled(work, NOMINAL, pace) + lock
    }

    /// A CPU has switched from one thread or none to another.
    pub(super) fn repace(&mut self, cpu: CpuId, before: Option<ThreadId>, next: Option<ThreadId>) {
        let now = self.core.now;
        let paces = self.machinery.as_mut().and_then(|machinery| machinery.paces.as_mut());
        let Some(paces) = paces else { return };
        let left = before.filter(|&thread| paces.current(thread).0 == Some(cpu));
        if let Some(clocks) = &mut paces.clocks {
            clocks.look(cpu, now, next.is_some());
        }
        if let Some(next) = next {
            paces.settle(next, cpu);
            let (_, pace) = paces.current(next);
            paces.set(next, Some(cpu), pace);
        }
        if let Some(thread) = left {
            self.set_pace(thread, cpu, None);
        }
        self.repace_around(cpu);
    }

    /// The tick of a busy CPU: its clock may change.
    pub(super) fn look_at_load(&mut self, cpu: CpuId) {
        let now = self.core.now;
        let paces = self.machinery.as_mut().and_then(|machinery| machinery.paces.as_mut());
        if let Some(clocks) = paces.and_then(|paces| paces.clocks.as_mut()) {
            clocks.look(cpu, now, true);
            self.repace_around(cpu);
        }
    }

    /// A thread that runs on a CPU's core, or under its cache where that is contended for, has the pace that
    /// is due there.
    fn repace_around(&mut self, cpu: CpuId) {
        let paces = self.machinery.as_ref().and_then(|machinery| machinery.paces.as_ref());
        let Some(paces) = paces else { return };
        let place = self.core.places.of(cpu);
        let contended = paces.are_contended();
        let near = if contended { place.llc.clone() } else { place.core.clone() };
        let occupants = near.clone().filter_map(|cpu| self.clocks[cpu as usize].occupant);
        let demand = occupants.map(|thread| paces.demand(thread)).sum();
        for cpu in near.map(CpuId) {
            if let Some(thread) = self.clocks[cpu.index()].occupant {
                let busy = self.busy_beside(cpu);
                self.set_pace(thread, cpu, Some(Beside { busy, demand }));
            }
        }
    }

    /// How many CPUs of a CPU's core are busy.
    fn busy_beside(&self, cpu: CpuId) -> usize {
        let core = self.core.places.of(cpu).core.clone();
        core.filter(|&cpu| self.clocks[cpu as usize].occupant.is_some()).count()
    }

    /// A thread on a CPU with such company, or one that leaves it: what is left of its work takes another
    /// time from now on.
    fn set_pace(&mut self, thread: ThreadId, cpu: CpuId, beside: Option<Beside>) {
        let paces = self.machinery.as_mut().and_then(|machinery| machinery.paces.as_mut());
        let Some(paces) = paces else { return };
        let (on, before) = paces.current(thread);
        if on != Some(cpu) {
            return;
        }
        let pace = beside.map_or(NOMINAL, |beside| paces.of(thread, cpu, beside));
        paces.set(thread, beside.map(|_| cpu), pace);
        if pace == before {
            return;
        }
        let runs = self.core.current(cpu) == Some(thread);
        let accounted = self.core.cpus[cpu.index()].accounted;
        let ran = if runs { self.core.now - accounted } else { Nanos::ZERO };
        let entry = &mut self.core.threads[thread.index()];
        entry.remaining = ran + rescaled(entry.remaining - ran, before, pace);
        if runs && beside.is_some() {
            self.arm(cpu);
        }
    }
}
