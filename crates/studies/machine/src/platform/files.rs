//! Files below a root: `/`, or a folder that stands for it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};

/// Bytes beyond what changes take: a change of the next moment, and the words around an undo.
const MARGIN: i64 = 64 << 10;

/// Files below a root.
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// The files below this folder.
    pub fn below(root: impl Into<PathBuf>) -> Files {
        Files { root: root.into() }
    }

    /// Where a path of the machine is.
    pub fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text; what is not UTF-8 (a command line may be anything) is replaced.
    pub fn read(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.place(path))?).into_owned())
    }

    /// The first bytes of a file that another user may have put there: no link is followed, no pipe is waited
    /// for.
    pub fn beginning(&self, path: &str, most: u64) -> io::Result<String> {
        let bytes = fileio::beginning(&self.place(path), most)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names in a folder, sorted.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.place(path))?.collect::<io::Result<Vec<_>>>()?;
        let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// One write to a file that is there, as the kernel's files want it.
    pub fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // Nothing at all would be no write; the kernel takes an empty line for empty.
        let text = if text.is_empty() { "\n" } else { text };
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.place(path))?;
        let length = file.write(text.as_bytes())?;
        if length == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Adds to a file and waits for the disk; of a new file also the folder that names it.
    pub fn append(&self, path: &str, text: &str) -> io::Result<()> {
        let place = self.place(path);
        let folder = place.parent().unwrap_or(Path::new("/"));
        own_folder(folder)?;
        let is_new = !place.exists();
        let mut file = OpenOptions::new().append(true).create(true).mode(0o644).open(&place)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if is_new { fs::File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Has the disk keep room for what will be added to a file. An undo takes less than its change.
    pub fn reserve(&self, path: &str) -> io::Result<()> {
        let file = OpenOptions::new().append(true).open(self.place(path))?;
        let length = 2 * i64::try_from(file.metadata()?.len()).map_err(io::Error::other)? + MARGIN;
        match fallocate(&file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, length) {
            // Of the kernel's file systems few cannot: there the undo goes on without the journal.
            Ok(()) | Err(Errno::EOPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until no other process has the file locked, locks it, and writes its own process into it. Where
    /// the disk is full or cannot be written any more it is locked all the same: an undo waits for it.
    pub fn lock(&self, path: &str) -> io::Result<fs::File> {
        let place = self.place(path);
        let folder = place.parent().unwrap_or(Path::new("/"));
        own_folder(folder)?;
        check_owner(folder)?;
        let mut file = open_lock(&place)?;
        file.lock()?;
        if write!(file, "{:<10}", std::process::id()).is_err() {
            // The number of the one before would be taken for this one's.
            let _ = file.set_len(0);
        }
        Ok(file)
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.place(path))
    }
}

/// A file system that had errors may have been made read-only since.
fn open_lock(place: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    match options.write(true).create(true).truncate(false).mode(0o644).open(place) {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => fs::File::open(place),
        opened => opened,
    }
}

/// Makes a folder that no other user may write, whatever the mask. All may read: `tune status` tells them
/// whose knobs are turned, and no token there makes a process of theirs ours.
fn own_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)
}

/// What a journal says is done as this user, so no other user may have written it.
fn check_owner(folder: &Path) -> io::Result<()> {
    let about = fs::metadata(folder)?;
    let is_ours = about.uid() == nix::unistd::geteuid().as_raw() && about.mode() & 0o022 == 0;
    let refused = "another user may write to this folder, and a journal is obeyed";
    if is_ours { Ok(()) } else { Err(io::Error::new(io::ErrorKind::PermissionDenied, refused)) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_disk_keeps_room_for_the_undo() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::below(root.path());
        let line = "x".repeat(200_000);
        files.append("/state/journal", &line).unwrap();
        let about = || fs::metadata(files.place("/state/journal")).unwrap();
        assert!(about().blocks() * 512 < 400_000, "control: nothing is kept yet");
        files.reserve("/state/journal").unwrap();
        assert!(about().blocks() * 512 >= 400_000, "{} blocks", about().blocks());
        assert_eq!(files.read("/state/journal").unwrap(), line, "its length is as before");
    }

    #[test]
    fn a_full_disk_keeps_no_undo_from_its_lock() {
        let root = tempfile::tempdir().unwrap();
        fs::write("/dev/full", "x").expect_err("control: no room");
        fs::create_dir(root.path().join("state")).unwrap();
        fs::set_permissions(root.path().join("state"), Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("/dev/full", root.path().join("state/lock")).unwrap();
        Files::below(root.path()).lock("/state/lock").unwrap();
    }

    /// A bind mount that was made read-only, in a namespace of mounts of this test's own.
    #[test]
    fn a_read_only_disk_keeps_no_undo_from_its_lock() {
        let root = tempfile::tempdir().unwrap();
        Files::below(root.path()).lock("/state/lock").unwrap();
        let state = root.path().join("state");
        let read_only = std::thread::spawn(move || {
            bind_read_only(&state)?;
            fs::write(state.join("lock"), "x").expect_err("control: it cannot be written");
            Files::below(state.parent().unwrap()).lock("/state/lock").expect("it is locked");
            nix::Result::Ok(())
        });
        match read_only.join().expect("no panic") {
            Err(error) => eprintln!("skipped: no mounts here without root: {error}"),
            Ok(()) => Files::below(root.path()).lock("/state/lock").map(drop).unwrap(),
        }
    }

    fn bind_read_only(folder: &Path) -> nix::Result<()> {
        use nix::mount::{MsFlags, mount};
        let none = None::<&str>;
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        mount(Some(folder), folder, none, MsFlags::MS_BIND, none)?;
        let again = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(none, folder, none, again, none)
    }

    #[test]
    fn a_journal_that_another_user_may_write_is_not_obeyed() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::below(root.path());
        files.lock("/state/lock").unwrap();
        fs::set_permissions(files.place("/state"), Permissions::from_mode(0o777)).unwrap();
        let refused = files.lock("/state/lock").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
