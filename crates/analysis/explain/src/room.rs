//! What an explanation may keep: a trace of a megabyte can stand for terabytes of causes.

use model::Failure;

/// Words of eight bytes that causes of all requests may take together: a gibibyte.
pub(crate) const MOST_WORDS: usize = 1 << 27;

/// How much may still be kept.
pub(crate) struct Room(usize);

impl Room {
    pub fn new(words: usize) -> Room {
        Room(words)
    }

    /// Takes room for what is kept from now on.
    pub fn take(&mut self, words: usize) -> Result<(), Failure> {
        self.0 = self.0.checked_sub(words).ok_or_else(|| {
            let why = "the trace has too many requests under way and causes of waits at once";
            Failure::Input(format!("{why}: record less of it, or fewer requests a second"))
        })?;
        Ok(())
    }

    /// Gives room back for what is kept no longer.
    pub fn give_back(&mut self, words: usize) {
        self.0 += words;
    }
}
