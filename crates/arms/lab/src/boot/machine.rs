//! QEMU's arguments: the machine's shape, its port to the host, its kernel.

use model::scenario::Machine;
use model::{Failure, Nanos};

use super::Guest;
use super::accelerator::Accelerator;
use crate::guest::ROLE as GUEST_ROLE;
use crate::guest::order::{INIT, PORT};

/// QEMU's limit for the machine type `pc`.
const MOST_CPUS: u32 = 255;

/// Says what is wrong with a machine that cannot be built.
pub fn check(machine: &Machine, apart: bool) -> Result<(), Failure> {
    let Machine { cpus, smt, llcs, nodes } = *machine;
    let most = MOST_CPUS - u32::from(apart);
    let wrong = if cpus == 0 || cpus > most {
        Some(format!("--cpus {cpus}: expected 1 to {most}"))
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

/// What confines QEMU, where its build can: neither programs, nor other users' rights, nor other priorities.
/// A guest that breaks out of it finds the system calls gone.
pub const SANDBOX: &str =
    "-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// The whole argument line.
pub fn arguments(guest: &Guest, accelerator: Accelerator) -> Vec<String> {
    let mut line =
        words("-nodefaults -no-user-config -no-reboot -display none -monitor none -machine pc");
    line.extend(words(&accelerator.arguments()));
    line.extend(shape(guest, accelerator));
    line.extend(memory(guest));
    line.extend(words("-chardev file,id=console,path=/proc/self/fd/2 -serial chardev:console"));
    line.extend(words("-chardev file,id=wire,path=/proc/self/fd/1 -device virtio-serial-pci"));
    line.extend(words(&format!("-device virtserialport,chardev=wire,name={PORT}")));
    line.extend(["-kernel".into(), guest.kernel.image().to_string_lossy().into_owned()]);
    line.extend(words("-initrd /proc/self/fd/0 -append"));
    line.push(command_line(guest, accelerator));
    line
}

/// Warnings of the kernel go to the console; ciphers are not tested, which would take a CPU for seconds after
/// the boot; the clock is the processor's, which counts instructions without KVM, and then there is no
/// speculation to guard against.
fn command_line(guest: &Guest, accelerator: Accelerator) -> String {
    let clock = match accelerator {
        Accelerator::Kvm => "",
        Accelerator::Tcg { .. } | Accelerator::RealTime(_) => {
            " tsc=reliable nokaslr norandmaps mitigations=off iomem=relaxed"
        }
    };
    let cpus = guest.cpus();
    let calm = "loglevel=5 panic=-1 cryptomgr.notests";
    format!("console=ttyS0 {calm} nr_cpus={cpus}{clock} rdinit={INIT} -- {GUEST_ROLE}")
}

/// An Intel processor, whose caches and threads Linux reads from the same two leaves since long; everything
/// that QEMU can do is on, but for one thing. It counts each byte of a `rep movsb` as an instruction, where a
/// processor does 32 in a cycle. Without ERMS Linux moves and clears memory by words.
const COUNTED_CPU: &str = "max,erms=off,vendor=GenuineIntel,family=6,model=85,stepping=4";

/// A last-level cache is a socket: the only shape that QEMU shows the guest right on any host.
fn shape(guest: &Guest, accelerator: Accelerator) -> Vec<String> {
    let Machine { smt, llcs, nodes, .. } = guest.machine;
    let cpu = match accelerator {
        Accelerator::Tcg { .. } | Accelerator::RealTime(_) => COUNTED_CPU,
        Accelerator::Kvm if (smt, llcs, nodes) == (1, 1, 1) => "host",
        Accelerator::Kvm => "Skylake-Server",
    };
    let sockets = Sockets::of(guest);
    let first = if guest.turn.is_some() { 1 } else { guest.cpus() };
    let Sockets { count, cores, threads } = sockets;
    let all = sockets.cpus();
    let mut line = words(&format!(
        "-cpu {cpu} -smp cpus={first},maxcpus={all},sockets={count},cores={cores},threads={threads}"
    ));
    if let Some(turn) = guest.turn {
        line.extend(ticker(turn));
        line.extend(spaced(guest, &sockets));
    }
    line
}

/// Sockets of one size: a cache each, then one for the CPU apart, then those of CPUs that never start.
struct Sockets {
    count: u32,
    cores: u32,
    threads: u32,
}

impl Sockets {
    fn device(&self, cpu: u32) -> String {
        let (core, thread) = (cpu / self.threads, cpu % self.threads);
        let (socket, core) = (core / self.cores, core % self.cores);
        format!("-device max-x86_64-cpu,socket-id={socket},core-id={core},thread-id={thread}")
    }

    fn of(guest: &Guest) -> Sockets {
        let Machine { cpus, smt, llcs, .. } = guest.machine;
        let (cores, threads) = (cpus / llcs / smt, smt);
        let unused = if guest.turn.is_some() { guest.cpus().div_ceil(cores * threads) } else { 0 };
        Sockets { count: llcs + u32::from(guest.apart) + unused, cores, threads }
    }

    fn cpus(&self) -> u32 {
        self.count * self.cores * self.threads
    }
}

/// A timer of the machine that is due once a turn and of which the guest sees nothing: the one that empties
/// the buffer of a network to which nothing is connected. (The third timer of an HPET would do, too, but
/// QEMU's is due twice, 10 ns apart, and the second turn is lost.)
fn ticker(turn: Nanos) -> Vec<String> {
    let us = (turn.0 / 1_000).max(1);
    let line = "-netdev hubport,id=turns,hubid=0 -object filter-buffer,id=ticker,netdev=turns";
    words(&format!("{line},interval={us}"))
}

/// All CPUs but the first, each followed by one that the kernel never starts.
///
/// QEMU's only thread takes its CPUs in turn. One runs until the next timer is due; the CPU after it finds no
/// time left, runs the timer and gives its turn away. If that is a CPU with work, it starves (of two busy
/// ones, always the same); a CPU without work loses nothing.
fn spaced(guest: &Guest, sockets: &Sockets) -> Vec<String> {
    let used = guest.cpus();
    let never_started = sockets.cpus()
        - used.div_ceil(sockets.cores * sockets.threads) * (sockets.cores * sockets.threads);
    let order = (0..used).flat_map(|cpu| [cpu, never_started + cpu]).skip(1);
    order.flat_map(|cpu| words(&sockets.device(cpu))).collect()
}

/// Nodes with equal parts of the memory; the CPU apart, with those that never start, is a node without.
fn memory(guest: &Guest) -> Vec<String> {
    let Machine { cpus, nodes, .. } = guest.machine;
    let each = guest.memory_mib / nodes;
    let mut line = words(&format!("-m {}M", each * nodes));
    if nodes == 1 {
        return line;
    }
    for node in 0..nodes {
        let (first, last) = (node * cpus / nodes, (node + 1) * cpus / nodes - 1);
        line.extend(words(&format!("-object memory-backend-ram,id=memory{node},size={each}M")));
        line.extend(words(&format!(
            "-numa node,nodeid={node},cpus={first}-{last},memdev=memory{node}"
        )));
    }
    let all = Sockets::of(guest).cpus();
    if all > cpus {
        line.extend(words(&format!("-numa node,nodeid={nodes},cpus={cpus}-{}", all - 1)));
    }
    line
}

pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Lab;

    fn guest(machine: Machine) -> Guest {
        check(&machine, false).unwrap();
        let kernel = Lab::at("/lab".into()).kernel("1.2-x");
        Guest { kernel, machine, apart: false, turn: None, memory_mib: 1024 }
    }

    fn line(machine: Machine, accelerator: Accelerator) -> String {
        arguments(&guest(machine), accelerator).join(" ")
    }

    #[test]
    fn a_plain_machine_without_kvm_counts_instructions() {
        let line = line(Machine { cpus: 4, ..Machine::ONE_CPU }, Accelerator::COUNTED);
        assert!(line.contains("-accel tcg,thread=single -icount shift=0,sleep=off"), "{line}");
        assert!(line.contains("-smp cpus=4,maxcpus=4,sockets=1,cores=4,threads=1"), "{line}");
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
        let line = line(machine, Accelerator::COUNTED);
        assert!(line.contains("-smp cpus=16,maxcpus=16,sockets=4,cores=2,threads=2"), "{line}");
        assert!(line.contains("-numa node,nodeid=1,cpus=8-15,memdev=memory1"), "{line}");
        assert!(line.contains("id=memory0,size=512M"), "{line}");
    }

    #[test]
    fn a_cpu_apart_has_a_socket_and_a_node_of_its_own() {
        let machine = Machine { cpus: 4, smt: 1, llcs: 2, nodes: 2 };
        let guest = Guest { apart: true, ..guest(machine) };
        let line = arguments(&guest, Accelerator::COUNTED).join(" ");
        assert!(line.contains("-smp cpus=5,maxcpus=6,sockets=3,cores=2,threads=1"), "{line}");
        assert!(
            line.contains("-numa node,nodeid=2,cpus=4-5 ") && line.contains("nr_cpus=5"),
            "{line}"
        );
    }

    #[test]
    fn spaced_cpus_are_each_followed_by_one_that_never_starts() {
        let machine = Machine { cpus: 2, ..Machine::ONE_CPU };
        let guest = Guest { apart: true, turn: Some(Nanos::from_micros(50)), ..guest(machine) };
        let line = arguments(&guest, Accelerator::COUNTED).join(" ");
        assert!(line.contains("-smp cpus=1,maxcpus=8,sockets=4,cores=2,threads=1"), "{line}");
        let place = |part: &str| part.strip_prefix("max-x86_64-cpu,").map(str::to_string);
        let order: Vec<String> = line.split(' ').filter_map(place).collect();
        assert!(line.contains("filter-buffer,id=ticker,netdev=turns,interval=50"), "{line}");
        let of = |socket, core| format!("socket-id={socket},core-id={core},thread-id=0");
        assert_eq!(order, [of(2, 0), of(0, 1), of(2, 1), of(1, 0), of(3, 0)]);
    }

    #[test]
    fn a_machine_that_cannot_be_is_bad_input() {
        let of = |cpus, smt, llcs, nodes| check(&Machine { cpus, smt, llcs, nodes }, false);
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
