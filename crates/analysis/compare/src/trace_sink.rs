//! What becomes of single runs.

use model::{Failure, PolicySpec, Trace};

/// Keeps the traces of a comparison, and knows how to repeat a run that failed.
pub trait TraceSink: Sync {
    /// A run is done. The baseline's second run, which shows the machine's own noise, is not kept.
    fn keep(&self, trace: &Trace) -> Result<(), Failure>;

    /// The command that makes a run again, and no other.
    fn replay(&self, policy: &PolicySpec, seed: u64) -> Option<String>;
}

/// Keeps nothing.
impl TraceSink for () {
    fn keep(&self, _trace: &Trace) -> Result<(), Failure> {
        Ok(())
    }

    fn replay(&self, _policy: &PolicySpec, _seed: u64) -> Option<String> {
        None
    }
}
