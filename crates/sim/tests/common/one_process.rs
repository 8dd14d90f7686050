//! sched_ext as it sees two programs that are one process.

use model::{CpuId, ThreadId};
use sim::class::Class;
use sim::class::ext::Ext;
use sim::core::Core;

/// sched_ext to which the scenario's first two programs are one process.
pub struct OneProcess(pub Ext);

impl OneProcess {
    fn call<R>(&mut self, core: &mut Core, call: impl FnOnce(&mut Ext, &mut Core) -> R) -> R {
        let rename = |core: &mut Core, from, to| {
            let second = core.threads.iter_mut().skip(1).filter(|thread| thread.program == from);
            second.for_each(|thread| thread.program = to);
        };
        rename(core, 1, 0);
        let result = call(&mut self.0, core);
        rename(core, 0, 1);
        result
    }
}

impl Class for OneProcess {
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
    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId> {
        self.call(core, |class, core| class.pick(core, cpu, prev))
    }
    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId) {
        self.call(core, |class, core| class.displace(core, cpu, prev));
    }
    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId) {
        self.call(core, |class, core| class.tick(core, cpu, current));
    }
}
