//! The guest's file system: an initramfs of this executable as init, the command, and what they need.

pub mod archive;
pub mod closure;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use model::Failure;

use crate::guest::order::{INIT, ORDER, Order};
use crate::store::Kernel;
use archive::{Archive, Entry};
use closure::closure;

/// Folders that hold nothing at first: places to mount on, and a home.
const FOLDERS: [&str; 7] = ["proc", "sys", "dev", "run", "tmp", "root", "var/tmp"];

/// Root, and the user of servers that refuse to be root.
const USERS: &[u8] = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
const GROUPS: &[u8] = b"root:x:0:\nnogroup:x:65534:\n";

/// This very executable for scripts in the guest, unless the user brings another there.
const OWN_COMMAND: &str = "usr/local/bin/rearguard";
/// The program that it starts for `load`, where this machine has it; likewise.
const LOADER: &str = "usr/local/bin/scx_rearguard";

/// Modules behind the port to the host, in the order in which they need one another. Newer kernels have them
/// built in.
const PORT_MODULES: [&str; 6] = [
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci",
    "drivers/char/virtio_console",
];

/// Writes the initramfs into a file without a name, so that nothing of it is left in any case.
pub fn build(
    kernel: &Kernel,
    mut order: Order,
    put: &[PathBuf],
    files: &[Entry],
) -> Result<File, Failure> {
    let file = tempfile::tempfile().map_err(no_room)?;
    let mut image = Image { archive: Archive::new(BufWriter::new(file)) };
    image.skeleton().map_err(no_room)?;
    image.init()?;
    order.modules = image.modules(kernel)?;
    if let Some(command) = order.command.first_mut().filter(|command| *command != INIT) {
        let path = closure::locate(command)?;
        image.program(&path)?;
        *command = path.to_string_lossy().into_owned();
    }
    put.iter().try_for_each(|path| image.put(path))?;
    let mut write = |file: &Entry| image.archive.file(&file.name, file.mode, &file.content);
    files.iter().try_for_each(&mut write).map_err(no_room)?;
    image.archive.link(OWN_COMMAND, INIT).map_err(no_room)?;
    image.loader()?;
    let text = serde_json::to_vec(&order).expect("strings only");
    image.archive.file(ORDER, 0o644, &text).map_err(no_room)?;
    let mut writer = image.archive.finish().map_err(no_room)?;
    writer.flush().map_err(no_room)?;
    writer.into_inner().map_err(|error| no_room(error.into_error()))
}

/// The image cannot be written, or read again.
pub(crate) fn no_room(error: std::io::Error) -> Failure {
    Failure::Machine(format!(
        "the guest's files cannot be written: {error}: TMPDIR chooses another place"
    ))
}

struct Image<W: Write> {
    archive: Archive<W>,
}

impl<W: Write> Image<W> {
    fn skeleton(&mut self) -> std::io::Result<()> {
        // Loaders and shebangs name /lib64 and /bin, which are links on the machine whose files come along.
        for name in ["bin", "sbin", "lib", "lib64", "lib32"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(name)) {
                let target = target.to_string_lossy().into_owned();
                self.archive.folder(&target)?;
                self.archive.link(name, &target)?;
            }
        }
        FOLDERS.iter().try_for_each(|folder| self.archive.folder(folder))?;
        self.archive.file("etc/passwd", 0o644, USERS)?;
        self.archive.file("etc/group", 0o644, GROUPS)?;
        // Libraries outside the loader's usual folders are found as on this machine.
        match fs::read("/etc/ld.so.cache") {
            Ok(cache) => self.archive.file("etc/ld.so.cache", 0o644, &cache),
            Err(_) => Ok(()),
        }
    }

    fn init(&mut self) -> Result<(), Failure> {
        // The link still leads to this very program when a build has replaced the file.
        let own = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
        let content = fs::read(&own).map_err(no_room)?;
        self.archive.file(INIT, 0o755, &content).map_err(no_room)?;
        closure(&own)?.iter().try_for_each(|library| self.copy(library))
    }

    fn loader(&mut self) -> Result<(), Failure> {
        let Ok(path) = loader::find() else { return Ok(()) };
        let content = fs::read(&path).map_err(no_room)?;
        self.archive.file(LOADER, 0o755, &content).map_err(no_room)?;
        closure(&path)?.iter().try_for_each(|library| self.copy(library))
    }

    /// Takes along the modules that this kernel needs for the port; their paths in the guest.
    fn modules(&mut self, kernel: &Kernel) -> Result<Vec<String>, Failure> {
        if kernel.option("CONFIG_VIRTIO_CONSOLE")?.as_deref() != Some("m") {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for module in PORT_MODULES {
            let from = kernel.modules().join(format!("kernel/{module}.ko"));
            let name = format!("/rearguard/{}.ko", module.rsplit('/').next().unwrap_or(module));
            let content = fs::read(&from).map_err(|error| crate::store::broken(&from, &error))?;
            self.archive.file(&name, 0o644, &content).map_err(no_room)?;
            names.push(name);
        }
        Ok(names)
    }

    fn program(&mut self, path: &Path) -> Result<(), Failure> {
        self.copy(path)?;
        closure(path)?.iter().try_for_each(|needed| self.copy(needed))
    }

    /// Takes along what the user names: a command, a file, or a folder with all that is in it.
    fn put(&mut self, path: &Path) -> Result<(), Failure> {
        let bad =
            |error: std::io::Error| Failure::Input(format!("--put {}: {error}", path.display()));
        if path.is_dir() {
            let absolute = std::path::absolute(path).map_err(bad)?;
            self.archive.folder(&in_guest(&absolute)).map_err(no_room)?;
            let mut inside: Vec<PathBuf> =
                fs::read_dir(&absolute).map_err(bad)?.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            return inside.iter().try_for_each(|path| self.put(path));
        }
        let path = if path.is_file() {
            std::path::absolute(path).map_err(bad)?
        } else {
            closure::locate(&path.to_string_lossy())?
        };
        let mode = fs::metadata(&path).map_err(bad)?.permissions().mode();
        if mode & 0o111 == 0 { self.copy(&path) } else { self.program(&path) }
    }

    /// Copies a file to the place that it has on this machine.
    fn copy(&mut self, path: &Path) -> Result<(), Failure> {
        let name = in_guest(path);
        if self.archive.has(&name) {
            return Ok(());
        }
        let unreadable = |error| Failure::Input(format!("{}: {error}", path.display()));
        let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode();
        let content = fs::read(path).map_err(unreadable)?;
        self.archive.file(&name, mode, &content).map_err(no_room)
    }
}

/// A path of this machine as it is in the guest: `.` and `..` resolved, and linked folders of the root by
/// their target.
fn in_guest(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let mut parts = plain.components();
    let first = parts.next().map(|part| Path::new("/").join(part));
    let target = first
        .filter(|_| plain.components().count() > 1)
        .and_then(|first| fs::read_link(first).ok());
    let plain = target.map_or_else(|| plain.clone(), |target| target.join(parts.as_path()));
    plain.to_string_lossy().trim_start_matches('/').to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;
    use crate::store::Lab;

    fn built(config: &str, put: &[PathBuf]) -> (Vec<archive::Entry>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let kernel = Lab::at(folder.path().into()).kernel("1.2-x");
        let modules = kernel.modules().join("kernel");
        fs::create_dir_all(&modules).unwrap();
        fs::write(kernel.modules().with_file_name("config"), config).unwrap();
        for module in PORT_MODULES {
            let path = modules.join(format!("{module}.ko"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, module).unwrap();
        }
        let order =
            Order { command: vec!["sh".into(), "-c".into(), "exit".into()], ..Order::default() };
        let mut file = build(&kernel, order, put, &[]).unwrap();
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        (archive::read(bytes.as_slice()).unwrap(), folder)
    }

    #[test]
    fn the_guest_has_init_command_loader_and_order() {
        let (entries, _folder) = built("CONFIG_VIRTIO_CONSOLE=y\n", &[]);
        let has = |end: &str| entries.iter().any(|entry| entry.name.ends_with(end));
        assert!(has("rearguard/init") && has("bin/sh") && has("ld-linux-x86-64.so.2"));
        assert!(!has(".ko"), "the port is built in");
        let order = entries.iter().find(|entry| entry.name == "rearguard/order.json").unwrap();
        let order: Order = serde_json::from_slice(&order.content).unwrap();
        assert!(order.command[0].starts_with('/') && order.command[1..] == ["-c", "exit"]);
    }

    #[test]
    fn modules_come_where_the_kernel_needs_them() {
        let (entries, _folder) = built("CONFIG_VIRTIO_CONSOLE=m\n", &[]);
        let modules = entries.iter().filter(|entry| entry.name.ends_with(".ko"));
        assert_eq!(modules.count(), PORT_MODULES.len());
    }

    #[test]
    fn folders_are_put_with_all_that_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("deep/data"), "seven").unwrap();
        let (entries, _folder) = built("", &[folder.path().into()]);
        let data = entries.iter().find(|entry| entry.name.ends_with("deep/data")).unwrap();
        assert_eq!(data.content, b"seven");
    }

    #[test]
    fn paths_of_the_guest_are_plain() {
        assert_eq!(in_guest(Path::new("/opt/./a/../b")), "opt/b");
        let merged = fs::read_link("/bin").map(|target| format!("{}/sh", target.display()));
        assert_eq!(in_guest(Path::new("/bin/sh")), merged.unwrap_or("bin/sh".into()));
    }
}
