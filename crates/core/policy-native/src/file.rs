//! A policy in a file of its own: one C source, compiled when it is named and loaded into this process.

mod compile;
mod source;
mod trust;

pub use source::{HEADERS, Source};
pub use trust::trusted;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::Failure;

use crate::program::Program;
use crate::shim::calls;

/// The source of a file that is a policy: for a caller that compiles it for something else than this process.
/// None of its code runs.
///
/// Fails as [`program`] does.
pub fn compiles(path: &Path) -> Result<Source, Failure> {
    let source = Source::read(path)?;
    compile::shared_object(&source)?;
    Ok(source)
}

/// The code of a file, compiled once a process for each source that it has had: a process may live longer
/// than a draft.
///
/// [`Failure::Input`] where it is not a policy, with what the compiler says; [`Failure::Machine`] without a
/// compiler.
pub fn program(path: &Path) -> Result<Arc<Program>, Failure> {
    type Sources = BTreeMap<(PathBuf, Vec<u8>), Arc<Program>>;
    static COMPILED: Mutex<Sources> = Mutex::new(BTreeMap::new());
    let source = Source::read(path)?;
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = compiled.get(&source.key()) {
        return Ok(Arc::clone(program));
    }
    let program = Arc::new(load(&source)?);
    compiled.insert(source.key(), Arc::clone(&program));
    Ok(program)
}

fn load(source: &Source) -> Result<Program, Failure> {
    let built = compile::shared_object(source)?;
    let names: Vec<(String, *const ())> =
        calls().map(|(name, call)| (format!("{name}{}", compile::SUFFIX), call)).collect();
    let pointers = names.iter().map(|(name, call)| (name.as_str(), *call));
    // SAFETY: the object holds nothing that runs when it is loaded: see compile::refuse_constructors; the
    // prelude defines the pointers, for functions of the types of the calls.
    unsafe { Program::load(&built.path(), pointers) }
        .map_err(|why| Failure::Input(format!("policy {}: {why}", source.shown())))
}
