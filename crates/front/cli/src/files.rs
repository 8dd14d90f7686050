//! Reading scenarios and writing reports, with errors that name the file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::edit::{Edit, edited};
use model::{Failure, Scenario};
use tempfile::NamedTempFile;

/// Bytes of a file of headers at most.
const LONGEST_HEADERS: usize = 64 << 10;

/// A scenario and the text it was read from.
pub struct ScenarioFile {
    /// The valid scenario.
    pub scenario: Scenario,
    /// The file's text.
    pub text: String,
}

/// Reads and validates a scenario file.
pub fn read_scenario(path: &Path) -> Result<ScenarioFile, Failure> {
    read_edited(path, &[])
}

/// [`read_scenario`] with other values for some keys.
pub fn read_edited(path: &Path, edits: &[Edit]) -> Result<ScenarioFile, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::Input(format!("{}: {error}; shipped scenarios are in scenarios/", path.display()))
    })?;
    let name = path.display().to_string();
    let text = edited(&text, &name, edits)?;
    let scenario = Scenario::read(&text, &name)?;
    Ok(ScenarioFile { scenario, text })
}

/// Reads a file of text.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// [`content`] of a file of text.
pub fn text_of(option: &str, path: &Path, most: usize) -> Result<String, Failure> {
    let text = String::from_utf8(content(option, path, most)?);
    text.map_err(|_| Failure::Input(format!("{option}: no UTF-8")))
}

/// A file that an option names, of so many bytes at most.
pub fn content(option: &str, path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::Input(format!("{option}: {why}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > most {
        return Err(wrong(format!("longer than {} KiB", most >> 10)));
    }
    Ok(bytes)
}

/// The headers that an option was given, a line each: `NAME: VALUE`, or `@FILE` with such lines.
pub fn header_lines(option: &str, given: &[String]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for text in given {
        let lines = match text.strip_prefix('@') {
            Some(path) => text_of(&format!("{option} {text}"), Path::new(path), LONGEST_HEADERS)?,
            None => text.clone(),
        };
        all.extend(lines.lines().filter(|line| !line.is_empty()).map(String::from));
    }
    Ok(all)
}

/// Says whether a file can be written there, by beginning one, before anything runs for minutes.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if !folder.is_dir() || path.is_dir() {
        return Err(Failure::Input(format!(
            "{}: not a file in an existing folder",
            path.display()
        )));
    }
    let begun = if is_special(path) {
        // Not opened twice: a reader of a pipe would take the first end for the last.
        fs::metadata(path).map(drop)
    } else {
        sweep(folder, path);
        Out::open(path).map(drop)
    };
    begun.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// Writes a report.
pub fn write(path: &Path, content: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(content.as_bytes()))
}

/// Writes a file, whole or not at all.
pub fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    replace_with(path, write).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

/// Puts a file in the place of another: readers see the old one or the new one. A symbolic link is replaced
/// and not followed: in a folder that others may write it would lead root anywhere.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |out| out.write_all(content))
}

fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = Out::open(path)?;
    let mut buffered = BufWriter::new(out.file());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    out.finish(path)
}

/// A file on its way to its place.
enum Out {
    /// Beside the target, gone unless it is finished.
    Beside(NamedTempFile),
    /// A pipe or a device: it has no place to be put in.
    Special(File),
}

impl Out {
    fn open(path: &Path) -> io::Result<Out> {
        if is_special(path) {
            return OpenOptions::new().write(true).open(path).map(Out::Special);
        }
        // As `open` makes files; one that is replaced keeps its own permissions.
        let mode = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let mode = mode.map_or(0o666, |there| there.permissions().mode() & 0o777);
        let file = tempfile::Builder::new()
            .prefix(&format!("{}{}-", prefix(path), std::process::id()))
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder_of(path))?;
        Ok(Out::Beside(file))
    }

    fn file(&mut self) -> &mut File {
        match self {
            Out::Beside(file) => file.as_file_mut(),
            Out::Special(file) => file,
        }
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        match self {
            Out::Beside(file) => file.persist(path).map(drop).map_err(|error| error.error),
            Out::Special(_) => Ok(()),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A pipe or a device, or a link of the kernel's such as `/dev/stdout`: it is written to and not replaced.
fn is_special(path: &Path) -> bool {
    let folder = folder_of(path);
    let kernels = ["/dev", "/dev/fd"].iter().any(|own| folder == Path::new(own));
    kernels || folder.starts_with("/proc") || fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// How names of files on their way begin; the process's number follows. A name has 255 bytes at most.
fn prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(40).collect();
    format!(".{name}.rearguard-")
}

/// Removes what killed processes left on the way to this path.
fn sweep(folder: &Path, path: &Path) {
    let prefix = prefix(path);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(&prefix).and_then(|rest| rest.split('-').next());
        let process = process.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            // One that cannot be removed is in no one's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        write(&path, "first").expect("room");
        let half = |out: &mut dyn Write| {
            out.write_all(b"sec")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(write_with(&path, half).is_err());
        assert_eq!(fs::read_to_string(&path).expect("there"), "first");
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn what_killed_processes_left_is_swept_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        let left = |process: u32| folder.path().join(format!("{}{process}-a", prefix(&path)));
        // No process has the greatest number; this one lives.
        let (dead, alive) = (left(u32::MAX), left(std::process::id()));
        [&dead, &alive].iter().for_each(|file| fs::write(file, "").expect("a file"));
        check_writable(&path).expect("a folder");
        assert!(!dead.exists() && alive.exists() && !path.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_at_the_start() {
        assert_eq!(check_writable(Path::new("/proc/report.html")).unwrap_err().exit_code(), 2);
        write(Path::new("/dev/null"), "x").expect("a device is written to");
    }

    /// `--report /dev/stdout > FILE` must not put a file in the place of `/dev/stdout`.
    #[test]
    fn what_the_kernel_links_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = File::create(folder.path().join("out")).expect("a file");
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        write(Path::new(&link), "through").expect("it is open");
        assert_eq!(fs::read_to_string(folder.path().join("out")).expect("there"), "through");
    }

    #[test]
    fn the_longest_name_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x".repeat(255));
        write(&path, "x").expect("255 bytes are a name");
        assert!(path.exists());
    }
}
