//! The policy's source, compiled with a call before each access to memory, and loaded.

use std::ffi::c_void;

pub use instrument::Source;
use instrument::{Frame, Object};
use libloading::Library;
use model::Failure;

use crate::seam;

macro_rules! callbacks {
    ($($name:ident: fn($($kind:ty),*) $(-> $result:ty)?;)*) => {
        /// The callbacks of `policy/platform.h`.
        #[allow(missing_docs)]
        pub struct Callbacks { $(pub $name: extern "C" fn($($kind),*) $(-> $result)?,)* }

        impl Callbacks {
            /// # Safety
            /// The library was compiled from platform.h's declarations and stays loaded.
            unsafe fn of(library: &Library) -> Result<Callbacks, Failure> {
                Ok(Callbacks {
                    // SAFETY: the type is that of the declaration.
                    $($name: unsafe { symbol(library, stringify!($name))? },)*
                })
            }
        }
    };
}

callbacks! {
    rg_init: fn() -> i32;
    rg_init_group: fn(u32, u32, u32);
    rg_init_thread: fn(*mut c_void, u32) -> i32;
    rg_move_thread_group: fn(*mut c_void, u32);
    rg_select_cpu: fn(*mut c_void, i32) -> i32;
    rg_enqueue: fn(*mut c_void, u64);
    rg_dispatch: fn(i32, *mut c_void);
    rg_tick: fn(*mut c_void);
    rg_stopping: fn(*mut c_void, bool);
    rg_idle: fn(i32);
    rg_exit_thread: fn(*mut c_void);
}

/// The first rule that a queue's index breaks (`enum rg_fault` of c/probe.h).
pub type Probe = extern "C" fn(u32, u32, bool) -> u32;

/// Loaded code.
pub struct Code {
    /// What a kernel calls.
    pub callbacks: Callbacks,
    /// Of the state's types and the options, as `sizes.h` has them.
    pub sizes: [u64; 9],
    /// What looks at the index; our policies have one.
    pub probe: Option<Probe>,
    /// The queue where a thread waits as the policy knows, plus 1.
    pub waits: Option<extern "C" fn(u32) -> u32>,
    /// Where the code is in memory.
    pub base: usize,
    _library: Library,
    /// The shared object.
    pub object: Object,
}

impl Code {
    /// Compiles and loads. [`Failure::Input`] with what the compiler says.
    pub fn new(source: &Source) -> Result<Code, Failure> {
        let probes = matches!(source, Source::Ours(_));
        let calls: Vec<&str> = seam::CALLS.iter().map(|(name, _)| *name).collect();
        let frame = Frame {
            calls: &calls,
            headers: &[("probe.h", include_str!("../c/probe.h"))],
            behind: if probes { "#include \"probe.h\"\n" } else { "" },
            ..Frame::default()
        };
        load(Object::new(source, &frame)?, probes)
    }
}

/// # Safety
/// `T` is the type of the symbol.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, Failure> {
    // SAFETY: the caller's.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| Failure::Input(format!("the policy lacks {name}")))
}

fn load(object: Object, probes: bool) -> Result<Code, Failure> {
    // SAFETY: the object has no constructor: it is linked without start files, and files of users are
    // checked by `policy_native::compiles`.
    let library = unsafe { Library::new(object.path()) }
        .map_err(|error| Failure::Run(format!("cannot load the policy: {error}")))?;
    for &(name, call) in seam::CALLS.iter().chain(&[("rg_access", seam::ACCESS)]) {
        // SAFETY: the unit defines a pointer of that name for each call, and nothing else writes it.
        unsafe { *symbol::<*mut *const ()>(&library, &format!("{name}_call"))? = call };
    }
    // SAFETY: the unit was compiled from platform.h, sizes.h and probe.h, whose types these are.
    unsafe {
        let callbacks = Callbacks::of(&library)?;
        let sizes = *symbol::<*const [u64; 9]>(&library, "rg_native_sizes")?;
        let probe = probes.then(|| symbol(&library, "rg_probe")).transpose()?;
        let waits = probes.then(|| symbol(&library, "rg_probe_waits")).transpose()?;
        let base = object.base()?;
        Ok(Code { callbacks, sizes, probe, waits, base, _library: library, object })
    }
}
