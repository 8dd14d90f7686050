//! The file systems that a program expects.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};

/// Type and place, in order. /tmp and /run are part of the initramfs, which is in memory already and may hold
/// files of the user's there.
const MOUNTS: [(&str, &str); 10] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("securityfs", "/sys/kernel/security"),
];

/// Links that udev makes elsewhere.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Mounts them all; a kind that this kernel does not know is left out.
pub fn mount_all() -> io::Result<()> {
    for (kind, place) in MOUNTS {
        // Places below /sys are the kernel's: they are there exactly when the kind is known.
        if !place.starts_with("/sys/") {
            fs::create_dir_all(place)?;
        }
        match mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>) {
            Ok(()) | Err(Errno::ENODEV | Errno::ENOENT) => {}
            Err(error) => return Err(io::Error::other(format!("{place}: {error}"))),
        }
    }
    fs::set_permissions("/tmp", fs::Permissions::from_mode(0o1777))?;
    LINKS.into_iter().try_for_each(|(target, link)| symlink(target, link))
}
