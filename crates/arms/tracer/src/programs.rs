//! Which of the hooks a kernel has, and which of them are put in force.

use libbpf_rs::btf::{
    Btf,
    types::{Func, Typedef},
};
use libbpf_rs::skel::OpenSkel;
use model::Failure;

use super::skeleton::OpenStagesSkel;
use super::tracer::{Scheduling, Wanted};

/// Tracepoints that a kernel may lack.
const OPTIONAL: [&str; 4] =
    ["local_timer_entry", "local_timer_exit", "hrtimer_expire_entry", "hrtimer_expire_exit"];
/// Functions that are hooked in kernels without the tracepoint in them.
const OLDER: [(&str, &str); 4] = [
    ("fentry/sock_def_readable", "sk_data_ready"),
    ("fexit/inet_recvmsg", "sock_recv_length"),
    ("fexit/inet6_recvmsg", "sock_recv_length"),
    ("fentry/tcp_sendmsg_locked", "tcp_sendmsg_locked"),
];
/// What tracepoints of threads and interrupts begin with.
const SCHEDULING: [&str; 5] = ["sched_", "softirq_", "irq_", "local_", "hrtimer_"];

/// Leaves out what is not wanted or not there.
pub(super) fn choose(open: &mut OpenStagesSkel, wanted: &Wanted) -> Result<(), Failure> {
    let kernel = Btf::from_vmlinux().map_err(|error| {
        Failure::Machine(format!(
            "stages need a kernel with BTF (/sys/kernel/btf/vmlinux): {error}"
        ))
    })?;
    for mut program in open.open_object_mut().progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        program.set_autoload(is_loaded(&kernel, &section, wanted)?);
    }
    Ok(())
}

fn is_loaded(kernel: &Btf, section: &str, wanted: &Wanted) -> Result<bool, Failure> {
    let older = OLDER.iter().find(|(function, _)| *function == section);
    let (_, name) = section.split_once('/').unwrap_or(("", section));
    let tracepoint = older.map_or(name, |(_, tracepoint)| tracepoint);
    let has_tracepoint =
        kernel.type_by_name::<Typedef>(&format!("btf_trace_{tracepoint}")).is_some();
    match older {
        _ if !wanted.includes(tracepoint) => Ok(false),
        None if has_tracepoint || may_lack(tracepoint) => Ok(has_tracepoint),
        Some(_) if has_tracepoint => Ok(false),
        Some(_) if kernel.type_by_name::<Func>(name).is_some() => Ok(true),
        _ => Err(Failure::Machine(format!(
            "this kernel has no {section}: stages need Linux 6.1 or newer"
        ))),
    }
}

fn may_lack(tracepoint: &str) -> bool {
    OPTIONAL.contains(&tracepoint) || OLDER.iter().any(|(_, newer)| *newer == tracepoint)
}

impl Wanted {
    fn includes(&self, tracepoint: &str) -> bool {
        match SCHEDULING.iter().any(|prefix| tracepoint.starts_with(prefix)) {
            true => self.scheduling != Scheduling::Nowhere,
            false => !self.ports.is_empty(),
        }
    }
}
