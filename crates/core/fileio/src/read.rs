//! Readers with a limit.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// Bytes of a text at most: a scenario, a plan, a cluster.
pub const LONGEST_TEXT: u64 = 64 << 20;
/// Bytes of a result or a list of requests at most: some 50 million of them.
pub const LONGEST_LIST: u64 = 1 << 30;
/// Bytes of a trace at most: some 400 million events.
pub const LONGEST_TRACE: u64 = 4 << 30;
/// Bytes of a terminal or another device at most: most of them never end.
const LONGEST_OF_DEVICE: u64 = 1 << 20;

/// A file, a pipe or a terminal that the user names, of so many bytes at most.
pub fn whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let kind = about.file_type();
    if kind.is_block_device() {
        return Err(refused("a block device: name a file or a pipe".to_string()));
    }
    let is_device = kind.is_char_device();
    up_to(file, &about, if is_device { most.min(LONGEST_OF_DEVICE) } else { most })
}

/// [`whole`] of a text.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let no_text = |_| io::Error::new(ErrorKind::InvalidData, "no text: it is not UTF-8");
    String::from_utf8(whole(path, most)?).map_err(no_text)
}

/// A file in a folder of another user, of so many bytes at most. A link would lead anywhere and a pipe would
/// never open, so both are refused.
pub fn regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, about) = open_regular(path)?;
    up_to(file, &about, most)
}

/// The first bytes of a file in a folder of another user: so many, or all there are.
pub fn beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
    let is_link = |error: &io::Error| error.raw_os_error() == Some(nix::libc::ELOOP);
    let file = opened.map_err(|error| match is_link(&error) {
        true => refused("a symbolic link, which is not followed here".to_string()),
        false => error,
    })?;
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(refused("no regular file".to_string())),
    }
}

fn up_to(file: File, about: &Metadata, most: u64) -> io::Result<Vec<u8>> {
    let is_longer = || {
        let most = if most < 1 << 20 { format!("{} KiB", most >> 10) } else { megabytes(most) };
        refused(format!("longer than {most}, or without an end: name a shorter file"))
    };
    // Files of /proc say 0, and pipes too.
    if about.is_file() && about.len() > most {
        return Err(is_longer());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(if about.is_file() { about.len() as usize + 1 } else { 0 })?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(is_longer()) } else { Ok(bytes) }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn refused(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}
