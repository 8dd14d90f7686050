//! Wake-ups, blocking, and the choice of what runs next.

use model::event::{Cause, What, Why};
use model::{CpuId, Nanos, ThreadId};
use rand::RngExt;

use super::{CHOICES_PER_EVENT, Clock, Kernel};
use crate::class::Class;
use crate::core::State;
use crate::events::EventQueue;
use crate::observer::Observer;
use crate::program::Next;

/// CPU time of a turn of a loop that yields: a system call and a look at what it waits for.
const YIELD: Nanos = Nanos(1_000);

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Either the current thread is done with its burst or the tick is due. Of both at once the burst ends
    /// first, so that a thread is not preempted with nothing left to do.
    pub(super) fn cpu_event(&mut self, cpu: CpuId) {
        if self.end_tick(cpu) {
            return;
        }
        let Some(current) = self.core.current(cpu) else {
            self.make_up(cpu);
            return self.arm(cpu);
        };
        if self.burst_end(cpu, current) <= self.core.now {
            self.advance(cpu, current);
        } else if self.clocks[cpu.index()].tick_at <= self.core.now {
            self.tick(cpu, current);
        } else {
            self.expire(cpu);
            self.class.turn_over(&mut self.core, cpu);
            self.arm(cpu);
        }
    }

    fn burst_end(&self, cpu: CpuId, current: ThreadId) -> Nanos {
        self.core.cpus[cpu.index()].accounted + self.core.thread(current).remaining
    }

    /// Sets the CPU's next event: the end of the burst, the tick, or the timer that ends a turn.
    pub(super) fn arm(&mut self, cpu: CpuId) {
        let Clock { tick_at, chooses_at, .. } = self.clocks[cpu.index()];
        let at = match self.core.current(cpu) {
            // It will choose: until then nothing else asks it to.
            Some(current) if chooses_at != Nanos::NEVER => {
                self.burst_end(cpu, current).min(chooses_at)
            }
            Some(current) => self
                .burst_end(cpu, current)
                // One that fell due while an interrupt had the CPU comes late.
                .min(tick_at.max(self.core.now))
                .min(self.turn_end(cpu, current)),
            None => self.wake_time(cpu),
        };
        self.queue.set(cpu.0, at);
    }

    fn turn_end(&self, cpu: CpuId, current: ThreadId) -> Nanos {
        if self.core.thread(current).realtime {
            Nanos::NEVER
        } else {
            let late = self.clocks[cpu.index()].turn_late;
            self.class.turn_end(&self.core, cpu).saturating_add(late).max(self.core.now)
        }
    }

    /// Switches on this CPU are the end of a turn until the present event is settled.
    #[inline(always)]
    pub(super) fn expire(&mut self, cpu: CpuId) {
        if O::LISTENS {
            self.expiring = Some(cpu);
        }
    }

    pub(super) fn wake_all(&mut self, waker: Option<CpuId>) {
        for index in 0..self.wakes.len() {
            self.wake(self.wakes[index], waker);
        }
        self.wakes.clear();
    }

    pub(super) fn wake(&mut self, thread: ThreadId, waker: Option<CpuId>) {
        debug_assert_eq!(self.core.thread(thread).state, State::Blocked);
        self.core.waker = waker;
        self.note_request(thread);
        let task = &mut self.tasks[thread.index()];
        task.fresh = true;
        task.woken = self.core.now;
        match &mut self.realtime {
            Some(realtime) if self.core.thread(thread).realtime => {
                enqueue(realtime, &mut self.core, thread);
            }
            _ => enqueue(&mut self.class, &mut self.core, thread),
        }
        self.observe(What::Wake { thread, cpu: self.core.thread(thread).cpu, by: waker });
    }

    /// The network card stamps requests: since when the one is there that the thread has, or comes for.
    fn note_request(&mut self, thread: ThreadId) {
        let program = &self.programs[self.core.thread(thread).program];
        if let Some(at) = program.request_at(thread) {
            self.core.requests[thread.index()] = Some(at);
            if O::LISTENS {
                self.observer.stamped(thread, at);
            }
        }
    }

    /// Asks the program what its running thread does next.
    fn advance(&mut self, cpu: CpuId, thread: ThreadId) {
        self.tasks[thread.index()].fresh = false;
        let place = self.core.threads[thread.index()].program;
        let ends = self.client_local && self.answers_clients(place);
        let program = &mut self.programs[place];
        self.answers |= ends && program.serving(thread).is_some();
        let served = if O::LISTENS { program.serving(thread) } else { None };
        let exits = self.tasks[thread.index()].exits && !self.forking;
        let next = if exits {
            self.exited.push(thread);
            Next::Block
        } else if self.forking {
            Next::Block
        } else {
            program.next(self.core.now, thread, &mut self.wakes)
        };
        if O::LISTENS {
            let serves = program.serving(thread);
            self.serve(thread, served, serves);
        }
        self.expect_client(place);
        self.pass_on(place);
        if let Next::Run(work) = next {
            self.note_request(thread);
            let work = self.stretched(cpu, thread, work);
            self.core.threads[thread.index()].remaining += work;
            self.arm(cpu);
        }
        // The threads that it wakes, it wakes before it blocks.
        self.wake_all(Some(cpu));
        match next {
            Next::Run(_) => {}
            Next::Block => self.block(cpu, thread),
            Next::Yield => self.give_way(cpu, thread),
            Next::Sleep(until) => {
                if let Some(timer) = self.tasks[thread.index()].timer {
                    self.queue.set(timer, until);
                }
                self.block(cpu, thread);
            }
        }
        if self.machinery.is_some() {
            self.raise_sent(place);
        }
    }

    /// Says with which request a thread is done and with which it begins.
    fn serve(&mut self, thread: ThreadId, served: Option<u32>, serves: Option<u32>) {
        if let Some(request) = served {
            self.observe(What::Finish { thread, request });
        }
        if let Some(request) = serves {
            self.observe(What::Start { thread, request });
        }
    }

    /// `do_sched_yield()`: the class puts the thread back, and the CPU chooses again. When the thread is
    /// chosen it has made the call and looked for what it waits for.
    fn give_way(&mut self, cpu: CpuId, thread: ThreadId) {
        self.core.threads[thread.index()].remaining += YIELD;
        match &mut self.realtime {
            Some(realtime) if self.core.thread(thread).realtime => {
                realtime.give_way(&mut self.core, cpu, thread);
            }
            _ => self.class.give_way(&mut self.core, cpu, thread),
        }
        self.core.resched(cpu);
    }

    fn block(&mut self, cpu: CpuId, thread: ThreadId) {
        self.observe(What::Block { thread, cpu });
        match &mut self.realtime {
            Some(realtime) if self.core.thread(thread).realtime => {
                realtime.dequeue(&mut self.core, thread);
            }
            _ => self.class.dequeue(&mut self.core, thread),
        }
        self.vacate(cpu, thread, State::Blocked);
    }

    /// The running thread leaves its CPU, which chooses again, now: there is no thread that the interrupt of
    /// a tick could keep.
    pub(super) fn vacate(&mut self, cpu: CpuId, thread: ThreadId, state: State) {
        self.core.take_ran(cpu);
        self.core.threads[thread.index()].state = state;
        self.core.cpus[cpu.index()].current = None;
        self.forget_tick(cpu);
        self.core.resched(cpu);
    }

    /// Lets all CPUs that were asked to choose again do so, those that this asks included. The present event
    /// is `at`'s, if it is a CPU's.
    pub(super) fn settle(&mut self, at: Option<CpuId>) {
        self.kick_asked(0, at);
        self.tell_kept();
        let mut index = 0;
        while index < self.core.resched.len() {
            if index >= CHOICES_PER_EVENT {
                self.core
                    .fail("the policy keeps asking CPUs to choose again and time stands still");
                break;
            }
            let cpu = self.core.resched[index];
            if !self.is_ticking(cpu) && !self.put_off(cpu) {
                let known = self.core.resched.len();
                self.schedule(cpu);
                self.tell_kept();
                self.kick_asked(known, Some(cpu));
            }
            index += 1;
        }
        self.core.resched.clear();
    }

    /// Says which threads are throttled now, and which are not any more.
    #[inline]
    fn tell_kept(&mut self) {
        if self.limits {
            for (thread, kept) in std::mem::take(&mut self.core.kept) {
                let off = What::Off { thread, cause: Cause::Throttled };
                self.observe(if kept { off } else { What::Released { thread } });
            }
        }
    }

    fn schedule(&mut self, cpu: CpuId) {
        self.core.cpus[cpu.index()].need_resched = false;
        let prev = self.core.current(cpu);
        let next = self.pick(cpu, prev);
        self.core.take_ran(cpu);
        let switches = next != self.clocks[cpu.index()].occupant;
        if switches {
            self.switch(cpu, prev, next);
        }
        if next != prev {
            if let Some(prev) = prev {
                self.core.threads[prev.index()].state = State::Runnable;
            }
            self.core.cpus[cpu.index()].current = next;
        }
        match next {
            Some(thread) => self.resume(cpu, thread),
            None => {
                let again = self.core.cpus[cpu.index()].need_resched;
                if !again && self.core.affinities.is_online(cpu) {
                    self.core.idle.insert(cpu);
                    self.sleep(cpu);
                }
                if !std::mem::replace(&mut self.clocks[cpu.index()].is_known_idle, true) {
                    self.class.idle(&mut self.core, cpu);
                }
                self.arm(cpu);
            }
        }
    }

    /// A thread has the CPU. One just woken asks its program, unless another took what it was woken for: then
    /// it finds that out when the switch is done.
    fn resume(&mut self, cpu: CpuId, thread: ThreadId) {
        let entry = &mut self.core.threads[thread.index()];
        if entry.cpu != cpu {
            return self
                .core
                .fail(format!("thread {} was picked for the CPU of another", thread.0));
        }
        entry.state = State::Running;
        let program = &self.programs[entry.program];
        if self.tasks[thread.index()].fresh && program.ready(thread) {
            self.advance(cpu, thread);
        } else {
            self.arm(cpu);
        }
    }

    /// The higher class first; the fair server puts the lower one above it for a while.
    fn pick(&mut self, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        if !self.core.affinities.is_online(cpu) {
            return None;
        }
        let Some(realtime) = &mut self.realtime else {
            return self.class.pick(&mut self.core, cpu, prev);
        };
        let core = &mut self.core;
        let (high, low) = match prev {
            Some(prev) if core.thread(prev).realtime => (Some(prev), None),
            prev => (None, prev),
        };
        if self.fair_server.serves(cpu) {
            if let Some(next) = self.class.pick(core, cpu, low) {
                high.into_iter().for_each(|prev| realtime.displace(core, cpu, prev));
                return Some(next);
            }
            self.fair_server.stop(cpu, core.now);
        }
        if let Some(next) = realtime.pick(core, cpu, high) {
            low.into_iter().for_each(|prev| self.class.displace(core, cpu, prev));
            return Some(next);
        }
        self.class.pick(core, cpu, low)
    }

    /// The costs and counts of taking up another thread, or none.
    pub(super) fn switch(&mut self, cpu: CpuId, prev: Option<ThreadId>, next: Option<ThreadId>) {
        let now = self.core.now;
        let before = self.clocks[cpu.index()].occupant;
        if before.is_none() {
            self.meter.idle += now - self.clocks[cpu.index()].idle_since;
            self.set_tick(cpu);
        }
        self.meter.switches += u64::from(next.is_some());
        self.clocks[cpu.index()].occupant = next;
        let normal = next.is_some_and(|thread| !self.core.thread(thread).realtime);
        if self.realtime.is_some() {
            self.fair_server.switched(cpu, now, normal, next.is_none());
        }
        match next {
            None => {
                let clock = &mut self.clocks[cpu.index()];
                clock.tick_at = Nanos::NEVER;
                clock.idle_since = now;
            }
            Some(thread) => {
                self.clocks[cpu.index()].is_known_idle = false;
                self.set_turn(cpu);
                let cost = self.switch_cost(cpu, thread);
                self.core.threads[thread.index()].remaining += cost;
            }
        }
        if self.machinery.is_some() {
            self.repace(cpu, before, next);
        }
        if O::LISTENS {
            let why = self.why(cpu, prev, before);
            self.observe(What::Switch { cpu, from: before, to: next, why });
        }
    }

    /// `prev` still wants the CPU; `before` is what it was last switched to.
    fn why(&self, cpu: CpuId, prev: Option<ThreadId>, before: Option<ThreadId>) -> Why {
        match (before, prev) {
            (None, _) => Why::Idle,
            (Some(_), None) => Why::Blocked,
            (Some(_), Some(_)) if self.expiring == Some(cpu) => Why::Expired,
            (Some(_), Some(_)) => Why::Preempted,
        }
    }

    fn switch_cost(&mut self, cpu: CpuId, thread: ThreadId) -> Nanos {
        let switch = self.costs.switch(self.switch_cost_rng.random());
        match self.tasks[thread.index()].ran_on.replace(cpu) {
            Some(from) if from != cpu => {
                self.observe(What::Migrate { thread, from, to: cpu });
                self.meter.migrations += 1;
                let cost = self.costs.migration(self.core.places.of(from), cpu);
                let program = self.core.thread(thread).program;
                let machinery = self.machinery.as_ref();
                switch + machinery.map_or(cost, |machinery| machinery.migration(program, cost))
            }
            _ => switch,
        }
    }
}

fn enqueue(class: &mut impl Class, core: &mut crate::core::Core, thread: ThreadId) {
    let chosen = class.select_cpu(core, thread);
    let cpu = fallback(core, thread, chosen);
    let woken = &mut core.threads[thread.index()];
    woken.cpu = cpu;
    woken.state = State::Runnable;
    class.enqueue(core, thread);
}

/// A CPU for a thread, should it not be admitted to the one that was chosen (`select_fallback_rq`; the kernel
/// looks in the node first).
pub(super) fn fallback(core: &crate::core::Core, thread: ThreadId, chosen: CpuId) -> CpuId {
    if core.may_run_on(thread, chosen) {
        return chosen;
    }
    core.affinities.nearest(thread, chosen).unwrap_or(chosen)
}
