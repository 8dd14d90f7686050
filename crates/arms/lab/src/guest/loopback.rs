//! The loopback device comes up down; services want it.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, sendto, socket,
};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const IFF_UP: u32 = 1;
/// The kernel numbers it first in every network namespace.
const LOOPBACK: u32 = 1;

/// Brings it up.
pub fn raise() -> io::Result<()> {
    let kernel = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    sendto(kernel.as_raw_fd(), &request(), &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    Ok(())
}

/// A netlink header and an `ifinfomsg` (rtnetlink(7)), 16 bytes each.
fn request() -> Vec<u8> {
    let header = [
        &32u32.to_ne_bytes()[..],
        &RTM_NEWLINK.to_ne_bytes(),
        &NLM_F_REQUEST.to_ne_bytes(),
        &[0; 8],
    ];
    let link = [&[0; 4][..], &LOOPBACK.to_ne_bytes(), &IFF_UP.to_ne_bytes(), &IFF_UP.to_ne_bytes()];
    [header.concat(), link.concat()].concat()
}
