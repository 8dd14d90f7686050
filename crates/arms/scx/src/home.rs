//! Memory that an object of libbpf lives in: the bindings borrow it for as long as they live.

use std::mem::MaybeUninit;

use libbpf_rs::OpenObject;

/// Owns the memory; must be dropped after what was opened in it.
pub struct Home(*mut MaybeUninit<OpenObject>);

impl Home {
    /// Memory of its own.
    pub fn new() -> Home {
        Home(Box::into_raw(Box::new(MaybeUninit::uninit())))
    }

    /// The memory, to open one object in.
    ///
    /// # Safety
    ///
    /// Once, and what borrows it must be dropped before `self`.
    pub unsafe fn open(&self) -> &'static mut MaybeUninit<OpenObject> {
        // SAFETY: the pointer comes from a box that is freed in `drop` only; the caller sees to the rest.
        unsafe { &mut *self.0 }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `Box::into_raw` and is freed once. `MaybeUninit` drops no content:
        // the bindings did.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
