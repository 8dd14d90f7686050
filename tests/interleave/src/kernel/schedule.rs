//! A CPU: it runs threads, ticks, and chooses the next (`__schedule`, `balance_one`, `put_prev_task_scx`).

use super::{DEFAULT_SLICE_NS, Hands, Lock, Place, State};
use crate::scenario::Idling;
use crate::seam::handle;
use crate::world::Wait;

/// What is next for a CPU.
enum Next {
    Schedule,
    Tick,
    Act(usize, crate::scenario::Op),
    Wait,
}

/// The life of a CPU; it never returns.
pub fn cpu_main(hands: Hands, cpu: usize) {
    loop {
        match hands.next(cpu) {
            Next::Schedule => hands.schedule(cpu),
            Next::Tick => hands.tick(cpu),
            Next::Act(thread, op) => {
                hands.world.say(|| format!("thread {thread}: {op:?}"));
                hands.world.point();
                hands.act(op, Some(thread));
            }
            Next::Wait => hands.wait(Wait::Attention(cpu)),
        }
    }
}

impl Hands<'_> {
    fn next(self, at: usize) -> Next {
        let scenario = &self.world.scenario;
        self.with(|kernel| {
            let cpu = &mut kernel.cpus[at];
            if cpu.resched {
                return Next::Schedule;
            }
            if std::mem::take(&mut cpu.tick) {
                return Next::Tick;
            }
            let Some(thread) = cpu.current else { return Next::Wait };
            let program = &scenario.threads[thread].program;
            let Some(op) = program.get(kernel.threads[thread].at) else { return Next::Wait };
            kernel.threads[thread].at += 1;
            Next::Act(thread, *op)
        })
    }

    fn tick(self, cpu: usize) {
        self.lock(Lock::Rq(cpu));
        let current = self.with(|kernel| {
            kernel.account(cpu);
            kernel.cpus[cpu].current
        });
        if let Some(thread) = current {
            let tick = self.world.code.callbacks.rg_tick;
            self.call("tick", || tick(handle(thread)));
            self.with(|kernel| {
                if kernel.threads[thread].slice_ns == 0 {
                    kernel.resched(cpu);
                }
            });
        }
        self.unlock(Lock::Rq(cpu));
        self.flush_kicks();
    }

    /// A slice ends between two ticks.
    pub(super) fn expire(self, cpu: usize) {
        self.lock(Lock::Rq(cpu));
        self.with(|kernel| kernel.kick(cpu, true));
        self.unlock(Lock::Rq(cpu));
    }

    /// The running thread sleeps, unless it has been woken meanwhile, or exits.
    pub(super) fn cease(self, thread: usize, exits: bool) {
        let woken =
            !exits && self.with(|kernel| std::mem::take(&mut kernel.threads[thread].pending));
        if !woken {
            let cpu = self.with(|kernel| kernel.threads[thread].cpu);
            self.schedule_from(cpu, Some(exits));
        }
    }

    fn schedule(self, cpu: usize) {
        self.schedule_from(cpu, None);
    }

    /// `leaves`: what runs blocks (false) or exits (true).
    fn schedule_from(self, cpu: usize, leaves: Option<bool>) {
        self.lock(Lock::Rq(cpu));
        let prev = self.with(|kernel| {
            kernel.cpus[cpu].resched = false;
            kernel.account(cpu);
            kernel.cpus[cpu].current
        });
        let leaves = leaves.filter(|_| prev.is_some());
        if let (Some(exits), Some(prev)) = (leaves, prev) {
            self.stop(prev, false);
            self.with(|kernel| {
                kernel.threads[prev].state = if exits { State::Gone } else { State::Blocked };
            });
        }
        let migrates = prev
            .filter(|&prev| self.with(|kernel| std::mem::take(&mut kernel.threads[prev].migrates)));
        if let Some(prev) = migrates.filter(|_| leaves.is_none()) {
            self.stop(prev, true);
            self.with(|kernel| kernel.threads[prev].state = State::Waiting);
        }
        let stays = prev.filter(|_| leaves.is_none() && migrates.is_none());
        let next = self.pick(cpu, prev, stays);
        self.switch(cpu, prev, stays, next);
        self.unlock(Lock::Rq(cpu));
        self.flush_kicks();
        if let Some(prev) = migrates.filter(|_| leaves.is_none()) {
            self.migrate(prev);
        }
        if let (Some(true), Some(prev)) = (leaves, prev) {
            self.bury(prev);
        }
    }

    fn stop(self, thread: usize, runnable: bool) {
        let stopping = self.world.code.callbacks.rg_stopping;
        self.call("stopping", || stopping(handle(thread), runnable));
    }

    /// `balance_one`: what is next, `stays` where nothing else is.
    fn pick(self, cpu: usize, prev: Option<usize>, stays: Option<usize>) -> Option<usize> {
        let keeps = self.with(|kernel| stays.is_some_and(|t| kernel.threads[t].slice_ns > 0));
        if keeps {
            return stays;
        }
        if self.with(|kernel| kernel.cpus[cpu].local.is_empty()) {
            self.with(|kernel| {
                kernel.cpus[cpu].in_balance = true;
                kernel.agents[self.agent].dispatch = Some((cpu, stays));
            });
            let dispatch = self.world.code.callbacks.rg_dispatch;
            let told = prev.map_or(std::ptr::null_mut(), handle);
            self.call("dispatch", || dispatch(cpu as i32, told));
            self.with(|kernel| {
                kernel.cpus[cpu].in_balance = false;
                kernel.agents[self.agent].dispatch = None;
            });
        }
        self.with(|kernel| kernel.cpus[cpu].local.pop_front()).or(stays)
    }

    /// `put_prev_set_next_task`.
    fn switch(self, cpu: usize, prev: Option<usize>, stays: Option<usize>, next: Option<usize>) {
        if let Some(prev) = stays.filter(|&prev| Some(prev) != next) {
            self.stop(prev, true);
            let keeps_place = self.with(|kernel| {
                kernel.threads[prev].state = State::Waiting;
                kernel.threads[prev].slice_ns > 0
            });
            if keeps_place {
                self.with(|kernel| {
                    kernel.threads[prev].place = Place::Local(cpu);
                    kernel.cpus[cpu].local.push_front(prev);
                });
            } else {
                self.queue(prev, 0);
            }
        }
        match next {
            Some(next) => self.run(cpu, next, prev),
            None => self.idle(cpu, prev),
        }
        self.with(|kernel| {
            if let Some(prev) = prev.filter(|&prev| Some(prev) != next) {
                kernel.threads[prev].on_cpu = false;
            }
        });
        self.world.say(|| match next {
            Some(next) => format!("CPU {cpu} runs thread {next}"),
            None => format!("CPU {cpu} idles"),
        });
    }

    fn run(self, cpu: usize, next: usize, prev: Option<usize>) {
        self.with(|kernel| {
            let thread = &mut kernel.threads[next];
            if thread.slice_ns == 0 {
                thread.slice_ns = DEFAULT_SLICE_NS;
            }
            thread.state = State::Running;
            thread.place = Place::Nowhere;
            thread.on_cpu = true;
            thread.cpu = cpu;
            thread.runs += u32::from(prev != Some(next));
            kernel.cpus[cpu].since = kernel.now;
            kernel.cpus[cpu].current = Some(next);
            kernel.cpus[cpu].idle = false;
        });
    }

    /// Since 6.16 the bit is set before the policy is told. A CPU that stays idle tells nothing.
    fn idle(self, cpu: usize, prev: Option<usize>) {
        let idling = self.with(|kernel| {
            kernel.cpus[cpu].current = None;
            kernel.cpus[cpu].idle |= kernel.idling == Idling::BitFirst;
            kernel.idling
        });
        self.world.point();
        if prev.is_some() {
            let idle = self.world.code.callbacks.rg_idle;
            self.call("idle", || idle(cpu as i32));
            if idling == Idling::BitLast {
                self.order_kick(cpu, false);
            }
        }
        self.with(|kernel| kernel.cpus[cpu].idle = true);
    }
}
