//! The timer tick: when it comes, what it looks at, and when the CPU chooses if it asked it to.

use model::{CpuId, Nanos, ThreadId};
use rand::RngExt;

use super::{Kernel, TICK};
use crate::class::Class;
use crate::events::EventQueue;
use crate::observer::Observer;

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// The next tick of a CPU: the grid's next moment, and how late the interrupt is, at random. Were none
    /// late, all CPUs would tick in one moment and always in one order, and threads that take turns over them
    /// would stay in step for ever.
    pub(super) fn set_tick(&mut self, cpu: CpuId) {
        let late = self.costs.lateness(self.tick_rng.random());
        self.clocks[cpu.index()].tick_at = self.core.now.next_multiple(TICK) + late;
    }

    /// The timer that ends a turn before the tick does is as late.
    pub(super) fn set_turn(&mut self, cpu: CpuId) {
        self.clocks[cpu.index()].turn_late = self.costs.lateness(self.tick_rng.random());
    }

    pub(super) fn tick(&mut self, cpu: CpuId, current: ThreadId) {
        self.expire(cpu);
        self.set_tick(cpu);
        if self.machinery.is_some() {
            self.look_at_load(cpu);
            self.pay_timer(cpu, None);
        }
        let asked = self.core.cpus[cpu.index()].need_resched;
        self.tick_class(cpu, current);
        if !asked && self.core.cpus[cpu.index()].need_resched {
            self.go_on_with_tick(cpu, current);
        }
        self.arm(cpu);
    }

    fn tick_class(&mut self, cpu: CpuId, current: ThreadId) {
        match &mut self.realtime {
            Some(realtime) => {
                if self.core.thread(current).realtime {
                    realtime.tick(&mut self.core, cpu, current);
                    self.class.tick_of_another(&mut self.core, cpu);
                } else {
                    self.class.tick(&mut self.core, cpu, current);
                }
                self.fair_server.tick(&mut self.core, &self.tasks, cpu);
            }
            None => self.class.tick(&mut self.core, cpu, current),
        }
    }

    /// The CPU was asked to choose by its tick: it does so when the interrupt is over. The running thread
    /// pays what it has not paid yet.
    fn go_on_with_tick(&mut self, cpu: CpuId, current: ThreadId) {
        let paid = self.machinery.as_ref().map_or(Nanos::ZERO, |machinery| machinery.timer);
        let takes = self.costs.tick.max(paid);
        if takes > Nanos::ZERO {
            self.core.threads[current.index()].remaining += takes - paid;
            self.clocks[cpu.index()].chooses_at = self.core.now + takes;
        }
    }

    /// Whether the interrupt of a tick still keeps a CPU from choosing.
    #[inline]
    pub(super) fn is_ticking(&self, cpu: CpuId) -> bool {
        self.clocks[cpu.index()].chooses_at != Nanos::NEVER
    }

    /// Ends the interrupt of a tick before its time: the CPU can be asked anew.
    pub(super) fn forget_tick(&mut self, cpu: CpuId) {
        if self.is_ticking(cpu) {
            self.clocks[cpu.index()].chooses_at = Nanos::NEVER;
            self.core.cpus[cpu.index()].need_resched = false;
        }
    }

    /// Ends the interrupt of a tick that asked a CPU to choose, if that is what is due.
    #[inline]
    pub(super) fn end_tick(&mut self, cpu: CpuId) -> bool {
        let is_due = self.clocks[cpu.index()].chooses_at <= self.core.now;
        if is_due {
            self.expire(cpu);
            self.clocks[cpu.index()].chooses_at = Nanos::NEVER;
            self.core.resched.push(cpu);
        }
        is_due
    }
}
