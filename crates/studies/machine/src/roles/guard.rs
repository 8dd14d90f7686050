//! The process that undoes a session when its maker is killed.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use model::Failure;

use crate::machine::Machine;
use crate::platform::Live;
use crate::transaction::take_back;

/// The argument that makes an executable the guard.
pub const ROLE: &str = "__host_guard";
/// What tells it to go and leave everything as it is.
const DISMISSED: &[u8] = b"dismissed";

/// The guard of a session that is in the making, or that is to end with its maker.
pub struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Posts it, before the first change.
    pub fn post(state: &str, session: u64) -> io::Result<Guard> {
        let mut child = Command::new("/proc/self/exe")
            .args([ROLE, state, &session.to_string()])
            // Signals to the maker's group are not for the guard.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let pipe = child.stdin.take().expect("piped");
        Ok(Guard { child, pipe })
    }

    /// Sends it away: nothing is left to guard.
    pub fn dismiss(mut self) {
        // Both fail only when the guard is gone already.
        let _ = self.pipe.write_all(DISMISSED);
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

/// Waits for the maker's end, and undoes its session unless it was dismissed.
pub fn play(args: &[String]) -> Result<(), Failure> {
    let [state, session] = args else { return Err(usage()) };
    let session = session.parse().map_err(|_| usage())?;
    let mut word = Vec::new();
    // A pipe that breaks has ended, too.
    let _ = io::stdin().read_to_end(&mut word);
    if word == DISMISSED {
        return Ok(());
    }
    let machine = Machine::new(Box::new(Live::new(&format!("{state}/said"))), state, false);
    let _lock = machine.lock()?;
    let journal = machine.journal();
    let Some(session) = journal.session(session)? else { return Ok(()) };
    take_back(&machine, &journal, session, false).map(|_| ())
}

fn usage() -> Failure {
    Failure::Input(format!("{ROLE} is for rearguard itself"))
}
