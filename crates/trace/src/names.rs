//! Names of threads, as people read them.

use model::ThreadId;

use crate::Header;

/// `service/3`: the program, and the thread's number in it.
pub struct Names(Vec<String>);

impl Names {
    /// The names of a trace's threads.
    pub fn new(header: &Header) -> Names {
        let mut counted = vec![0; header.programs.len()];
        let name = |&program: &usize| {
            let number = counted[program];
            counted[program] += 1;
            format!("{}/{number}", header.programs[program].name)
        };
        Names(header.threads.iter().map(name).collect())
    }

    /// The name of a thread of the trace.
    pub fn of(&self, thread: ThreadId) -> &str {
        &self.0[thread.index()]
    }
}
