//! Archives in the format of an initramfs (cpio, "newc"), written and read.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::Path;

use cpio::newc::{Builder, Reader, trailer};

const FILE: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path in the archive.
    pub name: String,
    /// Its permissions.
    pub mode: u32,
    /// What is in it.
    pub content: Vec<u8>,
}

/// An archive being written. What was put once is not put again.
pub struct Archive<W: Write> {
    writer: Option<W>,
    there: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub fn new(writer: W) -> Archive<W> {
        Archive { writer: Some(writer), there: BTreeSet::new() }
    }

    /// Puts a file and the folders above it.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | mode & 0o7777, content)
    }

    /// Puts a folder and those above it.
    pub fn folder(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, FOLDER | 0o755, &[])
    }

    /// Puts a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.entry(path, LINK | 0o777, target.as_bytes())
    }

    /// Whether something is there under that path.
    pub fn has(&self, path: &str) -> bool {
        self.there.contains(path.trim_start_matches('/'))
    }

    /// Ends the archive.
    pub fn finish(self) -> io::Result<W> {
        trailer(self.writer.expect("there between calls"))
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        let path = path.trim_start_matches('/');
        if path.is_empty() || !self.there.insert(path.to_string()) {
            return Ok(());
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.folder(above)?;
        }
        let size = u32::try_from(content.len()).map_err(|_| too_long(path))?;
        let writer = self.writer.take().expect("there between calls");
        let mut entry = Builder::new(path).mode(mode).nlink(1).write(writer, size);
        entry.write_all(content)?;
        self.writer = Some(entry.finish()?);
        Ok(())
    }
}

fn too_long(path: &str) -> io::Error {
    io::Error::other(format!("{path} is larger than 4 GiB"))
}

/// Reads the regular files of an archive. Names that lead out of the folder they are unpacked in are refused.
pub fn read(mut archive: impl Read) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    loop {
        let mut reader = Reader::new(archive)?;
        if reader.entry().is_trailer() {
            return Ok(entries);
        }
        let (name, mode) = (reader.entry().name().to_string(), reader.entry().mode());
        if name.starts_with('/')
            || Path::new(&name).components().any(|part| part.as_os_str() == "..")
        {
            return Err(io::Error::other(format!(
                "the archive's `{name}` leads out of its folder"
            )));
        }
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        archive = reader.finish()?;
        if mode & 0o170_000 == FILE {
            entries.push(Entry { name, mode: mode & 0o7777, content });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_with_the_folders_above_it() {
        let mut archive = Archive::new(Vec::new());
        archive.file("/a/b/run", 0o755, b"body").unwrap();
        archive.link("/lib", "usr/lib").unwrap();
        archive.file("a/b/run", 0o600, b"a second one").unwrap();
        archive.file("empty", 0o644, b"").unwrap();
        assert!(archive.has("/a/b") && archive.has("lib") && !archive.has("b"));
        let bytes = archive.finish().unwrap();
        let file = |name: &str, mode, content: &[u8]| Entry {
            name: name.into(),
            mode,
            content: content.into(),
        };
        let expected = [file("a/b/run", 0o755, b"body"), file("empty", 0o644, b"")];
        assert_eq!(read(bytes.as_slice()).unwrap(), expected);
        let at = |name: &str| bytes.windows(name.len()).position(|part| part == name.as_bytes());
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/run\0"), "folders come first");
    }

    #[test]
    fn a_name_that_leads_out_is_refused() {
        let mut archive = Archive::new(Vec::new());
        archive.file("a/../../etc/passwd", 0o644, b"x").unwrap();
        read(archive.finish().unwrap().as_slice()).unwrap_err();
    }

    #[test]
    fn half_an_archive_is_an_error() {
        let mut archive = Archive::new(Vec::new());
        archive.file("a", 0o644, &[1; 100]).unwrap();
        let bytes = archive.finish().unwrap();
        read(&bytes[..150]).unwrap_err();
        read(&b"noise"[..]).unwrap_err();
    }
}
