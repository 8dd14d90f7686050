//! Files of /sys and /proc.

use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize};

use crate::cpus::Cpus;
use crate::platform::Platform;

/// What a file's text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Itself.
    Text,
    /// CPUs, as `0-3,8`.
    List,
    /// CPUs, as `0000010f`.
    Mask,
}

impl Form {
    /// Whether two texts are one value: the kernel pads masks and joins ranges.
    pub fn same(self, a: &str, b: &str) -> bool {
        let as_cpus = match self {
            Form::Text => return a.trim() == b.trim(),
            Form::List => Cpus::read_list,
            Form::Mask => Cpus::read_mask,
        };
        matches!((as_cpus(a), as_cpus(b)), (Some(a), Some(b)) if a == b)
    }
}

/// `ENODEV`: the kernel's word for a file whose device or group is going.
const GONE: i32 = 19;

/// A mask as it was asked for. The work queues' own file says what is left of that beside isolated CPUs
/// (Linux 6.8): written back, a moment's exception would last.
pub fn read_mask(on: &dyn Platform, path: &str) -> io::Result<Option<String>> {
    match read(on, &format!("{path}_requested"))? {
        None => read(on, path),
        asked => Ok(asked),
    }
}

/// The text without white space around it.
pub fn read(on: &dyn Platform, path: &str) -> io::Result<Option<String>> {
    match on.read(path) {
        Ok(text) => Ok(Some(text.trim().to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(GONE) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
