//! The other side of the lab: this executable as the init of a guest.

mod bring;
mod child;
mod loopback;
mod mounts;
pub mod order;
mod port;

use std::fs::{self, File};
use std::io;
use std::process::ExitCode;
use std::thread;

use nix::sys::reboot::{RebootMode, reboot};

use crate::wire::Frame;
use order::{ORDER, Order};

/// The argument that makes an executable the guest's init.
pub const ROLE: &str = "__lab_guest";

/// Runs the order and waits for the host to end the machine. It does nothing unless it is the first process.
pub fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("rearguard: {ROLE} is for the first process of a lab's guest");
        return ExitCode::from(2);
    }
    match serve() {
        // The port takes words before the host has them: a machine that powered itself off could take some
        // with it.
        Ok(()) => loop {
            thread::park();
        },
        // The console is all that is left when there is no port.
        Err(error) => eprintln!("rearguard: the guest failed: {error}"),
    }
    let _ = reboot(RebootMode::RB_POWER_OFF);
    ExitCode::FAILURE
}

fn serve() -> io::Result<()> {
    mounts::mount_all()?;
    let order: Order = serde_json::from_slice(&fs::read(ORDER)?)?;
    port::load(&order.modules)?;
    let mut port = port::open()?;
    let ending =
        perform(&order, &mut port).unwrap_or_else(|error| Frame::Failed(error.to_string()));
    ending.write(&mut port)
}

fn perform(order: &Order, port: &mut File) -> io::Result<Frame> {
    loopback::raise()?;
    Frame::Booted.write(port)?;
    let code = match order.command.split_first() {
        Some((program, args)) => child::run(program, args, port)?,
        None => 0,
    };
    bring::bring(&order.get, port)?;
    Ok(Frame::Exit(code))
}
