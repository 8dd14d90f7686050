//! Outputs in folders that others may write to.

mod prompt;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use fileio::{
    check_writable, create_new, private_folder, replace, replace_below, replace_file, replace_with,
};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use prompt::prompt;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("there")
}

fn pipe(path: &Path) {
    mkfifo(path, Mode::S_IRWXU).expect("a pipe");
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).expect("there").is_file()
}

#[test]
fn a_file_is_whole_or_as_it_was() {
    let folder = folder();
    let path = folder.path().join("report.html");
    replace(&path, b"first").expect("room");
    let half = |out: &mut (dyn Write + Send)| {
        out.write_all(b"sec")?;
        Err(io::ErrorKind::StorageFull.into())
    };
    assert!(replace_with(&path, half).is_err());
    assert_eq!(text(&path), "first");
    assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
}

#[test]
fn what_killed_processes_left_is_swept_up() {
    let folder = folder();
    let path = folder.path().join("report.html");
    let left = |process: u32| folder.path().join(format!(".report.html.rearguard-{process}-a"));
    // No process has the greatest number; this one lives.
    let (dead, alive) = (left(u32::MAX), left(std::process::id()));
    [&dead, &alive].iter().for_each(|file| fs::write(file, "").expect("a file"));
    check_writable(&path).expect("a folder");
    assert!(!dead.exists() && alive.exists() && !path.exists());
}

/// `--report /dev/stdout > FILE` must not put a file in the place of `/dev/stdout`.
#[test]
fn what_the_kernel_links_is_followed() {
    let folder = folder();
    let file = File::create(folder.path().join("out")).expect("a file");
    for (at, write) in
        [("/proc/self/fd", replace as fn(&Path, &[u8]) -> _), ("/dev/fd", replace_file)]
    {
        let link = PathBuf::from(format!("{at}/{}", file.as_raw_fd()));
        check_writable(&link).expect("it is open");
        write(&link, b"through").expect("it is open");
        assert_eq!(text(&folder.path().join("out")), "through");
        file.set_len(0).expect("ours");
    }
}

/// `/dev/null` stands for a disk: nothing is harmed where this fails.
#[test]
fn a_link_to_a_device_is_replaced_and_not_followed() {
    let folder = folder();
    let device = Path::new("/dev/null");
    for (name, write) in
        [("report.html", replace as fn(&Path, &[u8]) -> _), ("metrics.txt", replace_file)]
    {
        let path = folder.path().join(name);
        symlink(device, &path).expect("a link");
        check_writable(&path).expect("a folder of ours");
        write(&path, b"new").expect("room");
        assert!(is_file(&path) && text(&path) == "new");
        // The control: one that is named is written to, and stays.
        write(device, b"named").expect("a device");
        assert!(fs::metadata(device).expect("there").file_type().is_char_device());
    }
}

#[test]
fn a_pipe_is_written_to_while_a_reader_has_it_and_waited_for_by_none() {
    let folder = folder();
    let path = folder.path().join("pipe");
    pipe(&path);
    let to = path.clone();
    let why = prompt(move || replace(&to, b"x")).unwrap_err().to_string();
    assert!(why.contains("start its reader first"), "{why}");
    let from = path.clone();
    let reader = thread::spawn(move || fs::read(from).expect("a pipe"));
    // More than a pipe holds: what is full is waited for.
    let long = vec![b'y'; 1 << 20];
    let mut written = replace(&path, &long);
    for _ in 0..200 {
        if written.is_ok() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
        written = replace(&path, &long);
    }
    written.expect("its reader has begun");
    assert_eq!(reader.join().expect("no panic"), long);
    assert!(fs::metadata(&path).expect("there").file_type().is_fifo(), "it stays a pipe");
}

/// A user swaps the file of a daemon for a pipe.
#[test]
fn a_daemon_waits_for_no_pipe() {
    let folder = folder();
    let path = folder.path().join("metrics");
    replace_file(&path, b"a 1\n").expect("room");
    fs::remove_file(&path).expect("there");
    pipe(&path);
    let to = path.clone();
    prompt(move || replace_file(&to, b"a 2\n")).expect("room");
    assert!(is_file(&path) && text(&path) == "a 2\n");
}

#[test]
fn a_folder_of_devices_that_anyone_writes_to_is_no_kernels() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("victim"), "kept").expect("a file");
    symlink(at("victim"), at("out")).expect("a link");
    replace(&at("out"), b"new").expect("room");
    let around = Path::new("/dev/../dev").join(at("out").strip_prefix("/dev").expect("below"));
    replace(&around, b"new").expect("room");
    assert_eq!((text(&at("victim")).as_str(), text(&at("out")).as_str()), ("kept", "new"));
}

#[test]
fn the_longest_name_is_written() {
    let folder = folder();
    let path = folder.path().join("x".repeat(255));
    replace(&path, b"x").expect("255 bytes are a name");
    assert!(path.exists());
}

#[test]
fn what_another_process_writes_is_a_new_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("victim"), "kept").expect("a file");
    symlink(at("victim"), at("log")).expect("a link");
    create_new(&at("log")).expect("room").write_all(b"said").expect("room");
    create_new(&at("other")).expect("nothing was there");
    assert_eq!((text(&at("victim")).as_str(), text(&at("log")).as_str()), ("kept", "said"));
}

#[test]
fn a_folder_that_others_write_to_is_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    private_folder(&at("own")).expect("it is made");
    private_folder(&at("own")).expect("it is ours");
    symlink(at("own"), at("link")).expect("a link");
    assert!(private_folder(&at("link")).is_err_and(|why| why.contains("not followed")));
    fs::set_permissions(at("own"), fs::Permissions::from_mode(0o777)).expect("ours");
    assert!(private_folder(&at("own")).is_err_and(|why| why.contains("others may write")));
}

/// Permissions by name were given to what the name led to: `--into /dev` with a file `null` in the guest
/// took `/dev/null` from all users.
#[test]
fn permissions_are_given_to_the_file_and_not_to_its_name() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(at(name)).expect("there").permissions().mode() & 0o777;
    fs::write(at("victim"), "").expect("a file");
    fs::set_permissions(at("victim"), fs::Permissions::from_mode(0o640)).expect("ours");
    let open = File::open(at("victim")).expect("ours");
    let link = open.as_raw_fd().to_string();
    replace_below(Path::new("/proc/self/fd"), Path::new(&link), 0o604, b"x").unwrap_err();
    assert_eq!(mode("victim"), 0o640);
    replace_below(folder.path(), Path::new("victim"), 0o4604, b"x").expect("room");
    assert_eq!(mode("victim"), 0o604, "the control");
    pipe(&at("pipe"));
    replace_below(folder.path(), Path::new("pipe"), 0o604, b"x").unwrap_err();
    replace_below(folder.path(), Path::new("../out"), 0o604, b"x").unwrap_err();
}
