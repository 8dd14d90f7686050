//! How a scheduler ended.

use std::ffi::CStr;

use model::Nanos;
use scx_utils::ScxExitKind;

use crate::skeleton::BpfSkel;

/// What the kernel said when it ended a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// One line: the kind, and what went wrong.
    pub reason: String,
    /// The kernel's dump of the scheduler's state; empty where it made none.
    pub dump: String,
    /// It left by itself, because the machine is beyond a limit of it.
    pub left: bool,
    /// CPUs came or went: load again.
    pub restart: bool,
    /// The kernel ejected it: it stalled a thread or broke a rule.
    pub ejected: bool,
}

/// How the scheduler ended, `None` while it has not.
pub fn ending(skeleton: &BpfSkel) -> Option<Ending> {
    let record = &skeleton.maps.data_data.as_ref()?.uei;
    // SAFETY: the field is in the record, which stays mapped as long as the skeleton lives. The kernel writes
    // it last, by an atomic exchange, so it is read as it may change at any time.
    let kind = unsafe { std::ptr::read_volatile(&raw const record.kind) };
    if kind == 0 {
        return None;
    }
    let (reason, detail) = (text(&record.reason), text(&record.msg));
    let reason = if detail.is_empty() { reason } else { format!("{reason} ({detail})") };
    let asked = kind == ScxExitKind::UnregBPF as i32 || kind == ScxExitKind::UnregKern as i32;
    let restart = record.exit_code as u64 & *scx_utils::SCX_ECODE_ACT_RESTART != 0;
    Some(Ending {
        reason,
        dump: dump(),
        left: kind == ScxExitKind::UnregBPF as i32 && !restart,
        restart: asked && restart,
        ejected: kind >= ScxExitKind::Error as i32,
    })
}

/// The moment of the end, by the clock of [`bpf::now`].
pub fn ended(skeleton: &BpfSkel) -> Nanos {
    Nanos(skeleton.maps.bss_data.as_ref().map_or(0, |own| own.rg_ended_ns))
}

fn text(chars: &[i8]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn dump() -> String {
    let kept = scx_utils::UEI_DUMP_PTR_MUTEX.lock().expect("no panic while it is held");
    if kept.ptr.is_null() {
        return String::new();
    }
    // SAFETY: `scx_ops_load!` put the address of the object's dump area there, which the kernel ends with a
    // zero; it is mapped as long as the object is, which the caller holds.
    unsafe { CStr::from_ptr(kept.ptr) }.to_string_lossy().into_owned()
}
