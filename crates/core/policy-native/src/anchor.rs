//! Where a callback of the policy finds what is present while it runs: a pointer of each thread, null between
//! callbacks.

#[cfg(not(feature = "shared-object"))]
mod place {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::ptr::null_mut;

    thread_local! {
        static PRESENT: Cell<*mut c_void> = const { Cell::new(null_mut()) };
    }

    pub fn get() -> *mut c_void {
        PRESENT.get()
    }

    pub fn set(context: *mut c_void) {
        PRESENT.set(context);
    }
}

/// In a shared object each call of a policy costs a call of the dynamic linker by Rust's thread-locals: a run
/// under `cts` 1.3 times the instructions.
#[cfg(feature = "shared-object")]
mod place {
    use std::ffi::c_void;

    // SAFETY: the names and types are those of native.c, and both touch nothing but a variable of the calling
    // thread.
    unsafe extern "C" {
        #[cfg(not(target_arch = "x86_64"))]
        safe fn rg_native_anchored() -> *mut c_void;
        safe fn rg_native_set_anchor(context: *mut c_void);
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn get() -> *mut c_void {
        rg_native_anchored()
    }

    /// The function's two loads without the call, which was a tenth of a run.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn get() -> *mut c_void {
        let context: *mut c_void;
        // SAFETY: `rg_native_anchor` is a thread-local of the model initial-exec: its offset from the
        // thread's pointer, in `fs`, stands in a table of the object. Nothing is written but the register.
        unsafe {
            std::arch::asm!(
                "mov {context}, qword ptr [rip + rg_native_anchor@GOTTPOFF]",
                "mov {context}, qword ptr fs:[{context}]",
                context = out(reg) context,
                options(nostack, preserves_flags, readonly)
            );
        }
        context
    }

    pub fn set(context: *mut c_void) {
        rg_native_set_anchor(context);
    }
}

pub use place::{get, set};
