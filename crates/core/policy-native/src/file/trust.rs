//! Whose code root runs: its own, and that of the user who called sudo.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::Failure;

/// [`Failure::Input`] where this process is root's and the file is another user's, or others may write to it.
pub fn check(path: &Path) -> Result<(), Failure> {
    let refused = |what: String| Failure::Input(format!("policy {}: {what}", path.display()));
    let about = fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    let caller = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok());
    match distrusted(&about, rustix::process::geteuid().as_raw(), caller) {
        None => Ok(()),
        Some(why) => {
            Err(refused(format!("{why}, and root would run it: make it root's own, `chmod go-w`")))
        }
    }
}

/// Why a user must not run it.
fn distrusted(about: &Metadata, user: u32, caller: Option<u32>) -> Option<String> {
    if user != 0 {
        return None;
    }
    let owner = about.uid();
    if owner != 0 && Some(owner) != caller {
        return Some(format!("it belongs to user {owner}"));
    }
    (about.mode() & 0o022 != 0).then(|| "others may write to it".to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn root_runs_its_own_files_and_its_callers_that_no_other_may_write() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let about = |mode| {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            fs::metadata(file.path()).unwrap()
        };
        let owner = about(0o600).uid();
        let (closed, open) = (about(0o644), about(0o666));
        assert_eq!(distrusted(&closed, 0, Some(owner)), None);
        assert!(distrusted(&open, 0, Some(owner)).is_some_and(|why| why.contains("write")));
        assert!(distrusted(&about(0o664), 0, Some(owner)).is_some());
        assert_eq!(distrusted(&open, 1000, None), None, "a user's own risk");
        if owner == 0 {
            std::os::unix::fs::chown(file.path(), Some(65534), None).unwrap();
            assert!(distrusted(&about(0o644), 0, None).is_some_and(|why| why.contains("65534")));
            assert!(check(file.path()).is_err());
        } else {
            assert!(distrusted(&closed, 0, None).is_some_and(|why| why.contains("belongs")));
        }
    }
}
