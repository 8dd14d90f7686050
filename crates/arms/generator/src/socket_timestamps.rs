//! When a request and its response passed the client's own kernel, by the stamps that it puts on the client's
//! sockets (SO_TIMESTAMPING). They take no privilege, and the server may be anywhere.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use model::Nanos;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, Timestamps, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::clock;

/// What the kernel is to stamp on the way out, and how it is to tell: in software, and by the stamp alone, as
/// the bytes are known here. Stamps are numbered (`OPT_ID`), because those of two sends may come in any
/// order.
const WANTED: u32 = libc::SOF_TIMESTAMPING_TX_SCHED
    | libc::SOF_TIMESTAMPING_TX_SOFTWARE
    | libc::SOF_TIMESTAMPING_TX_ACK
    | libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// The kernel's numbers of what it stamped (linux/errqueue.h).
const LEFT: u32 = 0;
const QUEUED: u32 = 1;
const ACKNOWLEDGED: u32 = 2;

/// When the last byte of a request, and that of its response, passed; [`Nanos::NEVER`]: not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketTimestamps {
    /// The request came to the queue of the device.
    pub queued: Nanos,
    /// The device got it.
    pub left: Nanos,
    /// Over TCP: the server's kernel said that it has it; not seldom with the response.
    pub acknowledged: Nanos,
    /// The client had read the response, which had been there since
    /// [`Record::received`](crate::Record::received).
    pub read: Nanos,
}

/// One stamp, out of a socket's queue of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    what: u32,
    /// The last byte that passed, counted from the connection's first, or the datagram; this wraps around.
    last: u32,
    at: Nanos,
}

impl SocketTimestamps {
    /// Nothing has passed yet.
    pub const UNSEEN: SocketTimestamps = SocketTimestamps {
        queued: Nanos::NEVER,
        left: Nanos::NEVER,
        acknowledged: Nanos::NEVER,
        read: Nanos::NEVER,
    };

    /// Takes a stamp, if it is of the byte `last`, with which the request ends, or of a later one: TCP stamps
    /// what it sends in pieces piece by piece, and what it sends together once.
    pub(crate) fn take(&mut self, stamp: Stamp, last: u32) {
        if stamp.last.wrapping_sub(last).cast_signed() < 0 {
            return;
        }
        let moment = match stamp.what {
            LEFT => &mut self.left,
            QUEUED => &mut self.queued,
            ACKNOWLEDGED => &mut self.acknowledged,
            _ => return,
        };
        *moment = stamp.at.min(*moment);
    }

    pub(crate) fn moments(&mut self) -> [&mut Nanos; 4] {
        [&mut self.queued, &mut self.left, &mut self.acknowledged, &mut self.read]
    }
}

/// Has the kernel stamp what goes out of a connected socket on which nothing has been sent yet: bytes are
/// counted from here.
pub fn stamp_departures(fd: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(fd, sockopt::Timestamping, &TimestampingFlag::from_bits_retain(WANTED))?)
}

/// Room for a stamp and its number.
pub fn stamp_room() -> Vec<u8> {
    nix::cmsg_space!(TimeSpec, Timestamps, libc::sock_extended_err, libc::sockaddr_in6)
}

/// The next stamp, if there is one. `realtime_lead` moves it to [`clock::now`]'s clock.
pub fn next_stamp(
    fd: &OwnedFd,
    room: &mut [u8],
    realtime_lead: Nanos,
) -> io::Result<Option<Stamp>> {
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message =
        match recvmsg::<()>(fd.as_raw_fd(), &mut [] as &mut [IoSliceMut], Some(room), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
    let (mut at, mut number) = (None, None);
    for control in message.cmsgs()? {
        match control {
            ControlMessageOwned::ScmTimestampsns(stamps) => at = Some(stamps.system),
            ControlMessageOwned::Ipv4RecvErr(told, _) => number = Some(told),
            ControlMessageOwned::Ipv6RecvErr(told, _) => number = Some(told),
            _ => {}
        }
    }
    let number = number.filter(|told| told.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING);
    // What is queued there may be an error of the network instead: it is taken out, and the socket tells of
    // it by itself.
    let unknown = Stamp { what: u32::MAX, last: 0, at: Nanos::NEVER };
    Ok(Some(at.zip(number).map_or(unknown, |(at, told)| Stamp {
        what: told.ee_info,
        last: told.ee_data,
        at: clock::from_timespec(at).saturating_sub(realtime_lead),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stamp_that_covers_the_last_byte_counts() {
        let stamp = |what, last, at| Stamp { what, last, at: Nanos(at) };
        // A request ends with the byte 4 beyond the counter's end; what was sent before it is another's.
        let last = 3;
        let mut timestamps = SocketTimestamps::UNSEEN;
        for early in [u32::MAX - 7, u32::MAX, 2] {
            timestamps.take(stamp(LEFT, early, 10), last);
        }
        assert_eq!(timestamps, SocketTimestamps::UNSEEN, "its first pieces are not the whole");
        timestamps.take(stamp(QUEUED, 3, 20), last);
        timestamps.take(stamp(LEFT, 9, 30), last);
        timestamps.take(stamp(LEFT, 9, 40), last);
        timestamps.take(stamp(ACKNOWLEDGED, 3, 50), last);
        timestamps.take(stamp(7, 3, 60), last);
        let SocketTimestamps { queued, left, acknowledged, read } = timestamps;
        assert_eq!(
            [queued, left, acknowledged].map(|at| at.0),
            [20, 30, 50],
            "sent with a later one"
        );
        assert_eq!(read, Nanos::NEVER);
    }
}
