//! What a class is told of CPUs that fall idle.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{scenario, setup};
use model::change::{Change, ChangeKind};
use model::scenario::Kind;
use model::{CpuId, Nanos, ThreadId};
use sim::class::Class;
use sim::core::Core;
use sim::events::Tournament;

/// One thread, and which CPUs were said to be idle.
#[derive(Default)]
struct One {
    waits: Option<ThreadId>,
    idle: Rc<RefCell<Vec<CpuId>>>,
}

impl Class for One {
    fn fork(&mut self, _core: &mut Core, _thread: ThreadId) {}
    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        core.thread(thread).cpu
    }
    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        self.waits = Some(thread);
        core.resched(core.thread(thread).cpu);
    }
    fn dequeue(&mut self, _core: &mut Core, _thread: ThreadId) {}
    fn give_way(&mut self, _core: &mut Core, _cpu: CpuId, _thread: ThreadId) {}
    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        prev.or_else(|| self.waits.take_if(|thread| core.thread(*thread).cpu == cpu))
    }
    fn displace(&mut self, _core: &mut Core, _cpu: CpuId, prev: ThreadId) {
        self.waits = Some(prev);
    }
    fn tick(&mut self, _core: &mut Core, _cpu: CpuId, _current: ThreadId) {}
    fn idle(&mut self, _core: &mut Core, cpu: CpuId) {
        self.idle.borrow_mut().push(cpu);
    }
    fn save(&mut self, _core: &mut Core, _thread: ThreadId) {}
    fn restore(&mut self, _core: &mut Core, _thread: ThreadId) {}
    fn migrate(&mut self, core: &mut Core, thread: ThreadId, to: CpuId) {
        core.threads[thread.index()].cpu = to;
        core.resched(to);
    }
}

/// Which CPUs were said to be idle while a spinning thread was bound to these, one after the other.
fn idle_when_bound_to(cpus: &[u32]) -> Vec<CpuId> {
    let scenario = scenario(3, vec![("spin", Kind::Batch { threads: 1 })]);
    let bind = |(second, &cpu): (usize, &u32)| Change {
        at: Nanos::from_secs(second as u64 + 1),
        kind: ChangeKind::Affinity { thread: ThreadId(0), cpus: [CpuId(cpu)].into() },
    };
    let (class, changes) = (One::default(), cpus.iter().enumerate().map(bind).collect());
    let idle = Rc::clone(&class.idle);
    sim::simulate_changing::<_, Tournament, _>(&setup(&scenario), class, changes, ())
        .expect("the run succeeds");
    idle.take()
}

/// The kernel's stopper takes the thread from its CPU, which then picks nothing (`migration_cpu_stop`).
#[test]
fn a_cpu_whose_running_thread_is_moved_away_is_said_to_be_idle() {
    assert_eq!(idle_when_bound_to(&[2, 1, 0]), [CpuId(2), CpuId(1)]);
    // The control: it may stay.
    assert_eq!(idle_when_bound_to(&[2, 2]), []);
}
