//! Files below a root: `/`, or a folder that stands for it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
        fs::create_dir_all(folder)?;
        let is_new = !place.exists();
        let mut file = OpenOptions::new().append(true).create(true).open(&place)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if is_new { fs::File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Waits until no other process has the file locked, locks it, and writes its own process into it.
    pub fn lock(&self, path: &str) -> io::Result<fs::File> {
        let place = self.place(path);
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(place)?;
        file.lock()?;
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        Ok(file)
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.place(path))
    }
}
