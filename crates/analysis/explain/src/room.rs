//! What an explanation may keep and do: a trace of a megabyte can stand for terabytes of causes, and for days
//! of work.

use model::Failure;

/// Words of eight bytes that causes of all requests may take together: a gibibyte.
pub(crate) const MOST_WORDS: usize = 1 << 27;

/// Looks at a CPU, a thread or a cause that an explanation may take: a minute or two.
pub(crate) const MOST_STEPS: u64 = 1 << 33;

/// How much may still be kept, and done.
pub(crate) struct Room {
    words: usize,
    steps: u64,
}

impl Room {
    pub fn new(words: usize, steps: u64) -> Room {
        Room { words, steps }
    }

    /// Takes room for what is kept from now on.
    pub fn take(&mut self, words: usize) -> Result<(), Failure> {
        self.words = self.words.checked_sub(words).ok_or_else(|| {
            let why = "the trace has too many requests under way and causes of waits at once";
            Failure::Input(format!("{why}: record less of it, or fewer requests a second"))
        })?;
        Ok(())
    }

    /// Gives room back for what is kept no longer.
    pub fn give_back(&mut self, words: usize) {
        self.words += words;
    }

    /// Something takes so many steps.
    pub fn work(&mut self, steps: u64) -> Result<(), Failure> {
        self.steps = self.steps.checked_sub(steps).ok_or_else(|| {
            let why =
                "too many requests of the trace wait for CPUs while too many threads come and go";
            Failure::Input(format!("{why}: record less of it, or fewer requests a second"))
        })?;
        Ok(())
    }

    /// How many steps may still be taken.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.steps
    }
}
