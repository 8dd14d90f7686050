//! The port to the host.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};

use super::order::PORT;

/// How often to look for the port. Its device is there before its name, which the host tells in a message.
const LOOK: Duration = Duration::from_millis(10);
/// Looks before giving up: 20 s.
const LOOKS: u32 = 2_000;

/// Loads kernel modules.
pub fn load(modules: &[String]) -> io::Result<()> {
    for module in modules {
        match finit_module(File::open(module)?, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(io::Error::other(format!("{module}: {error}"))),
        }
    }
    Ok(())
}

/// Opens the port as soon as it is there.
pub fn open() -> io::Result<File> {
    for _ in 0..LOOKS {
        if let Some(device) = find() {
            return OpenOptions::new().write(true).open(device);
        }
        thread::sleep(LOOK);
    }
    Err(io::Error::other("no port to the host"))
}

fn find() -> Option<String> {
    let ports = fs::read_dir("/sys/class/virtio-ports").ok()?.flatten();
    let named = |folder: &fs::DirEntry| {
        fs::read_to_string(folder.path().join("name")).is_ok_and(|name| name.trim() == PORT)
    };
    let folder = ports.into_iter().find(named)?;
    Some(format!("/dev/{}", folder.file_name().to_string_lossy()))
}
