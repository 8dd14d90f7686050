//! Failures as exceptions, with the messages of the command.

use model::Failure;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

create_exception!(rearguard, Error, PyException, "Whatever rearguard cannot do.");
create_exception!(rearguard, InputError, Error, "A scenario, an argument or a file is wrong.");
create_exception!(rearguard, MachineError, Error, "This machine cannot do it.");
create_exception!(rearguard, RunError, Error, "The run itself failed.");

/// The exception that a failure is.
pub fn exception(failure: Failure) -> PyErr {
    let message = failure.to_string();
    match failure {
        Failure::Input(_) => InputError::new_err(message),
        Failure::Machine(_) => MachineError::new_err(message),
        Failure::Run(_) | Failure::ClosedOutput => RunError::new_err(message),
        Failure::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}

/// An [`InputError`].
pub fn wrong(message: impl Into<String>) -> PyErr {
    InputError::new_err(message.into())
}
