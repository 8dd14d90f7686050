//! Interrupts between CPUs and those of their own timers at work.

use model::event::{Interrupt, What};
use model::{CpuId, Nanos, ThreadId};

use super::Kernel;
use crate::class::Class;
use crate::events::EventQueue;
use crate::machine::RESCHEDULE;
use crate::observer::Observer;

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Those that were asked to choose again, from the `first` on, by a CPU other than themselves are
    /// interrupted for it. `by` is `None` where no CPU of this machine asked: an interrupt from outside comes
    /// to the CPU itself.
    #[inline]
    pub(super) fn kick_asked(&mut self, first: usize, by: Option<CpuId>) {
        if self.machinery.as_ref().is_some_and(|machinery| machinery.kicks.is_some())
            && by.is_some()
        {
            for index in first..self.core.resched.len() {
                let cpu = self.core.resched[index];
                if Some(cpu) != by {
                    self.kick(cpu);
                }
            }
        }
    }

    fn kick(&mut self, cpu: CpuId) {
        let Some(machinery) = &mut self.machinery else { return };
        if machinery.is_interrupted(cpu) {
            return;
        }
        let Some(kicks) = &mut machinery.kicks else { return };
        let span = kicks.span;
        kicks.set(cpu, Some(self.core.now + span));
        self.queue.set(kicks.slot(cpu), self.core.now + span);
        self.observe(What::InterruptBegin { cpu, kind: Interrupt::Hard, name: RESCHEDULE });
        if let Some(current) = self.core.current(cpu) {
            self.core.threads[current.index()].remaining += span;
        }
    }

    /// Until when a CPU is kicked; the past if it is not.
    pub(super) fn kicked_until(&self, cpu: CpuId) -> Nanos {
        let kicks = self.machinery.as_ref().and_then(|machinery| machinery.kicks.as_ref());
        kicks.and_then(|kicks| kicks.until(cpu)).unwrap_or(Nanos::ZERO)
    }

    /// A kick is over: now the CPU chooses, unless it has something else to do.
    fn end_kick(&mut self, cpu: CpuId) {
        if let Some(kicks) = self.machinery.as_mut().and_then(|machinery| machinery.kicks.as_mut())
        {
            kicks.set(cpu, None);
            self.queue.set(kicks.slot(cpu), Nanos::NEVER);
        }
        self.observe(What::InterruptEnd { cpu, kind: Interrupt::Hard, name: RESCHEDULE });
        self.make_up(cpu);
    }

    /// An interrupt's event is due: of a kick or of a network card's line. The CPU that it happens on.
    pub(super) fn interrupt_event(&mut self, slot: u32) -> Option<CpuId> {
        let machinery = self.machinery.as_ref()?;
        if let Some(cpu) = machinery.kicks.as_ref().and_then(|kicks| kicks.cpu_of(slot)) {
            self.end_kick(cpu);
            return Some(cpu);
        }
        let cpu = machinery.lines.as_ref()?.cpu_at(slot);
        self.line_event(cpu);
        Some(cpu)
    }

    /// The timer of a CPU interrupts it: the running thread pays, or else the woken one.
    #[inline]
    pub(super) fn pay_timer(&mut self, cpu: CpuId, woken: Option<ThreadId>) {
        let takes = self.machinery.as_ref().map_or(Nanos::ZERO, |machinery| machinery.timer);
        if takes == Nanos::ZERO {
            return;
        }
        let current = self.core.current(cpu);
        if let Some(payer) = current.or(woken) {
            self.core.threads[payer.index()].remaining += takes;
        }
        if current.is_some() {
            self.arm(cpu);
        }
    }
}
