//! What every loader of BPF programs needs: the privileges for it, and libbpf's messages.
#![forbid(unsafe_code)]

mod messages;
mod privileges;

pub use messages::{is_verbose, listen, reason, verbose};
pub use privileges::{CLASSES, keep_least, privileged};
