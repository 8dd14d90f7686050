//! The calls of `policy/platform.h`, answered for the coroutine whose turn it is.

use std::ffi::c_void;
use std::ptr::without_provenance_mut;

use policy_native::Owner;

use crate::kernel::{Hands, Lock};
use crate::world::World;

type Handle = *mut c_void;

/// Threads travel through C as pointers that are never followed: the number plus one.
pub fn handle(thread: usize) -> Handle {
    without_provenance_mut(thread + 1)
}

fn thread(handle: Handle) -> usize {
    handle.addr().wrapping_sub(1)
}

/// `struct rg_cursor`.
#[repr(C)]
pub struct Cursor {
    queue: u64,
    position: u64,
}

fn hands<'a>() -> Hands<'a> {
    let world = World::here();
    Hands { world, agent: world.agent() }
}

fn row(kind: Owner, at: u32) -> Handle {
    without_provenance_mut::<c_void>(World::here().memory.borrow_mut().at(kind, at as usize))
}

fn some_row(kind: Owner, at: u32) -> Handle {
    without_provenance_mut::<c_void>(World::here().memory.borrow_mut().some_at(kind, at as usize))
}

extern "C" fn access(at: usize, _size: u32, kind: u32, from: usize) {
    World::here().access(at, kind, from);
}

/// What hooks.h calls.
pub const ACCESS: *const () = access as *const ();

/// The options say so.
fn no_quotas() {
    unreachable!("no group has a quota here");
}

macro_rules! calls {
    ($(fn $name:ident($($arg:ident: $kind:ty),*) $(-> $result:ty)? $body:block)*) => {
        mod c {
            use super::*;
            $(pub extern "C" fn $name($($arg: $kind),*) $(-> $result)? $body)*
        }

        /// Every call by name.
        pub const CALLS: &[(&str, *const ())] =
            &[$((stringify!($name), c::$name as *const ()),)*];
    };
}

calls! {
    fn rg_thread_at(slot: u32) -> Handle { some_row(Owner::Thread, slot) }
    fn rg_group_at(group: u32) -> Handle { some_row(Owner::Group, group) }
    fn rg_pool_at(at: u32) -> Handle { some_row(Owner::Pool, at) }
    fn rg_entry_at(at: u32) -> Handle { some_row(Owner::Entry, at) }
    fn rg_options() -> *const c_void { World::here().options.as_ptr().cast() }
    fn rg_thread(t: Handle) -> Handle { row(Owner::Thread, thread(t) as u32 + 1) }
    fn rg_process(t: Handle) -> Handle { row(Owner::Process, hands().process(thread(t))) }
    fn rg_cpu(at: i32) -> Handle { row(Owner::Cpu, at as u32) }
    fn rg_queue(queue: u32) -> Handle { row(Owner::Queue, queue) }
    fn rg_shared() -> Handle { row(Owner::Shared, 0) }
    fn rg_slot(t: Handle) -> u32 { thread(t) as u32 + 1 }
    fn rg_thread_id(t: Handle) -> u32 { thread(t) as u32 + 1 }
    fn rg_process_id(t: Handle) -> u32 { hands().process(thread(t)) + (1 << 20) }
    fn rg_now() -> u64 { hands().now() }
    fn rg_random() -> u32 { hands().now() as u32 }
    fn rg_exec_ns(t: Handle) -> u64 { hands().exec(thread(t)) }
    fn rg_weight(t: Handle) -> u32 { hands().weight(thread(t)) }
    fn rg_thread_cpu(t: Handle) -> i32 { hands().cpu_of(thread(t)) as i32 }
    fn rg_may_run_on(t: Handle, at: i32) -> bool { hands().admits(thread(t), at as usize) }
    fn rg_affinity(t: Handle) -> u32 { hands().affinity(thread(t)) }
    fn rg_is_pinned(t: Handle) -> bool { hands().is_pinned(thread(t)) }
    fn rg_is_percpu_kthread(_t: Handle) -> bool { false }
    fn rg_is_runnable(t: Handle) -> bool { hands().is_runnable(thread(t)) }
    fn rg_domain(at: i32, level: u32) -> u32 { World::here().domain(at as u32, level) }
    fn rg_cpu_in(at: i32, level: u32, i: u32) -> i32 { World::here().cpu_in(at as u32, level, i) }
    fn rg_default_cpu(t: Handle, prev: i32, idle: &mut bool) -> i32 {
        let found = hands().claim_idle(thread(t), prev as usize);
        *idle = found.is_some();
        found.map_or(prev, |cpu| cpu as i32)
    }
    fn rg_waker() -> u32 {
        0
    }
    fn rg_request_at(_slot: u32) -> u64 { 0 }
    fn rg_pick_idle(t: Handle) -> i32 {
        let on = hands();
        on.claim_idle(thread(t), on.cpu_of(thread(t))).map_or(-1, |cpu| cpu as i32)
    }
    fn rg_kick(at: i32, how: u32) { hands().order_kick(at as usize, how == 1) }
    fn rg_queue_create(queue: u32) -> i32 { hands().create(queue); 0 }
    fn rg_insert_ordered(t: Handle, queue: u32, slice_ns: u64, key: u64) {
        hands().order_insert(thread(t), queue, slice_ns, key);
    }
    fn rg_insert_local(t: Handle, slice_ns: u64, flags: u32) {
        hands().order_local(thread(t), slice_ns, flags & 1 != 0, flags & 2 != 0);
    }
    fn rg_visit_move_to(_c: &mut Cursor, _t: Handle, _queue: u32, _slice_ns: u64, _key: u64) -> bool {
        no_quotas();
        false
    }
    fn rg_is_ending(_t: Handle) -> bool { false }
    fn rg_vacate(_prev: Handle) { no_quotas() }
    fn rg_group_timer(_group: u32, _after_ns: u64) -> bool {
        no_quotas();
        false
    }
    fn rg_cpu_timer(_cpu: i32, _after_ns: u64) { no_quotas() }
    fn rg_queue_length(queue: u32) -> u32 { hands().waiting(queue).len() as u32 }
    fn rg_queue_peek(queue: u32) -> Handle {
        hands().waiting(queue).first().map_or(std::ptr::null_mut(), |&thread| handle(thread))
    }
    fn rg_move_thread(queue: u32, slot: u32) -> u32 {
        let on = hands();
        let moves = |thread| on.move_thread(queue, thread as usize, on.seq()) as u32;
        slot.checked_sub(1).map_or(0, moves)
    }
    fn rg_visit_next(cursor: &mut Cursor) -> Handle {
        let on = hands();
        if cursor.position == 0 {
            cursor.position = on.seq() << 16;
        }
        let (seq, last) = (cursor.position >> 16, cursor.position & 0xffff);
        let next = on.visit(cursor.queue as u32, seq, last as usize);
        cursor.position = seq << 16 | next.map_or(last, |thread| thread as u64 + 1);
        next.map_or(std::ptr::null_mut(), handle)
    }
    fn rg_visit_move(cursor: &mut Cursor, t: Handle) -> bool {
        let seq = cursor.position >> 16;
        hands().move_thread(cursor.queue as u32, thread(t), seq) == Moved::Moved
    }
    fn rg_set_slice(t: Handle, slice_ns: u64) { hands().set_slice(thread(t), slice_ns) }
    fn rg_lock_of(queue: u32) -> Handle { without_provenance_mut(queue as usize + 1) }
    fn rg_acquire(lock: Handle) { hands().acquire(Lock::Queue(thread(lock) as u32)) }
    fn rg_release(lock: Handle) { hands().release(Lock::Queue(thread(lock) as u32)) }
}

/// `enum rg_move`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Not in the queue.
    Gone,
    /// It may not run there.
    Refused,
    /// In the local queue.
    Moved,
}

impl World {
    /// The number of a CPU's domain on a level.
    fn domain(&self, cpu: u32, level: u32) -> u32 {
        cpu / self.domain_size(level)
    }

    fn domain_size(&self, level: u32) -> u32 {
        let of = &self.machine;
        [1, of.smt, of.cpus / of.llcs, of.cpus / of.nodes, of.cpus][level.min(4) as usize]
    }

    fn cpu_in(&self, cpu: u32, level: u32, i: u32) -> i32 {
        let size = self.domain_size(level);
        let first = cpu / size * size;
        if i < size { (first + (cpu - first + i) % size) as i32 } else { -1 }
    }
}
