//! Ranks: the real-time priorities of torture and its judge.

use thread_priority::RealtimeThreadSchedulePolicy::Fifo;
use thread_priority::{
    ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// A real-time hog.
pub const HOG: u8 = 50;
/// The thread that switches the classes of others.
pub const SWITCHER: u8 = 60;
/// The judge sees everything.
pub const JUDGE: u8 = 90;

/// Gives the calling thread a real-time priority.
pub fn above_all(priority: u8) {
    let value = priority.try_into().expect("0 to 99");
    let policy = ThreadSchedulePolicy::Realtime(Fifo);
    set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        policy,
    )
    .expect("the guest's root may have real-time priority");
}
