//! A policy's code: its callbacks, the sizes of its state, and where they came from.

use std::cell::RefCell;
use std::ffi::c_void;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use libloading::Library;

/// Sizes of the state types in bytes, in the order of the tables of [`crate::state::State`], then that of the
/// options.
pub type Sizes = [u64; 9];

/// Defines the callbacks of policy/platform.h: the built-in ones, and the table in which any policy's stand.
macro_rules! callbacks {
    ($(fn $name:ident($($arg:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        mod built_in {
            use std::ffi::c_void;
            // Safe to call with any handle: C follows no handle, and the platform's calls end the process
            // outside of `enter`.
            unsafe extern "C" {
                $(pub safe fn $name($($arg: $kind),*) $(-> $result)?;)*
            }
        }

        /// Their names.
        pub const CALLBACKS: &[&str] = &[$(stringify!($name)),*];

        /// The callbacks of a policy.
        pub struct Callbacks {
            $(pub $name: extern "C" fn($($kind),*) $(-> $result)?,)*
        }

        impl Callbacks {
            fn built_in() -> Callbacks {
                Callbacks { $($name: built_in::$name,)* }
            }

            /// Those of a shared object, or the name of the first that it lacks.
            ///
            /// # Safety
            /// The object was compiled from platform.h's declarations and stays loaded as long as the table.
            pub unsafe fn of(library: &Library) -> Result<Callbacks, &'static str> {
                $(
                    let name = stringify!($name);
                    // SAFETY: the type is that of the declaration.
                    let $name = *unsafe { library.get(name.as_bytes()) }.map_err(|_| name)?;
                )*
                Ok(Callbacks { $($name,)* })
            }
        }
    };
}

callbacks! {
    fn rg_init() -> i32;
    fn rg_init_group(group: u32, parent: u32, weight: u32);
    fn rg_weigh_group(group: u32, weight: u32);
    fn rg_idle_group(group: u32, idle: bool);
    fn rg_limit_group(group: u32, quota_ns: u64, period_ns: u64, burst_ns: u64);
    fn rg_promise_group(group: u32, within_ns: u64, share: u64);
    fn rg_group_due(group: u32);
    fn rg_turn_due(cpu: i32);
    fn rg_exit_group(group: u32);
    fn rg_init_thread(thread: *mut c_void, group: u32) -> i32;
    fn rg_move_thread_group(thread: *mut c_void, group: u32);
    fn rg_select_cpu(thread: *mut c_void, prev_cpu: i32) -> i32;
    fn rg_enqueue(thread: *mut c_void, flags: u64);
    fn rg_dispatch(cpu: i32, prev: *mut c_void);
    fn rg_yield(thread: *mut c_void);
    fn rg_tick(thread: *mut c_void);
    fn rg_stopping(thread: *mut c_void, runnable: bool);
    fn rg_idle(cpu: i32);
    fn rg_exit_thread(thread: *mut c_void);
}

unsafe extern "C" {
    static rg_native_sizes: Sizes;
}

/// A policy's code, for any number of instances.
pub struct Program {
    pub(crate) callbacks: Callbacks,
    pub(crate) sizes: Sizes,
    /// Where the code lives, if not in this executable.
    _library: Option<Library>,
}

thread_local! {
    static INSTEAD: RefCell<Option<Arc<Program>>> = const { RefCell::new(None) };
}

impl Program {
    /// That of the project's own policies.
    pub(crate) fn built_in() -> Arc<Program> {
        static BUILT_IN: LazyLock<Arc<Program>> = LazyLock::new(|| {
            #[cfg(feature = "mutants")]
            if let Some(object) = std::env::var_os("RG_MUTANT") {
                return Arc::new(mutant(Path::new(&object)));
            }
            // SAFETY: native.c defines a constant array of exactly this type, and nothing writes to it.
            let sizes = unsafe { rg_native_sizes };
            Arc::new(Program { callbacks: Callbacks::built_in(), sizes, _library: None })
        });
        Arc::clone(&BUILT_IN)
    }

    /// That of a shared object, whose pointers of these names are filled first. Fails with what is wrong.
    ///
    /// # Safety
    /// Nothing runs when the object is loaded. It was compiled from platform.h and sizes.h, with such a
    /// pointer for each name, for what stands beside it.
    pub unsafe fn load<'a>(
        object: &Path,
        pointers: impl IntoIterator<Item = (&'a str, *const ())>,
    ) -> Result<Program, String> {
        let unfit = |error: libloading::Error| error.to_string();
        // SAFETY: the caller's.
        let library = unsafe { Library::new(object) }.map_err(unfit)?;
        for (name, pointer) in pointers {
            // SAFETY: the caller's; it is not read before the first callback.
            unsafe { **library.get::<*mut *const ()>(name.as_bytes()).map_err(unfit)? = pointer };
        }
        // SAFETY: compiled from platform.h; the library stays beside the table.
        let callbacks = unsafe { Callbacks::of(&library) }
            .map_err(|name| format!("it lacks the callback {name}"))?;
        // SAFETY: sizes.h defines a constant array of this type.
        let sizes = unsafe { **library.get::<*const Sizes>(b"rg_native_sizes").map_err(unfit)? };
        Ok(Program { callbacks, sizes, _library: Some(library) })
    }

    /// While `run` runs, every policy that this thread opens has this code, whatever its name: another build
    /// of the same source, for what watches it.
    pub fn instead<R>(self: &Arc<Program>, run: impl FnOnce() -> R) -> R {
        let before = INSTEAD.replace(Some(Arc::clone(self)));
        let result = run();
        INSTEAD.set(before);
        result
    }

    /// What [`Program::instead`] says, if anything.
    pub(crate) fn present() -> Option<Arc<Program>> {
        INSTEAD.with_borrow(Clone::clone)
    }

    /// Of the state's types, in the order of [`crate::Owner`], and of the options, in bytes.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }
}

/// A changed build of the project's policies.
#[cfg(feature = "mutants")]
fn mutant(object: &Path) -> Program {
    let names: Vec<(String, *const ())> =
        crate::shim::calls().map(|(name, call)| (format!("{name}_call"), call)).collect();
    let pointers = names.iter().map(|(name, call)| (name.as_str(), *call));
    // SAFETY: tools/mutants compiled it so. What runs when it is loaded reads the number of a mutant.
    unsafe { Program::load(object, pointers) }.unwrap_or_else(|why| panic!("RG_MUTANT: {why}"))
}
