//! Outputs: beside their place first, then renamed into it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tempfile::NamedTempFile;

use crate::folder::folder_below;
use crate::temporary::{Listed, is_of_the_dead, listed};

/// Says whether a file can be written there, by beginning one; what killed processes left on the way to it
/// is removed.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match Out::kind(path) {
        // Not opened twice: a reader of a pipe would take the first end for the last.
        Kind::Kernels => fs::metadata(path).map(drop),
        Kind::Special => Ok(()),
        Kind::File => {
            check_name(path)?;
            sweep(folder_of(path), path);
            Out::beside(path).map(drop)
        }
    }
}

/// A name may be too long for a file, though that of the file on its way is not.
fn check_name(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Puts a file in the place of another: readers see the old one or the new one. A symbolic link is replaced
/// and not followed: in a folder that others may write it would lead root anywhere.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |out| out.write_all(content))
}

/// [`replace`] with what is written as it is made.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    finish(Out::open(path)?, path, write)
}

/// [`replace`] for a daemon, which waits for no reader: a pipe or a device in that place is replaced, too.
/// `/dev/stdout` is written to.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let out = match Out::kind(path) {
        Kind::Kernels => Out::open(path)?,
        Kind::Special | Kind::File => Out::beside(path)?,
    };
    finish(out, path, |out| out.write_all(content))
}

/// [`replace_file`] below a folder, with a name that another party chose and permissions. No link below the
/// folder is followed, and permissions are given before the file has its name: afterwards another user may
/// have put a link there.
pub fn replace_below(top: &Path, name: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let folder = folder_below(top, name.parent().unwrap_or(Path::new("")))?;
    let last = name.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(last);
    if let Kind::Special = Out::kind(&path) {
        return Err(io::Error::other("no file stands there: name a folder of your own"));
    }
    // Nobody else may open it before it has the permissions that are asked for.
    let mut out = Out::beside_with(&path, 0o600)?;
    out.file().set_permissions(Permissions::from_mode(mode & 0o777))?;
    finish(out, &path, |out| out.write_all(content))
}

/// Whether [`replace_file`] leaves nothing but files in the place of files.
pub fn is_replaceable(path: &Path) -> bool {
    !matches!(Out::kind(path), Kind::Special)
}

/// A new file for what another process writes; what stood there is removed, and not written through.
pub fn create_new(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).open(path),
    }
}

fn finish(
    mut out: Out,
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffered = BufWriter::new(out.file());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    out.persist(path)
}

/// What stands at a path.
enum Kind {
    /// A name of the kernel's, such as `/dev/stdout`, which leads where the user says.
    Kernels,
    /// A pipe or a device.
    Special,
    /// A file, a symbolic link, or nothing.
    File,
}

/// A file on its way to its place.
enum Out {
    /// Beside the target, gone unless it is finished.
    Beside(NamedTempFile, Listed),
    /// A pipe or a device: it has no place to be put in.
    Special(File),
}

impl Out {
    fn kind(path: &Path) -> Kind {
        let is_special = |there: &fs::Metadata| !there.is_file() && !there.is_symlink();
        match fs::symlink_metadata(path) {
            _ if is_kernels(path) => Kind::Kernels,
            Ok(there) if is_special(&there) => Kind::Special,
            _ => Kind::File,
        }
    }

    fn open(path: &Path) -> io::Result<Out> {
        match Out::kind(path) {
            Kind::File => Out::beside(path),
            Kind::Kernels => open_special(path, OFlag::empty()).map(Out::Special),
            Kind::Special => Out::pipe(path),
        }
    }

    /// Opens what was a pipe or a device at the last look.
    fn pipe(path: &Path) -> io::Result<Out> {
        let file = open_special(path, OFlag::O_NOFOLLOW)?;
        // Another user may have put a name of some file there since.
        match file.metadata()?.is_file() {
            true => Err(io::Error::other("it has just become a file: name a folder of your own")),
            false => Ok(Out::Special(file)),
        }
    }

    fn beside(path: &Path) -> io::Result<Out> {
        // As `open` makes files; one that is replaced keeps its own permissions.
        let mode = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        Out::beside_with(path, mode.map_or(0o666, |there| there.permissions().mode() & 0o777))
    }

    fn beside_with(path: &Path, mode: u32) -> io::Result<Out> {
        let make = || {
            tempfile::Builder::new()
                .prefix(&format!("{}{}-", prefix(path), std::process::id()))
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(folder_of(path))
        };
        let (file, listed) = listed(make, NamedTempFile::path).map_err(unnamed)?;
        Ok(Out::Beside(file, listed))
    }

    fn file(&mut self) -> &mut File {
        match self {
            Out::Beside(file, _) => file.as_file_mut(),
            Out::Special(file) => file,
        }
    }

    fn persist(self, path: &Path) -> io::Result<()> {
        match self {
            Out::Beside(file, _listed) => file.persist(path).map(drop).map_err(|error| error.error),
            Out::Special(_) => Ok(()),
        }
    }
}

/// The error alone: the user did not choose the name of the file on its way.
fn unnamed(error: io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or_default())
}

/// Opens a pipe or a device without waiting for a reader, and then writes as fast as that one reads.
fn open_special(path: &Path, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = OpenOptions::new().write(true).custom_flags(flags.bits()).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(nix::libc::ENXIO) => io::Error::new(
            error.kind(),
            "no process reads it: start its reader first, or name a file",
        ),
        _ => error,
    })?;
    let now = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
    fcntl(&file, FcntlArg::F_SETFL(now - OFlag::O_NONBLOCK))?;
    Ok(file)
}

/// Whether a path is a name of the kernel's, which no user can put there: `/dev/NAME`, or an open file of a
/// process. Deeper folders of `/dev`, such as `/dev/shm`, are anyone's.
fn is_kernels(path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let folder = folder_of(&path);
    let parts: Vec<Component> = folder.components().collect();
    let of_process = |name: &Component| {
        let name = name.as_os_str().to_string_lossy();
        matches!(&*name, "self" | "thread-self") || name.parse::<u32>().is_ok()
    };
    let is_named = path.file_name().is_some();
    is_named
        && match &parts[..] {
            [Component::RootDir, top] => top.as_os_str() == "dev",
            [Component::RootDir, top, fd] => top.as_os_str() == "dev" && fd.as_os_str() == "fd",
            [Component::RootDir, top, process, fd] => {
                top.as_os_str() == "proc" && of_process(process) && fd.as_os_str() == "fd"
            }
            _ => false,
        }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        if is_of_the_dead(&entry.file_name().to_string_lossy(), &prefix) {
            // One that cannot be removed is in no one's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}
