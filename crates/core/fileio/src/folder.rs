//! Folders that no other user may write to.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

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
