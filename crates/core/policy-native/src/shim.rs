//! The platform's calls as C sees them: they find the present platform and policy in a thread-local pointer.
//!
//! C frames cannot be unwound, so a panic of the platform is kept, the callback runs to its end on harmless
//! answers, and the panic goes on in Rust ([`enter`]).

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;

use model::{CpuId, ThreadId};

use crate::anchor;
use crate::platform::{Kick, Level, Local, Place, Platform};
use crate::state::{Owner, State};

/// What is present while a callback runs.
struct Context<'a> {
    platform: &'a mut dyn Platform,
    state: &'a mut State,
    options: *const c_void,
    /// Whether the policy holds a queue's lock.
    locked: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// Runs a callback of the policy on a platform. Callbacks do not nest: a platform call must not call the
/// policy.
pub fn enter<R>(
    platform: &mut dyn Platform,
    state: &mut State,
    options: *const c_void,
    callback: impl FnOnce() -> R,
) -> R {
    assert!(anchor::get().is_null(), "a policy was called from one of its platform's calls");
    let mut context = Context { platform, state, options, locked: false, panic: None };
    anchor::set((&raw mut context).cast());
    let result = callback();
    anchor::set(null_mut());
    match context.panic.map(|panic| panic.downcast::<Misuse>()) {
        Some(Ok(misuse)) => context.platform.fault(&misuse.0),
        Some(Err(panic)) => resume_unwind(panic),
        None if context.locked => {
            context.platform.fault("a callback of the policy returned with a lock");
        }
        None => {}
    }
    result
}

/// What the policy did wrong: ends a call of it as a panic does, but is no fault of ours.
struct Misuse(String);

fn misuse(what: &str) -> ! {
    resume_unwind(Box::new(Misuse(what.to_string())))
}

/// Answers a call of the policy.
fn call<R>(answer: impl FnOnce(&mut Context) -> R, after_panic: R) -> R {
    let present: *mut Context = anchor::get().cast();
    assert!(!present.is_null(), "a platform call outside a callback");
    // SAFETY: `enter` put the pointer there and has not returned, since the pointer is cleared when it does;
    // this Rust thread runs C code below `enter`, so nothing else uses the context: answers are not nested.
    let context = unsafe { &mut *present };
    match catch_unwind(AssertUnwindSafe(|| answer(context))) {
        Ok(result) => result,
        Err(panic) => {
            context.panic.get_or_insert(panic);
            after_panic
        }
    }
}

/// [`call`] for what a holder of a lock must not ask.
fn unlocked<R>(answer: impl FnOnce(&mut Context) -> R, after_panic: R) -> R {
    let checked = |context: &mut Context| {
        if context.locked {
            misuse("a call of the policy that is not allowed under a lock");
        }
        answer(context)
    };
    call(checked, after_panic)
}

/// Threads travel through C as pointers that are never followed: the number plus one, so that none is null.
pub fn handle(thread: Option<ThreadId>) -> *mut c_void {
    std::ptr::without_provenance_mut(thread.map_or(0, |thread| thread.0 as usize + 1))
}

fn thread(handle: *mut c_void) -> ThreadId {
    match handle.addr().checked_sub(1) {
        Some(id) => ThreadId(id as u32),
        None => misuse("the policy asked about a thread that is NULL"),
    }
}

/// The row of a thread's state. Row 0 is unused.
pub fn slot(thread: ThreadId) -> u32 {
    thread.0 + 1
}

/// The thread of a row; `None`: there is none in row 0.
pub fn row(slot: u32) -> Option<ThreadId> {
    slot.checked_sub(1).map(ThreadId)
}

fn cpu(number: i32) -> CpuId {
    CpuId(number as u32)
}

/// A CPU that the machine has.
fn present(on: &Context, at: i32) -> CpuId {
    if on.state.cpus.at(at as u32).is_null() {
        misuse(&format!("the policy named CPU {at}, which the machine does not have"));
    }
    cpu(at)
}

fn level(number: u32) -> Level {
    let levels = [Level::Cpu, Level::Core, Level::Llc, Level::Node, Level::Machine];
    levels[number.min(4) as usize]
}

fn process(on: &Context, thread: ThreadId) -> u32 {
    PROCESS | on.platform.process(thread)
}

/// Processes are numbered beside threads.
const PROCESS: u32 = 1 << 30;

/// A lock or release, as `locked` becomes.
fn turn(locked: &mut bool, becomes: bool) {
    if *locked == becomes {
        misuse("the policy holds a lock already, or not");
    }
    *locked = becomes;
}

/// Defines the functions that C calls: name, arguments, result, the answer to a panic, and what answers;
/// first, by which function.
macro_rules! calls {
    ($all:ident by $by:ident: $(fn $name:ident($context:ident $(, $arg:ident: $kind:ty)*) -> $result:ty [$after:expr] $body:expr;)*) => {
        $(
            // SAFETY: the name and the types are those of policy/platform.h; no other item has the name.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($arg: $kind),*) -> $result {
                $by(|$context| $body, $after)
            }
        )*

        const $all: &[(&str, *const ())] = &[$((stringify!($name), $name as *const ()),)*];
    };
}

type Handle = *mut c_void;

/// `struct rg_cursor`.
#[repr(C)]
pub struct Cursor {
    queue: u64,
    position: u64,
}

calls! {
    TABLES by call:
    fn rg_thread_at(on, slot: u32) -> Handle [null_mut()] on.state.threads.some_mut(slot);
    fn rg_group_at(on, group: u32) -> Handle [null_mut()] on.state.groups.some_mut(group);
    fn rg_pool_at(on, row: u32) -> Handle [null_mut()] on.state.pools.some_mut(row);
    fn rg_entry_at(on, row: u32) -> Handle [null_mut()] on.state.entries.some_mut(row);
    fn rg_options(on) -> *const c_void [std::ptr::null()] on.options;
    fn rg_release(on, _lock: Handle) -> () [()] turn(&mut on.locked, false);
}

calls! {
    OTHERS by unlocked:
    fn rg_lock_of(on, queue: u32) -> Handle [null_mut()] on.state.queues.at_mut(queue);
    fn rg_acquire(on, _lock: Handle) -> () [()] turn(&mut on.locked, true);
    fn rg_now(on) -> u64 [0] on.platform.now();
    fn rg_random(on) -> u32 [0] on.platform.random();
    fn rg_exec_ns(on, t: Handle) -> u64 [0] on.platform.exec_ns(thread(t));
    fn rg_thread_id(_on, t: Handle) -> u32 [0] slot(thread(t));
    fn rg_process_id(on, t: Handle) -> u32 [0] process(on, thread(t));
    fn rg_weight(on, t: Handle) -> u32 [1] on.platform.weight(thread(t));
    fn rg_thread_cpu(on, t: Handle) -> i32 [0] on.platform.thread_cpu(thread(t)).0 as i32;
    fn rg_may_run_on(on, t: Handle, at: i32) -> bool [false] on.platform.may_run_on(thread(t), cpu(at));
    fn rg_affinity(on, t: Handle) -> u32 [0] on.platform.affinity(thread(t));
    fn rg_is_pinned(on, t: Handle) -> bool [false] on.platform.is_pinned(thread(t));
    fn rg_is_percpu_kthread(on, t: Handle) -> bool [false] on.platform.is_percpu_kthread(thread(t));
    fn rg_is_runnable(on, t: Handle) -> bool [false] on.platform.is_runnable(thread(t));
    fn rg_thread(on, t: Handle) -> *mut c_void [null_mut()] on.state.threads.at_mut(slot(thread(t)));
    fn rg_process(on, t: Handle) -> *mut c_void [null_mut()] on.state.processes.at_mut(on.platform.process(thread(t)));
    fn rg_cpu(on, at: i32) -> *mut c_void [null_mut()] on.state.cpus.at_mut(at as u32);
    fn rg_queue(on, queue: u32) -> *mut c_void [null_mut()] on.state.queues.at_mut(queue);
    fn rg_shared(on) -> *mut c_void [null_mut()] on.state.shared.at_mut(0);
    fn rg_slot(_on, t: Handle) -> u32 [0] slot(thread(t));
    fn rg_domain(on, at: i32, of: u32) -> u32 [0] on.platform.domain(present(on, at), level(of));
    fn rg_cpu_in(on, at: i32, of: u32, i: u32) -> i32 [-1] number(on.platform.cpu_in(present(on, at), level(of), i));
    fn rg_waker(on) -> u32 [0] on.platform.waker().map_or(0, slot);
    fn rg_request_at(on, slot: u32) -> u64 [0]
        row(slot).and_then(|thread| on.platform.request_at(thread)).unwrap_or(0);
    fn rg_pick_idle(on, t: Handle) -> i32 [-1] number(on.platform.pick_idle(thread(t)));
    fn rg_kick(on, at: i32, how: u32) -> () [()]
        on.platform.kick(present(on, at), if how == 0 { Kick::Idle } else { Kick::Preempt });
    fn rg_queue_create(on, queue: u32) -> i32 [-1] {
        if on.state.queues.at(queue).is_null() {
            return NO_QUEUE;
        }
        on.platform.create_queue(queue);
        0
    };
    fn rg_insert_ordered(on, t: Handle, queue: u32, slice_ns: u64, key: u64) -> () [()]
        on.platform.insert_ordered(thread(t), queue, slice_ns, key);
    fn rg_insert_local(on, t: Handle, slice_ns: u64, flags: u32) -> () [()]
        on.platform.insert_local(thread(t), slice_ns, Local { head: flags & 1 != 0, preempt: flags & 2 != 0 });
    fn rg_queue_length(on, queue: u32) -> u32 [0] on.platform.queue_length(queue);
    fn rg_queue_peek(on, queue: u32) -> Handle [null_mut()] handle(on.platform.queue_peek(queue));
    fn rg_move_thread(on, queue: u32, slot: u32) -> u32 [0]
        row(slot).map_or(0, |thread| on.platform.move_thread(queue, thread) as u32);
    fn rg_visit_next(on, cursor: &mut Cursor) -> Handle [null_mut()]
        handle(on.platform.visit_next(cursor.queue as u32, &mut cursor.position));
    fn rg_visit_move(on, cursor: &mut Cursor, t: Handle) -> bool [false]
        on.platform.visit_move(cursor.queue as u32, &mut cursor.position, thread(t));
    fn rg_visit_move_to(on, cursor: &mut Cursor, t: Handle, queue: u32, slice_ns: u64, key: u64) -> bool [false]
        on.platform.visit_move_to(cursor.queue as u32, &mut cursor.position, thread(t), Place { queue, slice_ns, key });
    fn rg_is_ending(on, t: Handle) -> bool [false] on.platform.is_ending(thread(t));
    fn rg_vacate(on, prev: Handle) -> () [()] on.platform.vacate(thread(prev));
    fn rg_group_timer(on, group: u32, after_ns: u64) -> bool [false] on.platform.group_timer(group, after_ns);
    fn rg_cpu_timer(on, cpu: i32, after_ns: u64) -> () [()] on.platform.cpu_timer(present(on, cpu), after_ns);
    fn rg_set_slice(on, t: Handle, slice_ns: u64) -> () [()] on.platform.set_slice(thread(t), slice_ns);
    fn rg_default_cpu(on, t: Handle, prev_cpu: i32, idle: &mut bool) -> i32 [prev_cpu] {
        let (chosen, claimed) = on.platform.default_cpu(thread(t), present(on, prev_cpu));
        *idle = claimed;
        chosen.0 as i32
    };
}

/// The row of state that an address is in, and where in it, while a callback runs that has it.
pub fn place(address: usize) -> Option<(Owner, u32, u32)> {
    call(|on| on.state.place(address), None)
}

/// Every call by name, for a policy that does not find them by linking.
pub fn calls() -> impl Iterator<Item = (&'static str, *const ())> {
    TABLES.iter().chain(OTHERS).copied()
}

/// `EINVAL`: not below `RG_QUEUES`.
const NO_QUEUE: i32 = -22;

fn number(cpu: Option<CpuId>) -> i32 {
    cpu.map_or(-1, |cpu| cpu.0 as i32)
}
