use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

const MOST: u64 = 1 << 20;

/// A folder with the file `mine.c` in it; its owner.
fn folder() -> (tempfile::TempDir, u32) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("mine.c"), "int x;").expect("a file");
    mode(&folder.path().join("mine.c"), 0o644);
    let owner = fs::metadata(folder.path()).expect("there").uid();
    (folder, owner)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

/// What root says of it, where `caller` called sudo.
fn said(caller: Option<u32>, path: &Path) -> Result<(), String> {
    content(&Judge { user: 0, caller }, path, MOST).map(drop).map_err(|refusal| refusal.to_string())
}

#[track_caller]
fn refused(said: Result<(), String>, why: &str) {
    assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{why}: {said:?}");
}

#[test]
fn root_runs_its_own_files_and_its_callers_that_no_other_may_write() {
    let (folder, owner) = folder();
    let file = folder.path().join("mine.c");
    assert_eq!(said(Some(owner), &file), Ok(()));
    for open in [0o666, 0o664] {
        mode(&file, open);
        refused(said(Some(owner), &file), "others may write to it, and root");
        let own = Judge { user: 1000, caller: None };
        assert!(content(&own, &file, MOST).is_ok(), "a user's own risk");
    }
    mode(&file, 0o644);
    if owner == 0 {
        std::os::unix::fs::chown(&file, Some(65534), None).expect("root may");
        refused(said(None, &file), "it belongs to user 65534");
        assert_eq!(said(Some(65534), &file), Ok(()), "sudo's caller");
    } else {
        refused(said(None, &file), "belongs to user");
    }
}

#[test]
fn a_folder_that_others_may_write_is_refused_unless_it_is_sticky() {
    let (folder, owner) = folder();
    let below = folder.path().join("below");
    fs::create_dir(&below).expect("room");
    fs::copy(folder.path().join("mine.c"), below.join("mine.c")).expect("room");
    assert_eq!(said(Some(owner), &below.join("mine.c")), Ok(()), "the control");
    for open in [0o777, 0o775] {
        mode(folder.path(), open);
        refused(said(Some(owner), &below.join("mine.c")), &folder.path().display().to_string());
    }
    mode(folder.path(), 0o1777);
    assert_eq!(said(Some(owner), &below.join("mine.c")), Ok(()));
    if owner == 0 {
        std::os::unix::fs::chown(folder.path(), Some(65534), None).expect("root may");
        refused(said(None, &below.join("mine.c")), "a folder above it, belongs to user 65534");
    }
}

#[test]
fn links_are_followed_but_where_others_may_put_them() {
    let (folder, owner) = folder();
    let (other, _) = self::folder();
    let link = folder.path().join("link.c");
    symlink(other.path().join("mine.c"), &link).expect("room");
    assert_eq!(said(Some(owner), &link), Ok(()));
    mode(other.path(), 0o777);
    refused(said(Some(owner), &link), &other.path().display().to_string());
    mode(other.path(), 0o755);
    mode(folder.path(), 0o1777);
    refused(said(Some(owner), &link), "by a link in");
    symlink("self", folder.path().join("self")).expect("room");
    let own = Judge { user: 1000, caller: None };
    let round = content(&own, &folder.path().join("self"), MOST).unwrap_err().to_string();
    assert!(round.contains("symbolic links"), "{round}");
}

#[test]
fn a_file_is_regular_and_has_an_end() {
    let (folder, owner) = folder();
    let file = folder.path().join("mine.c");
    refused(said(Some(owner), folder.path()), "it is a folder");
    refused(said(Some(owner), Path::new("/dev/zero")), "no regular file");
    refused(said(Some(owner), &file.join("x")), "Not a directory");
    fs::File::options().write(true).open(&file).expect("ours").set_len(MOST).expect("sparse");
    assert_eq!(said(Some(owner), &file), Ok(()));
    fs::File::options().write(true).open(&file).expect("ours").set_len(MOST + 1).expect("sparse");
    refused(said(Some(owner), &file), "more than 1 MiB");
}

#[test]
fn a_header_stands_where_others_put_none() {
    let (folder, owner) = folder();
    let header = folder.path().join("mine.c");
    check_header(&header).expect("ours alone");
    mode(folder.path(), 0o1777);
    assert_eq!(said(Some(owner), &header), Ok(()), "a policy is opened once");
    let root = rustix::process::geteuid().is_root();
    assert_eq!(check_header(&header).is_err(), root, "and headers by the compiler");
}
