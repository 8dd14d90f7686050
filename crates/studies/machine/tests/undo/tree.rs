//! What the tree of a small machine holds: four CPUs on two nodes, a service, threads of the kernel, two
//! interrupts, a network device.

use std::fs;
use std::path::Path;

/// The service's first process, and one that it started.
pub const SERVICE: i32 = 100;
pub const WORKER: i32 = 101;
/// A movable thread of the kernel.
pub const KTHREAD: i32 = 50;

/// What the kernel puts into a new cgroup.
pub const GROUP_FILES: [(&str, &str); 9] = [
    ("cgroup.procs", ""),
    ("cgroup.kill", ""),
    ("cgroup.subtree_control", ""),
    ("cpuset.cpus", ""),
    ("cpuset.mems", ""),
    ("cpuset.cpus.partition", "member"),
    ("cpuset.cpus.effective", "0-3"),
    ("cpuset.mems.effective", "0-1"),
    ("cpu.stat", "usage_usec 0"),
];

const FILES: [(&str, &str); 28] = [
    ("proc/sys/kernel/random/boot_id", "first"),
    ("proc/sys/kernel/random/uuid", "6f0c2c1e"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("proc/self/status", "CapEff:\t000001ffffffffff"),
    ("proc/irq/default_smp_affinity", "f"),
    ("proc/irq/24/smp_affinity_list", "0-3"),
    ("proc/irq/25/smp_affinity_list", "2"),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance powersave"),
    ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "schedutil"),
    ("sys/devices/system/cpu/cpufreq/policy1/scaling_available_governors", "performance schedutil"),
    ("sys/devices/system/node/has_memory", "0-1"),
    ("sys/devices/system/node/node0/cpulist", "0-1"),
    ("sys/devices/system/node/node1/cpulist", "2-3"),
    ("sys/devices/virtual/workqueue/cpumask", "f"),
    ("sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000"),
    ("sys/class/net/eth0/queues/tx-0/xps_cpus", "0000000f"),
    ("sys/kernel/sched_ext/state", "disabled"),
    ("dev/cpu_dma_latency", ""),
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory"),
    ("sys/fs/cgroup/cgroup.subtree_control", "cpu"),
    ("sys/fs/cgroup/cgroup.procs", "50"),
    ("sys/fs/cgroup/cpuset.cpus.isolated", ""),
    ("sys/fs/cgroup/web.service/cgroup.procs", "100\n101"),
    ("sys/fs/cgroup/web.service/cgroup.subtree_control", ""),
];

/// Builds it.
pub fn build(root: &Path) {
    for (path, text) in FILES {
        put(root, path, text);
    }
    process(root, KTHREAD, 2, 0x0020_0000, "");
    process(root, SERVICE, 1, 0, "web.service");
    thread(root, SERVICE, 110, -5);
    process(root, WORKER, SERVICE, 0, "web.service");
    thread(root, WORKER, 111, 0);
}

/// A process with one thread.
fn process(root: &Path, number: i32, parent: i32, flags: u32, group: &str) {
    put(root, &format!("proc/{number}/stat"), &stat(number, parent, flags, 0));
    put(root, &format!("proc/{number}/task/{number}/stat"), &stat(number, parent, flags, 0));
    put(root, &format!("proc/{number}/status"), "Cpus_allowed_list:\t0-3");
    put(root, &format!("proc/{number}/cgroup"), &format!("0::/{group}"));
    put(root, &format!("proc/{number}/environ"), "PATH=/bin\0");
    put(root, &format!("proc/{number}/comm"), "web");
}

/// One thread more.
pub fn thread(root: &Path, process: i32, number: i32, nice: i8) {
    put(root, &format!("proc/{process}/task/{number}/stat"), &stat(number, 1, 0, nice));
}

fn stat(number: i32, parent: i32, flags: u32, nice: i8) -> String {
    let mut fields: Vec<String> = vec!["0".to_string(); 50];
    let mut set = |at: usize, value: String| fields[at - 3] = value;
    set(3, "S".into());
    set(4, parent.to_string());
    set(9, flags.to_string());
    set(19, nice.to_string());
    set(22, (1000 + number).to_string());
    format!("{number} (a (strange) name) {}", fields.join(" "))
}

/// A file's text.
pub fn put(root: &Path, path: &str, text: &str) {
    let place = root.join(path);
    fs::create_dir_all(place.parent().expect("below the root")).expect("a folder");
    fs::write(place, format!("{}\n", text.trim())).expect("a file");
}
