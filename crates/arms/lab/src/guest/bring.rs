//! Files on their way back to the host: one archive, in pieces.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::image::archive::Archive;
use crate::wire::Frame;

/// Sends files and folders, each under its own last name; says which are not there.
pub fn bring(paths: &[String], port: &mut File) -> io::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut absent = Vec::new();
    let mut archive = Archive::new(BufWriter::with_capacity(64 * 1024, Pieces { port }));
    for path in paths {
        let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let put = put(&mut archive, Path::new(path), &name.unwrap_or_default())?;
        absent.extend(put.map(|error| format!("{path}: {error}")));
    }
    archive.finish()?.flush()?;
    absent.into_iter().try_for_each(|what| Frame::Absent(what).write(port))
}

/// Puts a file, or a folder with all in it. What cannot be read is the inner error, a lost host the outer
/// one.
fn put(
    archive: &mut Archive<impl Write>,
    path: &Path,
    name: &str,
) -> io::Result<Option<io::Error>> {
    let inside =
        |folder: &Path| -> io::Result<Vec<fs::DirEntry>> { fs::read_dir(folder)?.collect() };
    if path.is_dir() {
        let entries = match inside(path) {
            Ok(entries) => entries,
            Err(error) => return Ok(Some(error)),
        };
        for entry in entries {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if let Some(error) = put(archive, &entry.path(), &name)? {
                return Ok(Some(error));
            }
        }
        return Ok(None);
    }
    let read = fs::read(path).and_then(|content| Ok((content, fs::metadata(path)?)));
    match read {
        Ok((content, about)) => {
            archive.file(name, about.permissions().mode(), &content).map(|()| None)
        }
        Err(error) => Ok(Some(error)),
    }
}

struct Pieces<'a> {
    port: &'a mut File,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(64 * 1024)];
        Frame::Files(piece.to_vec()).write(self.port)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.port.flush()
    }
}
