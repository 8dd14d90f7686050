//! How a run can fail, and the exit code that says so.

use std::fmt;

/// Why a command did not do what was asked. The message is one sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The run itself failed: exit code 1.
    Run(String),
    /// A scenario, argument or file is wrong: exit code 2.
    Input(String),
    /// This machine cannot do it (CPUs, privileges, kernel): exit code 3.
    Machine(String),
    /// The reader of standard output has gone, as `head` does: exit code 141, as shells expect, no message.
    ClosedOutput,
    /// The user stopped it with Ctrl-C: exit code 130, as shells expect.
    Interrupted,
}

impl Failure {
    /// Another program's failure, by its exit code.
    pub fn of(exit_code: u8, message: String) -> Failure {
        match exit_code {
            2 => Failure::Input(message),
            3 => Failure::Machine(message),
            _ => Failure::Run(message),
        }
    }

    /// The process exit code, as the README lists them.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Run(_) => 1,
            Failure::Input(_) => 2,
            Failure::Machine(_) => 3,
            Failure::ClosedOutput => 141,
            Failure::Interrupted => 130,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failure::Run(message) | Failure::Input(message) | Failure::Machine(message) => {
                f.write_str(message)
            }
            Failure::ClosedOutput => f.write_str("standard output was closed"),
            Failure::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Failure {}
