//! What every loader of BPF programs needs: the privileges for it, the programs' clock, and libbpf's
//! messages.
#![forbid(unsafe_code)]

mod clock;
mod messages;
mod privileges;

pub use clock::now;
pub use messages::{is_verbose, listen, reason, verbose};
pub use privileges::{CLASSES, FILES, SOCKETS, keep_least, privileged};
