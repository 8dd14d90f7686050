//! A policy that is given wrong moments: the control of what `order=arrival` gains.

use std::collections::BTreeMap;

use model::{CpuId, Nanos, PolicySpec, Scenario, Silent, ThreadId, Trace};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::core::Core;
use sim::costs::Costs;
use sim::events::Tournament;
use sim::{Setup, simulate_changing};

/// Of so many requests that came last, each gets the moment of another.
const LAST: usize = 64;

/// A class that sees the moments of requests shuffled.
struct Shuffled {
    class: Ext,
    /// What each thread was seen with last.
    given: Vec<Option<Nanos>>,
    /// Moments that came last.
    last: Vec<Nanos>,
    /// The wrong moment of each right one.
    wrong: BTreeMap<Nanos, Nanos>,
}

impl Shuffled {
    /// Puts wrong moments in the place of those that are new.
    fn shuffle(&mut self, core: &mut Core) {
        self.given.resize(core.requests.len(), None);
        for (own, given) in core.requests.iter_mut().zip(&mut self.given) {
            if own != given {
                *own = own.map(|right| {
                    *self.wrong.entry(right).or_insert_with(|| {
                        self.last.push(right);
                        let from = self.last.len().saturating_sub(LAST);
                        // Any spread will do.
                        let random =
                            (self.last.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                        self.last[from + random as usize % (self.last.len() - from)]
                    })
                });
                *given = *own;
            }
        }
    }

    fn call<R>(&mut self, core: &mut Core, call: impl FnOnce(&mut Ext, &mut Core) -> R) -> R {
        self.shuffle(core);
        call(&mut self.class, core)
    }
}

impl Class for Shuffled {
    fn fork(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.fork(core, thread));
    }

    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        self.call(core, |class, core| class.select_cpu(core, thread))
    }

    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.enqueue(core, thread));
    }

    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.dequeue(core, thread));
    }

    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId) {
        self.call(core, |class, core| class.give_way(core, cpu, thread));
    }

    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        self.call(core, |class, core| class.pick(core, cpu, prev))
    }

    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.call(core, |class, core| class.displace(core, cpu, prev));
    }

    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.call(core, |class, core| class.tick(core, cpu, current));
    }

    fn idle(&mut self, core: &mut Core, cpu: CpuId) {
        self.call(core, |class, core| class.idle(core, cpu));
    }

    fn turn_end(&self, core: &Core, cpu: CpuId) -> Nanos {
        self.class.turn_end(core, cpu)
    }

    fn turn_over(&mut self, core: &mut Core, cpu: CpuId) {
        self.call(core, |class, core| class.turn_over(core, cpu));
    }

    fn save(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.save(core, thread));
    }

    fn restore(&mut self, core: &mut Core, thread: ThreadId) {
        self.call(core, |class, core| class.restore(core, thread));
    }

    fn next_timer(&self) -> Nanos {
        self.class.next_timer()
    }

    fn timer(&mut self, core: &mut Core) {
        self.call(core, |class, core| class.timer(core));
    }
}

/// The run of a scenario's first seed under a policy that is given wrong moments.
pub fn run_shuffled(scenario: &Scenario, policy: &str) -> Trace {
    let seed = scenario.seeds[0];
    let spec = PolicySpec::parse(policy).expect("a valid policy");
    let class = Ext::new(scenario, &spec, seed).expect("a known policy");
    let (given, last, wrong) = (Vec::new(), Vec::new(), BTreeMap::new());
    let setup = Setup {
        scenario,
        policy,
        kernel: "modelled",
        seed,
        realtime: None,
        costs: Costs::DEFAULT,
        watch: &Silent,
    };
    let class = Shuffled { class, given, last, wrong };
    let run = simulate_changing::<_, Tournament, _>(&setup, class, Vec::new(), ());
    run.expect("the run succeeds").trace
}
