//! What the kernel's verifier and compiler made of each program.

use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::ProgramMut;
use libbpf_rs::libbpf_sys::{bpf_prog_get_info_by_fd, bpf_prog_info};
use libbpf_rs::skel::Skel;
use model::Failure;

use crate::skeleton::BpfSkel;

/// A program in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The callback.
    pub program: String,
    /// Instructions that the verifier walked, over all paths; it refuses above a million.
    pub verified: u32,
    /// Instructions after the policy's choices had switched off the rest.
    pub instructions: u32,
    /// Bytes of machine code.
    pub machine_bytes: u32,
}

/// The costs of all programs that this kernel has a callback for, in the order of their source.
pub fn costs(skeleton: &mut BpfSkel) -> Result<Vec<Cost>, Failure> {
    let loaded = skeleton.object_mut().progs_mut().filter(|program| program.autoload());
    loaded.map(|program| cost(&program)).collect()
}

fn cost(program: &ProgramMut) -> Result<Cost, Failure> {
    let name = program.name().to_string_lossy().into_owned();
    // SAFETY: integers and addresses, for which zero is a value.
    let mut info: bpf_prog_info = unsafe { zeroed() };
    let mut size = size_of::<bpf_prog_info>() as u32;
    let fd = program.as_fd().as_raw_fd();
    // SAFETY: the program is open as long as it is borrowed; the kernel writes at most `size` bytes to
    // `info`.
    let error = unsafe { bpf_prog_get_info_by_fd(fd, &raw mut info, &raw mut size) };
    if error != 0 {
        return Err(Failure::Run(format!("the kernel does not describe {name} (error {error})")));
    }
    const INSTRUCTION: u32 = 8;
    Ok(Cost {
        program: name,
        verified: info.verified_insns,
        instructions: info.xlated_prog_len / INSTRUCTION,
        machine_bytes: info.jited_prog_len,
    })
}
