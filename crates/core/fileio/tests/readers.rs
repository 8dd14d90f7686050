//! Readers have an end.

mod prompt;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use fileio::{LONGEST_TRACE, beginning, regular, text, whole};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use prompt::prompt;

#[test]
fn a_file_has_so_many_bytes_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("five");
    fs::write(&path, "12345").expect("a file");
    assert_eq!(whole(&path, 5).expect("as long as it may be"), b"12345");
    assert!(whole(&path, 4).is_err_and(|why| why.to_string().contains("longer than")));
    assert_eq!(regular(&path, 5).expect("as long as it may be"), b"12345");
    assert!(regular(&path, 4).is_err());
    assert_eq!(beginning(&path, 3).expect("a file"), b"123");
    assert!(text(&path, 5).is_ok_and(|text| text == "12345"));
    fs::write(&path, [0xff]).expect("a file");
    assert!(text(&path, 5).is_err_and(|why| why.to_string().contains("UTF-8")));
}

#[test]
fn a_device_without_an_end_is_refused_and_one_with_an_end_is_read() {
    let why = prompt(|| whole(Path::new("/dev/zero"), LONGEST_TRACE)).unwrap_err();
    assert!(why.to_string().contains("without an end"), "{why}");
    assert_eq!(whole(Path::new("/dev/null"), LONGEST_TRACE).expect("it is empty"), b"");
    assert!(!whole(Path::new("/proc/self/status"), 1 << 20).expect("a file").is_empty());
}

#[test]
fn a_pipe_that_is_named_is_read_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe");
    mkfifo(&path, Mode::S_IRWXU).expect("a pipe");
    let to = path.clone();
    let writer = thread::spawn(move || fs::write(to, vec![b'x'; 1 << 18]));
    assert_eq!(whole(&path, 1 << 20).expect("it ends").len(), 1 << 18);
    writer.join().expect("no panic").expect("it was read");
}

#[test]
fn in_folders_of_others_neither_links_nor_pipes_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "x").expect("a file");
    symlink(at("file"), at("link")).expect("a link");
    symlink("/dev/zero", at("zero")).expect("a link");
    mkfifo(&at("pipe"), Mode::S_IRWXU).expect("a pipe");
    for name in ["link", "zero", "pipe", ""] {
        let path = at(name);
        let read = prompt(move || (regular(&path, 1 << 30), beginning(&path, 1 << 30)));
        assert!(read.0.is_err() && read.1.is_err(), "{name}");
    }
    assert_eq!(regular(&at("file"), 1).expect("the control"), b"x");
}
