//! What a service manager is told: systemd starts what comes after a service once it says that it is ready.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use model::Failure;

/// Says that the scheduler is in force to the manager that started this program, if one did.
pub fn ready() -> Result<(), Failure> {
    let Some(socket) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let told = tell(&socket, b"READY=1");
    told.map_err(|error| {
        Failure::Machine(format!(
            "NOTIFY_SOCKET {}: {error}: unset it, or let a service manager start this program",
            socket.display()
        ))
    })
}

fn tell(socket: &OsString, what: &[u8]) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    UnixDatagram::unbound()?.send_to_addr(what, &address).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_receives_it_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let name = format!("rearguard-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).expect("an address");
        let managers = [
            (path.clone().into_os_string(), UnixDatagram::bind(&path)),
            (format!("@{name}").into(), UnixDatagram::bind_addr(&abstract_name)),
        ];
        for (socket, manager) in managers {
            tell(&socket, b"READY=1").expect("told");
            let mut received = [0; 16];
            let length = manager.expect("a socket").recv(&mut received).expect("a datagram");
            assert_eq!(&received[..length], b"READY=1", "{}", socket.display());
        }
        assert!(tell(&folder.path().join("nobody").into(), b"READY=1").is_err());
    }
}
