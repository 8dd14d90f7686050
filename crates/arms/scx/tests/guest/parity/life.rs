//! A machine's life, drawn at random: threads wake, run, block, are preempted, change and end.

use std::path::Path;

use model::ThreadId;

use super::pair::{MACHINE, Pair};
use super::script::Event;
use crate::toy::Thread;

const MS: u64 = 1_000_000;
const CPUS: usize = MACHINE.cpus as usize;
const THREADS: u32 = 24;
const PROCESSES: u32 = 4;
/// Groups as (parent, weight), from 1 on: 2 is a child of 1.
const GROUPS: [(u32, u32); 3] = [(0, 300), (1, 100), (0, 50)];
const WEIGHTS: [u32; 5] = [15, 70, 100, 125, 8_871];

/// Steps of a season: in every second one CPUs are scarce.
const SEASON: u32 = 250;

pub struct Life {
    pub pair: Pair,
    running: [Option<ThreadId>; CPUS],
    /// The thread that blocked last on each CPU: dispatch is told.
    blocked: [Option<ThreadId>; CPUS],
    draw: u64,
    steps: u32,
}

impl Life {
    /// A machine with its groups and threads, all asleep.
    pub fn new(policy: &str, object: &Path, seed: u64) -> Result<Life, String> {
        let pair = Pair::new(policy, object)?;
        let mut life =
            Life { pair, running: [None; CPUS], blocked: [None; CPUS], draw: seed, steps: 0 };
        life.pair.call(Event::Init)?;
        for (group, (parent, weight)) in (1..).zip(GROUPS) {
            life.pair.call(Event::InitGroup(group, parent, weight))?;
        }
        for id in 0..THREADS {
            life.create(id)?;
        }
        Ok(life)
    }

    fn create(&mut self, id: u32) -> Result<(), String> {
        let cpu = id % MACHINE.cpus;
        let pinned = id >= THREADS - 6;
        let thread = Thread {
            process: id % PROCESSES,
            cpu,
            exec_ns: 0,
            weight: 1_024,
            group: id % (GROUPS.len() as u32 + 1),
            only_on: pinned.then_some(cpu),
            percpu_kthread: id == THREADS - 1,
        };
        let group = thread.group;
        self.pair.machine.toy.threads.push(thread);
        self.pair.call(Event::InitThread(ThreadId(id), group)).map(drop)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.draw >> 33) as usize % bound
    }

    fn one_of(&mut self, threads: &[ThreadId]) -> Option<ThreadId> {
        (!threads.is_empty()).then(|| threads[self.below(threads.len())])
    }

    fn waiting(&self) -> Vec<ThreadId> {
        self.pair.machine.toy.queues.values().flatten().map(|entry| entry.1).collect()
    }

    fn asleep(&self) -> Vec<ThreadId> {
        let toy = &self.pair.machine.toy;
        let awake = self.waiting();
        let is_awake = |thread: &ThreadId| {
            awake.contains(thread)
                || self.running.contains(&Some(*thread))
                || toy.locals.iter().any(|local| local.contains(thread))
        };
        (0..THREADS).map(ThreadId).filter(|thread| !is_awake(thread)).collect()
    }

    /// One thing that happens.
    pub fn step(&mut self) -> Result<(), String> {
        let cpu = self.below(CPUS);
        let toy = &mut self.pair.machine.toy;
        toy.idle = (0..CPUS as u32).filter(|cpu| self.running[*cpu as usize].is_none()).collect();
        toy.now += 1;
        self.steps += 1;
        let is_busy = self.steps / SEASON % 2 == 1;
        match self.below(24) {
            0..7 => self.wake(),
            7 => self.change(),
            8 => self.recreate(),
            9 => self.weigh(),
            10 => self.leave(),
            11 => self.block(cpu),
            12..14 if !is_busy => self.block(cpu),
            14 => self.tick(cpu),
            15 => self.give_way(cpu),
            16..19 => self.pass(),
            _ => self.dispatch(cpu),
        }
    }

    fn wake(&mut self) -> Result<(), String> {
        let asleep = self.asleep();
        let Some(thread) = self.one_of(&asleep) else { return Ok(()) };
        let home = self.pair.machine.toy.threads[thread.index()].cpu;
        if self.pair.machine.toy.threads[thread.index()].only_on.is_none() {
            let cpu = self.pair.call(Event::SelectCpu(thread, home))? as u32;
            self.settle(thread, cpu);
        }
        let is_local = self.pair.machine.toy.locals.iter().any(|local| local.contains(&thread));
        if !is_local {
            self.pair.call(Event::Enqueue(thread, true))?;
        }
        Ok(())
    }

    /// The thread goes where select_cpu said, and with it what was inserted there.
    fn settle(&mut self, thread: ThreadId, cpu: u32) {
        let toy = &mut self.pair.machine.toy;
        toy.threads[thread.index()].cpu = cpu;
        if let Some(local) = toy.locals.iter_mut().find(|local| local.contains(&thread)) {
            local.retain(|other| *other != thread);
            toy.locals[cpu as usize].push_back(thread);
        }
    }

    /// A thread is taken out of its queue, changed, and put back.
    fn change(&mut self) -> Result<(), String> {
        let waiting = self.waiting();
        let Some(thread) = self.one_of(&waiting) else { return Ok(()) };
        let weight = WEIGHTS[self.below(WEIGHTS.len())];
        let group = self.below(GROUPS.len() + 1) as u32;
        let toy = &mut self.pair.machine.toy;
        toy.queues.values_mut().for_each(|queue| queue.retain(|entry| entry.1 != thread));
        self.pair.machine.toy.threads[thread.index()].weight = weight;
        self.pair.call(Event::MoveThreadGroup(thread, group))?;
        self.pair.call(Event::Enqueue(thread, false)).map(drop)
    }

    /// A thread that waits goes to another class, from which it wakes again.
    fn leave(&mut self) -> Result<(), String> {
        let waiting = self.waiting();
        let Some(thread) = self.one_of(&waiting) else { return Ok(()) };
        let toy = &mut self.pair.machine.toy;
        toy.queues.values_mut().for_each(|queue| queue.retain(|entry| entry.1 != thread));
        self.pair.call(Event::ExitThread(thread)).map(drop)
    }

    /// A thread ends and another has its number.
    fn recreate(&mut self) -> Result<(), String> {
        let asleep = self.asleep();
        let Some(thread) = self.one_of(&asleep) else { return Ok(()) };
        self.pair.call(Event::ExitThread(thread))?;
        let group = self.below(GROUPS.len() + 1) as u32;
        self.pair.call(Event::InitThread(thread, group)).map(drop)
    }

    fn weigh(&mut self) -> Result<(), String> {
        let group = self.below(GROUPS.len()) as u32 + 1;
        let weight = WEIGHTS[self.below(WEIGHTS.len())];
        self.pair.call(Event::WeighGroup(group, weight)).map(drop)
    }

    fn block(&mut self, cpu: usize) -> Result<(), String> {
        let Some(thread) = self.running[cpu].take() else { return Ok(()) };
        self.blocked[cpu] = Some(thread);
        self.pair.call(Event::Stopping(thread, false))?;
        self.dispatch(cpu)
    }

    fn tick(&mut self, cpu: usize) -> Result<(), String> {
        self.running[cpu].map_or(Ok(()), |thread| self.pair.call(Event::Tick(thread)).map(drop))
    }

    /// A thread calls sched_yield, and its CPU chooses again.
    fn give_way(&mut self, cpu: usize) -> Result<(), String> {
        let Some(thread) = self.running[cpu] else { return Ok(()) };
        self.pair.call(Event::GiveWay(thread))?;
        self.dispatch(cpu)
    }

    /// Time passes: mostly less than a slice, seldom so much that targets, rounds and the starvation limit
    /// matter.
    fn pass(&mut self) -> Result<(), String> {
        let most = if self.below(200) == 0 { 6_000 * MS } else { 4 * MS };
        let ns = self.below(most as usize) as u64;
        let toy = &mut self.pair.machine.toy;
        toy.now += ns;
        for thread in self.running.iter().flatten() {
            toy.threads[thread.index()].exec_ns += ns;
        }
        Ok(())
    }

    fn dispatch(&mut self, cpu: usize) -> Result<(), String> {
        let prev = self.running[cpu];
        if self.pair.machine.toy.locals[cpu].is_empty() {
            let late = self.hide();
            self.pair.machine.toy.dispatching = (cpu as u32, prev);
            self.pair.call(Event::Dispatch(cpu as u32, prev.or(self.blocked[cpu])))?;
            self.reveal(late);
        }
        match (self.pair.machine.toy.locals[cpu].pop_front(), prev) {
            (Some(next), prev) => self.switch(cpu, prev, next),
            (None, Some(_)) => Ok(()),
            (None, None) => self.pair.call(Event::Idle(cpu as u32)).map(drop),
        }
    }

    /// Now and then a thread is not yet where the policy has put it.
    fn hide(&mut self) -> Option<(u32, (u64, ThreadId))> {
        let waiting = self.waiting();
        let thread = self.one_of(&waiting).filter(|_| self.below(4) == 0)?;
        let mut queues = self.pair.machine.toy.queues.iter_mut();
        queues.find_map(|(id, queue)| {
            let at = queue.iter().position(|entry| entry.1 == thread)?;
            Some((*id, queue.remove(at)))
        })
    }

    fn reveal(&mut self, late: Option<(u32, (u64, ThreadId))>) {
        let Some((id, (place, thread))) = late else { return };
        let queue = self.pair.machine.toy.queues.get_mut(&id).expect("its queue");
        queue.insert(queue.partition_point(|entry| entry.0 <= place), (place, thread));
    }

    fn switch(&mut self, cpu: usize, prev: Option<ThreadId>, next: ThreadId) -> Result<(), String> {
        if let Some(prev) = prev {
            self.pair.call(Event::Stopping(prev, true))?;
            self.pair.call(Event::Enqueue(prev, false))?;
        }
        self.running[cpu] = Some(next);
        self.pair.machine.toy.threads[next.index()].cpu = cpu as u32;
        Ok(())
    }
}
