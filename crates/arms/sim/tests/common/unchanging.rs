//! A class that does not know changes.

use model::{CpuId, ThreadId};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::core::Core;

/// sched_ext without what only changes ask for.
pub struct Unchanging(pub Ext);

impl Class for Unchanging {
    fn fork(&mut self, core: &mut Core, thread: ThreadId) {
        self.0.fork(core, thread);
    }
    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId {
        self.0.select_cpu(core, thread)
    }
    fn enqueue(&mut self, core: &mut Core, thread: ThreadId) {
        self.0.enqueue(core, thread);
    }
    fn dequeue(&mut self, core: &mut Core, thread: ThreadId) {
        self.0.dequeue(core, thread);
    }
    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId) {
        self.0.give_way(core, cpu, thread);
    }
    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        self.0.pick(core, cpu, prev)
    }
    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.0.displace(core, cpu, prev);
    }
    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.0.tick(core, cpu, current);
    }
}
