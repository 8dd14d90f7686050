//! What the kernel says of its sched_ext class in /sys: for loaders of schedulers and their monitors.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Where it says so; absent where the kernel has no sched_ext.
const FOLDER: &str = "/sys/kernel/sched_ext";
/// `ENODEV`: a file went while it was opened.
const GONE: i32 = 19;

/// A file of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `enabled`, `disabled`, or on the way.
    State,
    /// The name of the scheduler; there while one is loaded.
    Name,
    /// How many threads it refused.
    Refused,
    /// Counts of what has happened under the loaded scheduler, `NAME COUNT` a line; absent while none is.
    Events,
    /// How often a scheduler was enabled since boot.
    Enablings,
}

impl File {
    fn path(self) -> &'static str {
        match self {
            File::State => "state",
            File::Name => "root/ops",
            File::Refused => "nr_rejected",
            File::Events => "root/events",
            File::Enablings => "enable_seq",
        }
    }
}

/// Whether this kernel has the class.
pub fn exists() -> bool {
    Path::new(FOLDER).is_dir()
}

/// A file's text without white space around it, `None` where there is none at present.
pub fn read(file: File) -> io::Result<Option<String>> {
    match fs::read_to_string(Path::new(FOLDER).join(file.path())) {
        Ok(text) => Ok(Some(text.trim().to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(GONE) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of the scheduler that is loaded, whether it is in force already, still, or on the way.
pub fn loaded() -> io::Result<Option<String>> {
    named_unless(|state| state == "disabled")
}

/// The name of the scheduler that is in force; `None`: none is, or the kernel has no such class.
pub fn in_force() -> io::Result<Option<String>> {
    named_unless(|state| state != "enabled")
}

fn named_unless(is_out: impl Fn(&str) -> bool) -> io::Result<Option<String>> {
    let state = read(File::State)?.unwrap_or_default();
    // The name vanishes between the two questions if the scheduler does.
    Ok(read(File::Name)?.filter(|_| !is_out(&state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_class_has_no_scheduler_and_no_error() {
        if !exists() {
            assert_eq!(read(File::State).unwrap(), None);
            assert_eq!(loaded().unwrap(), None);
            assert_eq!(in_force().unwrap(), None);
        }
    }
}
