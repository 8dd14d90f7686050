//! Traces without a sense: threads wake, run, wait for each other and serve as drawn.

use model::event::{Cause, CpuSetId, Event, Interrupt, NameId, Tables, What, Why};
use model::trace::{ProgramTrace, Request, ThreadTrace, Trace, Window};
use model::{CpuId, Nanos, ThreadId};

const CAUSES: [Cause; 8] = [
    Cause::Lock,
    Cause::Lock,
    Cause::Socket,
    Cause::Sleep,
    Cause::Disk,
    Cause::Other,
    Cause::Client,
    Cause::Stopped,
];

/// What is drawn of a trace, as far as it is.
struct Draft {
    seed: u64,
    now: u64,
    programs: Vec<usize>,
    on: Vec<Option<usize>>,
    awake: Vec<bool>,
    at: Vec<Option<u32>>,
    requests: [Vec<Request>; 2],
    events: Vec<Event>,
}

/// A trace of two services and a third program.
pub fn trace(seed: u64, threads: usize, cpus: usize) -> Trace {
    let mut draft = Draft {
        seed,
        now: 0,
        programs: (0..threads).map(|thread| [0, 1, 0, 2][thread % 4]).collect(),
        on: vec![None; cpus],
        awake: vec![false; threads],
        at: vec![None; threads],
        requests: [Vec::new(), Vec::new()],
        events: Vec::new(),
    };
    (0..600).for_each(|_| draft.go_on());
    draft.whole(cpus)
}

impl Draft {
    fn draw(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.seed >> 33) as usize % below
    }

    fn push(&mut self, what: What) {
        self.events.push(Event { at: Nanos(self.now), what });
    }

    fn go_on(&mut self) {
        self.now += self.draw(12) as u64;
        let (thread, cpu) = (self.draw(self.awake.len()), self.draw(self.on.len()));
        match self.draw(20) {
            0..4 => self.wake(thread, cpu),
            4..8 => self.switch(thread, cpu),
            8..11 => self.block(cpu),
            11 if self.awake[thread] && !self.on.contains(&Some(thread)) => {
                self.push(What::Off { thread: id(thread), cause: Cause::Throttled });
            }
            12 => self.push(What::Released { thread: id(thread) }),
            13..16 => self.disturb(cpu),
            16 if self.draw(9) == 0 => {
                let cpus = CpuSetId(self.draw(2) as u32);
                self.push(What::Affinity { thread: id(thread), cpus });
            }
            17.. => self.serve(cpu),
            _ => {}
        }
    }

    fn wake(&mut self, thread: usize, cpu: usize) {
        if self.awake[thread] {
            return;
        }
        self.awake[thread] = true;
        let by = [None, Some(CpuId(self.draw(self.on.len()) as u32))][self.draw(2)];
        self.push(What::Wake { thread: id(thread), cpu: CpuId(cpu as u32), by });
    }

    fn switch(&mut self, thread: usize, cpu: usize) {
        let from = self.on[cpu].map(id);
        if self.awake[thread] && !self.on.contains(&Some(thread)) {
            self.on[cpu] = Some(thread);
        } else {
            self.on[cpu] = None;
        }
        let (to, why) = (self.on[cpu].map(id), Why::Preempted);
        self.push(What::Switch { cpu: CpuId(cpu as u32), from, to, why });
    }

    fn block(&mut self, cpu: usize) {
        let Some(thread) = self.on[cpu].take() else { return };
        self.awake[thread] = false;
        let (thread, cpu) = (id(thread), CpuId(cpu as u32));
        self.push(What::Block { thread, cpu });
        self.push(What::Switch { cpu, from: Some(thread), to: None, why: Why::Blocked });
        if self.draw(4) > 0 {
            let cause = CAUSES[self.draw(CAUSES.len())];
            self.push(What::Off { thread, cause });
        }
    }

    fn disturb(&mut self, cpu: usize) {
        let (cpu, kind, name) = (CpuId(cpu as u32), Interrupt::Soft, NameId(self.draw(3) as u32));
        let took = Nanos(self.draw(20) as u64);
        let what = match self.draw(4) {
            0 => What::IdleExit { cpu, state: name, took },
            1 => What::InterruptBegin { cpu, kind, name },
            _ => What::InterruptEnd { cpu, kind, name },
        };
        self.push(what);
    }

    /// The thread of a CPU takes up a request or answers it.
    fn serve(&mut self, cpu: usize) {
        let Some(thread) = self.on[cpu].filter(|thread| self.programs[*thread] < 2) else { return };
        let (now, program) = (Nanos(self.now), self.programs[thread]);
        if let Some(request) = self.at[thread].take() {
            let one = &mut self.requests[program][request as usize];
            (one.completed, one.received) = (now, now);
            return self.events.push(Event {
                at: one.started,
                what: What::Start { thread: id(thread), request },
            });
        }
        let waited = self.draw(150).min(self.now as usize);
        let intended = self.now - waited as u64;
        let last = self.requests[program].last().map_or(0, |one| one.intended.0);
        let intended = Nanos(intended.max(last));
        let sent = Nanos(intended.0 + self.draw((now - intended).0 as usize + 1) as u64);
        let (never, service) = (Nanos::NEVER, Nanos(self.draw(40) as u64));
        let started = now;
        let one = Request { intended, sent, started, completed: never, received: never, service };
        self.at[thread] = Some(self.requests[program].len() as u32);
        self.requests[program].push(one);
    }

    fn whole(mut self, cpus: usize) -> Trace {
        self.events.sort_by_key(|event| event.at);
        let half = |odd: usize| (odd..cpus).step_by(2).map(|cpu| CpuId(cpu as u32)).collect();
        let program = |requests| ProgramTrace { requests, ..ProgramTrace::default() };
        let programs = self.requests.into_iter().map(program);
        Trace {
            window: Window { start: Nanos::ZERO, end: Nanos(self.now + 1) },
            programs: programs.chain([ProgramTrace::default()]).collect(),
            threads: self
                .programs
                .iter()
                .map(|program| ThreadTrace { program: *program })
                .collect(),
            events: Some(self.events),
            tables: Tables {
                names: ["local timer", "net", "disk"].map(String::from).to_vec(),
                cpu_sets: vec![half(0), if cpus > 1 { half(1) } else { half(0) }],
                ..Tables::default()
            },
            ..Trace::default()
        }
    }
}

fn id(thread: usize) -> ThreadId {
    ThreadId(thread as u32)
}
