//! A file in the place of another.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::Failure;

/// Puts a file there, whole or not at all. A symbolic link is replaced and not followed: in a folder that
/// others may write it would lead root anywhere.
///
/// [`Failure::Input`] where it cannot be, and for what has no place to be put in, such as a device.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let wrong = |why: String| Failure::Input(format!("{}: {why}", path.display()));
    let kernels = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
    if kernels || fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(wrong("it is no regular file: name one, or a new one".to_string()));
    }
    put(path, content).map_err(|error| wrong(error.to_string()))
}

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // As `open` makes files.
    let mut beside = tempfile::Builder::new()
        .prefix(".rearguard-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    beside.write_all(content)?;
    beside.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
        fs::write(&target, "theirs").expect("room");
        symlink(&target, &link).expect("room");
        replace(&link, b"ours").expect("room");
        assert_eq!(fs::read(&target).expect("there"), b"theirs");
        assert!(fs::symlink_metadata(&link).expect("there").is_file());
        replace(&target, b"ours").expect("room");
        assert_eq!(fs::read(&target).expect("there"), b"ours", "the control");
    }

    #[test]
    fn what_is_there_stays_where_nothing_can_be_put() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("null");
        symlink("/dev/null", &link).expect("room");
        for path in [&link, folder.path(), Path::new("/dev/stdout"), &folder.path().join("no/o")] {
            assert_eq!(replace(path, b"ours").unwrap_err().exit_code(), 2, "{}", path.display());
        }
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }
}
