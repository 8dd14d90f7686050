//! Folders that no other user may write to.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};

/// Makes a folder of the user's own, or checks that one is: why not, with the remedy.
pub fn private_folder(folder: &Path) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).create(folder).map_err(told)
        }
        there => check_private(&there.map_err(told)?),
    }
}

/// In a folder that others write to they could put what they like in the place of ours.
pub fn check_private(folder: &Metadata) -> Result<(), String> {
    if !folder.is_dir() {
        return Err("no folder (a symbolic link is not followed): name another one".to_string());
    }
    if folder.uid() != nix::unistd::geteuid().as_raw() || folder.mode() & 0o022 != 0 {
        return Err("others may write there: name a folder of your own, mode 0700".to_string());
    }
    Ok(())
}

/// Opens a folder below another, which may be a link, and makes what is not there. Below it links are
/// refused: in a folder that others may write to they lead where those like.
pub fn folder_below(top: &Path, below: &Path) -> io::Result<OwnedFd> {
    let opened = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let top = nix::fcntl::open(top, opened, Mode::empty())?;
    below.components().try_fold(top, |folder, part| {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        match mkdirat(&folder, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(error.into()),
        }
        openat(&folder, name, opened | OFlag::O_NOFOLLOW, Mode::empty()).map_err(|error| {
            let name = name.display();
            io::Error::new(
                io::Error::from(error).kind(),
                format!(
                    "`{name}` is no folder (a symbolic link is not followed): name another one"
                ),
            )
        })
    })
}
