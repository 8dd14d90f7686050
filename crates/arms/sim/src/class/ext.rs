//! sched_ext (`kernel/sched/ext.c` of Linux 6.13 to 7.2): the class that asks a policy behind the seam.
//!
//! The kernel's part of the contract is modelled, traps included. There is no select_cpu for pinned threads.
//! Insertions take effect after the callback. Dispatch comes before stopping(prev), with a runnable prev in
//! no queue. Slices end at ticks. A preempted thread is at the head of its local queue, without enqueue. A
//! CPU that comes or goes restarts the policy, as its loader does. Not modelled: the watchdog, core
//! scheduling.

mod domains;
mod idle;
mod platform;
mod queue;
mod restart;
mod threads;
mod timers;

use model::scenario::{Group, Quota};
use model::{CpuId, Failure, Nanos, PolicySpec, Scenario, ThreadId};
use policy_native::Policy;

use crate::class::Class;
use crate::core::{Core, State};
use platform::Seam;
use threads::Threads;
use timers::Timer;

/// What a thread gets that goes on with an empty slice because nothing else wants its CPU (`SCX_SLICE_DFL`).
const DEFAULT_SLICE: Nanos = Nanos::from_millis(20);

const NO_LIMITS: &str = "a policy in a file keeps neither `max` nor `idle`; leave them out";

/// The groups of a scenario, without the quotas that they will have.
fn unlimited(scenario: &Scenario) -> Vec<Group> {
    scenario.groups.iter().map(|group| Group { max: None, ..group.clone() }).collect()
}

/// A group as the policy numbers it: 0 is the root.
fn number(group: Option<usize>) -> u32 {
    group.map_or(0, |index| index as u32 + 1)
}

/// The class with one loaded policy.
pub struct Ext {
    policy: Policy,
    threads: Threads,
    /// The thread that blocked on a CPU since its last choice: dispatch is told of it, too.
    departed: Vec<Option<ThreadId>>,
    /// Each group as it is now, for policies that start in the course of the run.
    groups: Vec<Group>,
    /// What policies before the present one pulled.
    pulled: u64,
}

impl Ext {
    /// Loads a policy for a scenario. The seed is for policies that draw random numbers.
    ///
    /// [`Failure::Input`] for an unknown policy, option or value, and for groups that it would not hold to
    /// their shares or limits.
    pub fn new(scenario: &Scenario, spec: &PolicySpec, seed: u64) -> Result<Ext, Failure> {
        let policy = Policy::open(spec, &scenario.machine, scenario.slice)?;
        let promised = scenario.groups.iter().any(|group| group.promise.is_some());
        let mut ext = Ext {
            policy: if promised { policy } else { policy.without_promises() },
            threads: Threads::new(scenario, seed),
            departed: vec![None; scenario.machine.cpus as usize],
            groups: unlimited(scenario),
            pulled: 0,
        };
        if !ext.policy.is_own() && scenario.groups.iter().any(|g| g.max.is_some() || g.idle) {
            return Err(Failure::Input(format!("{spec}: {NO_LIMITS}")));
        }
        if ext.policy.is_own() {
            scenario.check_levels(spec)?;
        }
        let mut core = Core::new(scenario.machine);
        ext.init(&mut core)?;
        core.fault().map_or(Ok(ext), |fault| Err(Failure::Run(fault.to_string())))
    }

    fn init(&mut self, core: &mut Core) -> Result<(), Failure> {
        self.call(core, |policy, on| policy.init(on))?;
        for index in 0..self.groups.len() {
            self.init_group(core, index);
        }
        Ok(())
    }

    fn init_group(&mut self, core: &mut Core, index: usize) {
        let Group { parent, weight, max, promise, idle, .. } = self.groups[index];
        let promise = promise.filter(|_| self.policy.keeps_promises());
        let share = promise.map_or(0, |promise| promise.share(&core.machine));
        self.call(core, |policy, on| {
            let group = number(Some(index));
            policy.init_group(on, group, number(parent), weight);
            if idle {
                policy.idle_group(on, group, true);
            }
            if let Some(promise) = promise {
                policy.promise_group(on, group, promise.within, share);
            }
            if max.is_some() {
                policy.limit_group(on, group, max);
            }
        });
    }

    /// Only the project's own policies keep quotas and idle groups.
    fn keeps_limits(&self, core: &mut Core) -> bool {
        if !self.policy.is_own() {
            core.fail(NO_LIMITS);
        }
        self.policy.is_own()
    }

    fn init_thread(&mut self, core: &mut Core, thread: ThreadId) {
        let group = number(core.thread(thread).group);
        if let Err(failure) = self.call(core, |policy, on| policy.init_thread(on, thread, group)) {
            core.fail(failure.to_string());
        }
    }

    /// Calls the policy; whatever it did wrong ends the run, as `scx_error` ends a policy.
    fn call<R>(&mut self, core: &mut Core, call: impl FnOnce(&mut Policy, &mut Seam) -> R) -> R {
        call(&mut self.policy, &mut Seam::new(core, &mut self.threads))
    }

    /// Takes the time that the current thread ran off its slice (`update_curr_scx`).
    fn account(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        let ran = core.take_ran(cpu);
        let slice = self.threads.slice_mut(current);
        *slice = slice.saturating_sub(ran);
    }

    /// Gives a thread to the policy's queues, and does what it ordered once it has returned
    /// (`do_enqueue_task`).
    fn queue(&mut self, core: &mut Core, thread: ThreadId, woken: bool) {
        if !self.threads.is_inserted() {
            self.threads.enqueue_begins(core, thread);
            self.call(core, |policy, on| policy.enqueue(on, thread, woken));
        }
        self.threads.enqueue_ends(core, thread);
    }

    /// A runnable thread leaves its CPU to another (`put_prev_task_scx`). With slice left it was preempted by
    /// a higher class or by an insertion at the head of the local queue: it stays first in line.
    fn put_back(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.call(core, |policy, on| policy.stopping(on, prev, true));
        if *self.threads.slice_mut(prev) > Nanos::ZERO {
            self.threads.local(cpu).push_front(prev);
        } else {
            self.queue(core, prev, false);
        }
    }

    /// Whether `prev` keeps the CPU without a question to the policy, or else what its local queue then holds
    /// (`balance_one`).
    fn next(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        let departed = self.departed[cpu.index()].take();
        if let Some(prev) = prev {
            self.account(core, cpu, prev);
            if *self.threads.slice_mut(prev) > Nanos::ZERO {
                return Some(prev);
            }
        }
        if self.threads.local(cpu).is_empty() {
            let departed = departed.filter(|&thread| core.thread(thread).state == State::Blocked);
            self.threads.dispatch_begins(cpu, prev);
            self.call(core, |policy, on| policy.dispatch(on, cpu, prev.or(departed)));
            if !self.threads.dispatch_ends() {
                return self.threads.local(cpu).pop_front();
            }
        }
        self.threads.local(cpu).pop_front().or(prev)
    }
}

impl Class for Ext {
    fn fork(&mut self, core: &mut Core, thread: ThreadId) {
        self.threads.add(thread);
        self.init_thread(core, thread);
    }

    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        let prev = core.thread(thread).cpu;
        if core.affinities.is_pinned(thread) {
            return prev;
        }
        self.threads.enqueue_begins(core, thread);
        let cpu = self.call(core, |policy, on| policy.select_cpu(on, thread, prev));
        self.threads.select_ends(thread);
        if cpu.0 < core.machine.cpus {
            return cpu;
        }
        core.fail(format!("the policy chose CPU {} of {}", cpu.0, core.machine.cpus));
        prev
    }

    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        self.queue(core, thread, true);
        wake_idle(core, thread);
    }

    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        let cpu = core.thread(thread).cpu;
        self.account(core, cpu, thread);
        self.departed[cpu.index()] = Some(thread);
        self.call(core, |policy, on| policy.stopping(on, thread, false));
    }

    /// `yield_task_scx`.
    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId) {
        self.account(core, cpu, thread);
        self.call(core, |policy, on| policy.give_way(on, thread));
    }

    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        let next = self.next(core, cpu, prev);
        if let Some(prev) = prev.filter(|&prev| Some(prev) != next) {
            self.put_back(core, cpu, prev);
        }
        let next = next?;
        let slice = self.threads.slice_mut(next);
        if *slice == Nanos::ZERO {
            *slice = DEFAULT_SLICE;
        }
        Some(next)
    }

    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.account(core, cpu, prev);
        self.put_back(core, cpu, prev);
    }

    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.account(core, cpu, current);
        self.call(core, |policy, on| policy.tick(on, current));
        if *self.threads.slice_mut(current) == Nanos::ZERO {
            core.resched(cpu);
        }
    }

    fn idle(&mut self, core: &mut Core, cpu: CpuId) {
        self.call(core, |policy, on| policy.idle(on, cpu));
    }

    fn save(&mut self, core: &mut Core, thread: ThreadId) {
        self.take_out(core, thread);
    }

    fn restore(&mut self, core: &mut Core, thread: ThreadId) {
        self.put_in(core, thread);
    }

    /// No callback says that it leaves its queue (platform.h); enqueue says where it comes to.
    fn migrate(&mut self, core: &mut Core, thread: ThreadId, to: CpuId) {
        self.threads.dequeue(core, thread);
        core.threads[thread.index()].cpu = to;
        self.queue(core, thread, false);
        wake_idle(core, thread);
    }

    fn move_group(&mut self, core: &mut Core, thread: ThreadId, group: usize) {
        let waits = core.thread(thread).state == State::Runnable;
        self.take_out(core, thread);
        core.threads[thread.index()].group = Some(group);
        if self.threads.exists(thread) {
            self.call(core, |policy, on| policy.move_thread_group(on, thread, number(Some(group))));
        }
        self.put_in(core, thread);
        if waits {
            wake_idle(core, thread);
        }
    }

    fn exit(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |policy, on| policy.exit_thread(on, thread));
        self.threads.remove(thread);
    }

    fn weigh_group(&mut self, core: &mut Core, group: usize, weight: u32) {
        self.groups[group].weight = weight;
        self.call(core, |policy, on| policy.weigh_group(on, number(Some(group)), weight));
    }

    fn limit_group(&mut self, core: &mut Core, group: usize, max: Option<Quota>) {
        if self.keeps_limits(core) {
            self.groups[group].max = max;
            self.call(core, |policy, on| policy.limit_group(on, number(Some(group)), max));
        }
    }

    fn idle_group(&mut self, core: &mut Core, group: usize, idle: bool) {
        if self.keeps_limits(core) {
            self.groups[group].idle = idle;
            self.call(core, |policy, on| policy.idle_group(on, number(Some(group)), idle));
        }
    }

    fn next_timer(&self) -> Nanos {
        self.threads.timers.next()
    }

    fn timer(&mut self, core: &mut Core) {
        while let Some(timer) = self.threads.timers.take(core.now) {
            self.call(core, |policy, on| match timer {
                Timer::Group(group) => policy.group_due(on, group),
                Timer::Cpu(cpu) => policy.turn_due(on, cpu),
            });
        }
    }

    fn hotplug(&mut self, core: &mut Core) {
        self.restart(core);
    }

    fn pulls(&self) -> u64 {
        self.pulled + self.policy.pulls()
    }
}

/// A thread that waits for an idle CPU wakes it, wherever it waits (`wakeup_preempt`).
fn wake_idle(core: &mut Core, thread: ThreadId) {
    let cpu = core.thread(thread).cpu;
    if core.current(cpu).is_none() {
        core.resched(cpu);
    }
}
