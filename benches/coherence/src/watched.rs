//! The policy's source with a call at each access, run in the simulator.

use std::cell::RefCell;
use std::sync::Arc;

use instrument::{Frame, Object, Source};
use model::{CpuId, Failure, PolicySpec, Scenario, Silent, Trace};
use policy_native::{Owner, Program};
use sim::Observer;
use sim::events::Tournament;

use crate::counter::{Cause, Kind, LineCounter, Touch};
use crate::layout::Layouts;

/// Bytes from a queue's lock to the next one's (`struct rg_lock` of the adapter).
const LOCK: u32 = 64;
/// The same of `struct rg_task_ctx`.
const CONTEXT: u32 = 64;

thread_local! {
    static COUNTER: RefCell<Option<LineCounter>> = const { RefCell::new(None) };
    static HERE: RefCell<Here> = const { RefCell::new(Here { base: 0, sizes: [0; 9] }) };
}

struct Here {
    base: usize,
    sizes: [u64; 9],
}

fn record(with: impl FnOnce(&mut LineCounter)) {
    COUNTER.with_borrow_mut(|counter| counter.as_mut().map(with));
}

/// What hooks.h calls: `kind` is `enum rg_access`.
extern "C" fn access(at: usize, _size: u32, kind: u32, from: usize) {
    let Some((owner, row, byte)) = policy_native::place(at) else { return };
    HERE.with_borrow(|here| {
        let stride = here.sizes[owner as usize].next_multiple_of(8) as u32;
        let (kind, writes) = (Kind::State(owner as usize), kind != 0);
        let from = from.wrapping_sub(here.base);
        record(|r| r.touch(Touch { kind, row, byte, offset: row * stride + byte, writes, from }));
    });
}

/// What wrapped.h calls: `what` is `enum rg_what`.
extern "C" fn callback(what: u32, cpu: i32) {
    let cause = match what {
        0 => Cause::Wake,
        1 => Cause::Switch,
        2 => Cause::Tick,
        _ => return record(LineCounter::end),
    };
    record(|counter| counter.begin(cause, CpuId(cpu as u32)));
}

/// What watched.h calls: `what` is `enum rg_kernel`.
extern "C" fn kernel(what: u32, which: u64, slot: u32) {
    match what {
        0 | 1 => {
            // In the simulator the lock of a queue is the address of its row.
            if let Some((_, queue, _)) = policy_native::place(which as usize) {
                record(|counter| counter.lock(what == 0));
                touch(Kind::Lock, queue, LOCK, true);
            }
        }
        2 | 3 => {
            touch(Kind::Queue, which as u32, crate::lines::LINE, what == 2);
            if slot > 0 {
                touch(Kind::Node, slot, crate::lines::LINE, what == 2);
            }
        }
        _ => touch(Kind::Context, slot, CONTEXT, what == 4),
    }
}

fn touch(kind: Kind, row: u32, stride: u32, writes: bool) {
    let touch = Touch { kind, row, byte: 0, offset: row * stride, writes, from: 0 };
    record(|counter| counter.touch(touch));
}

/// A policy's code, built to be watched.
pub struct Watched {
    program: Arc<Program>,
    /// The shared object.
    pub object: Object,
    /// Its types.
    pub layouts: Layouts,
}

impl Watched {
    /// Compiles and loads.
    pub fn new(source: &Source) -> Result<Watched, Failure> {
        let calls: Vec<&str> = policy_native::calls().map(|(name, _)| name).collect();
        let frame = Frame {
            calls: &calls,
            headers: &[
                ("renamed.h", include_str!("../c/renamed.h")),
                ("watched.h", include_str!("../c/watched.h")),
                ("wrapped.h", include_str!("../c/wrapped.h")),
            ],
            first: "#include \"renamed.h\"\n",
            before: "#include \"watched.h\"\n",
            behind: "#include \"wrapped.h\"\n",
        };
        let object = Object::new(source, &frame)?;
        let names: Vec<(String, *const ())> = policy_native::calls()
            .map(|(name, call)| (format!("{name}_call"), call))
            .chain([
                ("rg_access_call".to_string(), access as *const ()),
                ("rg_callback_call".to_string(), callback as *const ()),
                ("rg_kernel_call".to_string(), kernel as *const ()),
            ])
            .collect();
        let pointers = names.iter().map(|(name, call)| (name.as_str(), *call));
        // SAFETY: the object is linked without start files, a user's file was checked for constructors by
        // `policy_native::compiles`, and the unit defines a pointer for each of these names.
        let program = unsafe { Program::load(object.path(), pointers) }.map_err(Failure::Run)?;
        let layouts = Layouts::read(&object.layouts()?);
        Ok(Watched { program: Arc::new(program), object, layouts })
    }

    /// Runs a scenario and counts within its window. The trace is the same as of code that is not watched.
    pub fn run(
        &self,
        scenario: &Scenario,
        policy: &PolicySpec,
        seed: u64,
    ) -> Result<(Trace, LineCounter), Failure> {
        let (begin, end) = (scenario.warm_up, scenario.warm_up + scenario.duration);
        COUNTER.set(Some(LineCounter::new(scenario.machine, begin, end)));
        HERE.set(Here { base: self.object.base()?, sizes: self.program.sizes() });
        let run = self.program.instead(|| {
            sim::arm::observe::<Tournament, _>(scenario, policy, seed, &Silent, Listener)
        });
        let counter = COUNTER.take();
        Ok((run?.trace, counter.expect("it was put there")))
    }

    /// The name of a byte of a row.
    pub fn field(&self, kind: Kind, byte: u32) -> String {
        match kind {
            Kind::State(owner) => {
                let name = format!("{:?}", Owner::ALL[owner]).to_lowercase();
                let field = self.layouts.field(&format!("struct rg_{name}"), byte);
                format!("rg_{name}.{field}")
            }
            Kind::Lock => "lock of a queue".to_string(),
            Kind::Queue => "dispatch queue (kernel)".to_string(),
            Kind::Node => "node of a thread (kernel)".to_string(),
            Kind::Context => "context of a thread (adapter)".to_string(),
        }
    }
}

/// Hands events to the counter, which the C code reaches, too.
struct Listener;

impl Observer for Listener {
    fn on(&mut self, event: &model::event::Event) {
        record(|counter| counter.on(event));
    }
}
