//! Files in places that others may write to: read up to a limit, written whole or not at all.
//!
//! Commands run as root and are given paths in folders of other users. Such a user may put a symbolic link, a
//! pipe or a device there, also between two looks at it. So an output is decided on by what stands there
//! itself, never by what it leads to, and no reader is without a limit. A signal leaves neither half of an
//! output nor anything temporary.
#![forbid(unsafe_code)]

mod folder;
mod read;
mod temporary;
mod write;

pub use folder::{check_private, private_folder};
pub use read::{LONGEST_LIST, LONGEST_TEXT, LONGEST_TRACE, beginning, regular, text, whole};
pub use temporary::{Folder, leave, output};
pub use write::{
    check_writable, create_new, is_replaceable, replace, replace_below, replace_file, replace_with,
};
