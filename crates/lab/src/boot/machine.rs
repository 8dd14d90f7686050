//! QEMU's arguments: the machine's shape, its port to the host, its kernel.

use model::Failure;
use model::scenario::Machine;

use super::Guest;
use super::accelerator::Accelerator;
use crate::guest::ROLE as GUEST_ROLE;
use crate::guest::order::{INIT, PORT};

/// QEMU's limit for the machine type `pc`.
const MOST_CPUS: u32 = 255;

/// Says what is wrong with a machine that cannot be built.
pub fn check(machine: &Machine) -> Result<(), Failure> {
    let Machine { cpus, smt, llcs, nodes } = *machine;
    let wrong = if cpus == 0 || cpus > MOST_CPUS {
        Some(format!("--cpus {cpus}: expected 1 to {MOST_CPUS}"))
    } else if nodes == 0 || llcs == 0 || llcs % nodes != 0 {
        Some(format!("--llcs {llcs} on --nodes {nodes}: expected a multiple of the nodes"))
    } else if cpus % llcs != 0 {
        Some(format!("--cpus {cpus} on --llcs {llcs}: expected a multiple of the caches"))
    } else if smt == 0 || (cpus / llcs) % smt != 0 {
        let each = cpus / llcs;
        Some(format!("--smt {smt}: expected a divisor of the {each} CPUs of a cache"))
    } else {
        None
    };
    wrong.map_or(Ok(()), |wrong| Err(Failure::Input(wrong)))
}

/// The whole argument line.
pub fn arguments(guest: &Guest, accelerator: Accelerator) -> Vec<String> {
    let mut line =
        words("-nodefaults -no-user-config -no-reboot -display none -monitor none -machine pc");
    line.extend(words(accelerator.arguments()));
    line.extend(shape(&guest.machine, accelerator));
    line.extend(memory(&guest.machine, guest.memory_mib));
    line.extend(words("-chardev file,id=console,path=/proc/self/fd/2 -serial chardev:console"));
    line.extend(words("-chardev file,id=wire,path=/proc/self/fd/1 -device virtio-serial-pci"));
    line.extend(words(&format!("-device virtserialport,chardev=wire,name={PORT}")));
    line.extend(["-kernel".into(), guest.kernel.image().to_string_lossy().into_owned()]);
    line.extend(words("-initrd /proc/self/fd/0 -append"));
    line.push(command_line(accelerator));
    line
}

/// Warnings of the kernel go to the console; the clock is the processor's, which counts instructions without KVM, and then there is
/// no speculation to guard against.
fn command_line(accelerator: Accelerator) -> String {
    let clock = match accelerator {
        Accelerator::Kvm => "",
        Accelerator::Tcg => " tsc=reliable nokaslr norandmaps mitigations=off",
    };
    format!("console=ttyS0 loglevel=5 panic=-1{clock} rdinit={INIT} -- {GUEST_ROLE}")
}

/// An Intel processor, whose caches and threads Linux reads from the same two leaves since long; everything that QEMU can do is on.
const COUNTED_CPU: &str = "max,vendor=GenuineIntel,family=6,model=85,stepping=4";

/// A last-level cache is a socket: the only shape that QEMU shows the guest right on any host.
fn shape(machine: &Machine, accelerator: Accelerator) -> Vec<String> {
    let Machine { cpus, smt, llcs, nodes } = *machine;
    let cpu = match accelerator {
        Accelerator::Tcg => COUNTED_CPU,
        Accelerator::Kvm if (smt, llcs, nodes) == (1, 1, 1) => "host",
        Accelerator::Kvm => "Skylake-Server",
    };
    let cores = cpus / llcs / smt;
    words(&format!("-cpu {cpu} -smp cpus={cpus},sockets={llcs},cores={cores},threads={smt}"))
}

fn memory(machine: &Machine, memory_mib: u32) -> Vec<String> {
    let each = memory_mib / machine.nodes;
    let mut line = words(&format!("-m {}M", each * machine.nodes));
    if machine.nodes == 1 {
        return line;
    }
    let cpus = machine.cpus / machine.nodes;
    for node in 0..machine.nodes {
        let (first, last) = (node * cpus, (node + 1) * cpus - 1);
        line.extend(words(&format!("-object memory-backend-ram,id=memory{node},size={each}M")));
        line.extend(words(&format!(
            "-numa node,nodeid={node},cpus={first}-{last},memdev=memory{node}"
        )));
    }
    line
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Lab;

    fn line(machine: Machine, accelerator: Accelerator) -> String {
        check(&machine).unwrap();
        let kernel = Lab::at("/lab".into()).kernel("1.2-x");
        arguments(&Guest { kernel, machine, memory_mib: 1024 }, accelerator).join(" ")
    }

    #[test]
    fn a_plain_machine_without_kvm_counts_instructions() {
        let line = line(Machine { cpus: 4, ..Machine::ONE_CPU }, Accelerator::Tcg);
        assert!(line.contains("-accel tcg,thread=single -icount shift=0,sleep=off"), "{line}");
        assert!(line.contains("-smp cpus=4,sockets=1,cores=4,threads=1"), "{line}");
        assert!(line.contains("-m 1024M") && !line.contains("-numa"), "{line}");
        assert!(line.contains("-kernel /lab/kernels/1.2-x/vmlinuz"), "{line}");
        assert!(line.ends_with("rdinit=/rearguard/init -- __lab_guest"), "{line}");
    }

    #[test]
    fn kvm_is_neither_slowed_nor_counted() {
        let line = line(Machine::ONE_CPU, Accelerator::Kvm);
        assert!(line.contains("-accel kvm -cpu host"), "{line}");
        assert!(!line.contains("icount") && !line.contains("tsc="), "{line}");
    }

    #[test]
    fn caches_threads_and_nodes_are_shown() {
        let machine = Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 };
        let line = line(machine, Accelerator::Tcg);
        assert!(line.contains("-smp cpus=16,sockets=4,cores=2,threads=2"), "{line}");
        assert!(line.contains("-numa node,nodeid=1,cpus=8-15,memdev=memory1"), "{line}");
        assert!(line.contains("id=memory0,size=512M"), "{line}");
    }

    #[test]
    fn a_machine_that_cannot_be_is_bad_input() {
        let of = |cpus, smt, llcs, nodes| check(&Machine { cpus, smt, llcs, nodes });
        for bad in [
            of(0, 1, 1, 1),
            of(256, 1, 1, 1),
            of(4, 1, 3, 1),
            of(4, 1, 1, 2),
            of(6, 2, 2, 1),
            of(4, 3, 1, 1),
        ] {
            assert_eq!(bad.unwrap_err().exit_code(), 2);
        }
        of(255, 1, 1, 1).unwrap();
    }
}
