//! A policy in a file of its own: one C source, compiled when it is named and loaded into this process.

mod compile;
mod trust;

pub use compile::HEADERS;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use model::Failure;

use crate::program::{Callbacks, Program, Sizes};
use crate::shim::calls;

/// Whether a file is a policy: for a caller that compiles it for something else than this process. None of
/// its code runs.
///
/// Fails as [`program`] does.
pub fn compiles(path: &Path) -> Result<(), Failure> {
    trust::check(path)?;
    compile::shared_object(path).map(|_| ())
}

/// The code of a file, compiled once a process for each source that it has had: a process may live longer
/// than a draft.
///
/// [`Failure::Input`] where it is not a policy, with what the compiler says; [`Failure::Machine`] without a
/// compiler.
pub fn program(path: &Path) -> Result<Arc<Program>, Failure> {
    type Sources = BTreeMap<(PathBuf, Vec<u8>), Arc<Program>>;
    static COMPILED: Mutex<Sources> = Mutex::new(BTreeMap::new());
    let whole = path.canonicalize().and_then(|whole| Ok((fs::read(&whole)?, whole)));
    let (content, whole) = whole.map_err(|error| {
        Failure::Input(format!(
            "policy {}: {error}; `rearguard new-policy NAME` begins one",
            path.display()
        ))
    })?;
    trust::check(&whole)?;
    let key = (whole, content);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = compiled.get(&key) {
        return Ok(Arc::clone(program));
    }
    let program = Arc::new(load(path)?);
    compiled.insert(key, Arc::clone(&program));
    Ok(program)
}

fn load(path: &Path) -> Result<Program, Failure> {
    let built = compile::shared_object(path)?;
    let unfit =
        |error: libloading::Error| Failure::Input(format!("policy {}: {error}", path.display()));
    // SAFETY: the object holds nothing that runs when it is loaded: see compile::refuse_constructors.
    let library = unsafe { Library::new(built.path()) }.map_err(unfit)?;
    for (name, call) in calls() {
        let place = format!("{name}{}", compile::SUFFIX);
        // SAFETY: the prelude defines a pointer of that name, for a function of the type of the call; it is
        // not read before the first callback.
        unsafe { **library.get::<*mut *const ()>(place.as_bytes()).map_err(unfit)? = call };
    }
    // SAFETY: compiled from the same platform.h; `Program` keeps the library beside the table.
    let callbacks = unsafe { Callbacks::of(&library) }
        .map_err(|name| compile::lacks(&path.display().to_string(), name))?;
    // SAFETY: sizes.h defines a constant array of this type.
    let sizes = unsafe { **library.get::<*const Sizes>(b"rg_native_sizes").map_err(unfit)? };
    Ok(Program { callbacks, sizes, _library: Some(library) })
}
